"""DynamoDB's requests: held against DynamoDB's rules, and answered here or by moto."""

import json
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from lifoq_localcloud.api.calls import ApiCall
from lifoq_localcloud.item_requests import answers, rules
from lifoq_localcloud.moto_adapter import tables
from lifoq_localcloud.table_rules.refused import RefusedError
from lifoq_localcloud.table_rules.repeats import Repeats

StartResponse = Callable[[str, list[tuple[str, str]]], Any]
AskMoto = Callable[[ApiCall, dict[str, Any], StartResponse], Iterable[bytes]]

CONTENT_TYPE: Final = "application/x-amz-json-1.0"


class TableRequests:
    """Answers a request to DynamoDB, one at a time: a condition and its write are two steps."""

    def __init__(self, ask_moto: AskMoto) -> None:
        self._ask_moto = ask_moto
        self._repeats = Repeats()

    def __call__(
        self, call: ApiCall, environ: dict[str, Any], start_response: StartResponse
    ) -> Iterable[bytes]:
        with tables.exclusive():
            try:
                answered = self._answer(call.operation, call.request)
            except RefusedError as error:
                return _json(start_response, "400 Bad Request", error.answer())
            if answered is None:
                return self._ask_moto(call, environ, start_response)
            return _json(start_response, "200 OK", answered)

    def _answer(self, operation: str, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to an operation on items; None to one that moto answers."""
        expressions = rules.apply(operation, request, tables.schema)
        if operation not in answers.OPERATIONS:
            return None
        if self._repeats.knows(request, time.time()):
            return {}
        answered = answers.answer(operation, request, expressions, tables.by_name)
        self._repeats.note(request, time.time())
        return answered


def _json(start_response: StartResponse, status: str, body: Any) -> Iterable[bytes]:
    start_response(status, [("Content-Type", CONTENT_TYPE)])
    return [json.dumps(body).encode()]
