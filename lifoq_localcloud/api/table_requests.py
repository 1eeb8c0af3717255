"""DynamoDB's requests: held against DynamoDB's rules, rewritten, and given to moto."""

import io
import json
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from lifoq_localcloud.api.calls import ApiCall
from lifoq_localcloud.moto_adapter import tables
from lifoq_localcloud.table_rules import rules
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
                if rules.apply(call.operation, call.request, tables.schema):
                    _replace_body(environ, call.request)
                if self._repeats.knows(call.request, time.time()):
                    return _json(start_response, "200 OK", {})
            except RefusedError as error:
                return _json(start_response, "400 Bad Request", error.answer())
            statuses: list[str] = []

            def start(status: str, headers: list[tuple[str, str]]) -> Any:
                statuses.append(status)
                return start_response(status, headers)

            answer = self._ask_moto(call, environ, start)
            if statuses[-1].startswith("200"):
                self._repeats.note(call.request, time.time())
            return answer


def _replace_body(environ: dict[str, Any], request: dict[str, Any]) -> None:
    body = json.dumps(request).encode()
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))


def _json(start_response: StartResponse, status: str, body: Any) -> Iterable[bytes]:
    start_response(status, [("Content-Type", CONTENT_TYPE)])
    return [json.dumps(body).encode()]
