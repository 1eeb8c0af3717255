"""The WSGI application in front of moto: it sees every API call once."""

import base64
import json
import re
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Protocol
from urllib.parse import parse_qs, unquote
from xml.sax.saxutils import escape

from lifoq_localcloud.api import signatures
from lifoq_localcloud.api.calls import ApiCall, CallLog
from lifoq_localcloud.api.signatures import SignatureError, StaleError
from lifoq_localcloud.api.table_requests import CONTENT_TYPE, TableRequests
from lifoq_localcloud.basics import threads
from lifoq_localcloud.deployments import stacks
from lifoq_localcloud.events.http_api import HttpAnswer, Route, ask, called
from lifoq_localcloud.functions.function import Outcome, ThrottledError
from lifoq_localcloud.http_server.body import MOST_BYTES, MOST_BYTES_OF_ANYBODY
from lifoq_localcloud.http_server.gate import Callers, signer
from lifoq_localcloud.moto_adapter import checked_calls
from lifoq_localcloud.moto_adapter.wire import Answer
from lifoq_localcloud.service_rules.refused import RefusedError
from lifoq_localcloud.tables.exports import ExportRefusedError

StartResponse = Callable[[str, list[tuple[str, str]]], Any]
Environ = dict[str, Any]

CONTROL = "/_localcloud/"
HTTP_APIS = "/_http/"
"""The path before an HTTP API's id and its own paths."""
_INVOCATION = re.compile(r"/2015-03-31/functions/(?P<function>[^/]+)/invocations/?")
_LATEST: Final = "$LATEST"
"""The only version of a function that there is here."""
_STATUS: Final = {"ResourceNotFoundException": 404, "RequestTooLargeException": 413}
"""The statuses of refused invocations that are not 400."""
_STACK_CHANGE = re.compile(r"(Create|Update|Delete|Execute)\w+")


class Runtime(Protocol):
    """The runtime behind the gateway: functions, exports, HTTP APIs and the control route."""

    def invoke(self, function_name: str, body: bytes, client_context: str = "") -> Outcome: ...

    def submit(self, function_name: str, body: bytes, client_context: str = "") -> None: ...

    def knows(self, function_name: str) -> bool: ...

    def reconcile(self) -> None: ...

    def http_routes(self, api_id: str) -> list[Route] | None: ...

    def control(self, action: str, arguments: dict[str, Any]) -> Any: ...

    def export(self, operation: str, request: dict[str, Any]) -> dict[str, Any]: ...


class Gateway:
    """Routes a request to the runtime or to moto, and records it."""

    def __init__(self, *, runtime: Runtime, moto: Any, calls: CallLog, callers: Callers) -> None:
        self._runtime = runtime
        self._moto = moto
        self._calls = calls
        self._callers = callers
        self._table_requests = TableRequests(self._ask_moto)

    def most_bytes(self, environ: Environ) -> int:
        """Return the most bytes that a request may bring, judged by its head: 0 if its key is not
        of this cloud, unless it asks for a route that is open to anybody."""
        if self._callers.secret(signer(environ)[0]) is not None:
            return MOST_BYTES
        if not environ["PATH_INFO"].startswith(HTTP_APIS):
            return 0
        api_id, path = _api_and_path(environ)
        found = called(environ, path, self._runtime.http_routes(api_id) or [])
        return MOST_BYTES_OF_ANYBODY if isinstance(found, tuple) and found[0].public else 0

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path: str = environ["PATH_INFO"]
        refusal = self._refusal(environ)
        if path.startswith(HTTP_APIS):
            return self._http_api(environ, start_response, known=refusal is None)
        if refusal is not None:
            return refusal.answer(environ, start_response)
        if path.startswith(CONTROL):
            return self._control(path.removeprefix(CONTROL), environ, start_response)
        return self._call(self._calls.record(environ), environ, start_response)

    def _call(
        self, call: ApiCall, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer a call of the AWS API, unless AWS would refuse it whatever there is."""
        if (refused := checked_calls.refusal(call.service, environ)) is not None:
            return _answered(start_response, refused)
        if match := _INVOCATION.fullmatch(environ["PATH_INFO"]):
            return self._invoke(unquote(match["function"]), environ, start_response)
        if call.service == "dynamodb":
            return self._dynamodb(call, environ, start_response)
        return self._followed(call, environ, start_response)

    def _refusal(self, environ: Environ) -> "_Refusal | None":
        """Why the caller is not let in; None for one who has a key, and has signed with it."""
        access_key, service = signer(environ)
        secret = self._callers.secret(access_key)
        if secret is None:
            told = (
                f"access key {access_key!r}: this local cloud has not issued it, or it is inactive "
                "or expired; read the file 'environment' of its directory again"
            )
            return _Refusal(service=service, codes=_UNKNOWN, told=told)
        try:
            body: bytes = environ["wsgi.input"].getvalue()
            signatures.check(environ, body, secret, now=time.time())
        except SignatureError as error:
            codes = _STALE if isinstance(error, StaleError) else _FORGED
            return _Refusal(service=service, codes=codes, told=str(error))
        return None

    def _followed(
        self, call: ApiCall, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Let the runtime follow a deployment. The deployment's answer stays, even if the runtime
        fails."""
        with stacks.exclusive() if call.service == "cloudformation" else nullcontext():
            answer = self._ask_moto(call, environ, start_response)
            if _configures(call, environ):
                threads.attempt("what follows deployments", self._runtime.reconcile)
        return answer

    def _dynamodb(
        self, call: ApiCall, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        if call.operation in {"ExportTableToPointInTime", "DescribeExport", "ListExports"}:
            return self._export(call, start_response)
        return self._table_requests(call, environ, start_response)

    def _ask_moto(
        self, call: ApiCall, environ: Environ, start_response: StartResponse
    ) -> list[bytes]:
        heads: list[tuple[str, list[tuple[str, str]]]] = []
        told = f"the local cloud does not imitate {call.operation}"
        try:
            parts = self._moto(environ, lambda *head: heads.append(head))
        except NotImplementedError:  # an operation that moto knows by its name alone
            refused = checked_calls.not_imitated(call.service, environ, told)
            return _answered(start_response, refused)
        try:
            body = list(parts)
        finally:
            parts.close()
        status, headers = heads[-1]
        # S3's answer to HEAD for an object that is not there is such a page, too.
        if call.service != "s3" and _is_page(status, headers):
            return list(_refuse(start_response, 400, "NotImitatedException", told))
        start_response(status, headers)
        return body

    def _export(self, call: ApiCall, start_response: StartResponse) -> Iterable[bytes]:
        try:
            answer = self._runtime.export(call.operation, call.request)
        except ExportRefusedError as error:
            refusal = {
                "__type": f"com.amazonaws.dynamodb.v20120810#{error.code}",
                "message": str(error),
            }
            return _respond(start_response, 400, refusal, CONTENT_TYPE)
        return _respond(start_response, 200, answer, CONTENT_TYPE)

    def _invoke(
        self, function: str, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Lambda's Invoke, for any client."""
        name = (
            function.split(":")[6]
            if function.startswith("arn:")
            else function.split(":", maxsplit=1)[0]
        )
        body = environ["wsgi.input"].read() or b"{}"
        kind = environ.get("HTTP_X_AMZ_INVOCATION_TYPE", "RequestResponse")
        asked = parse_qs(environ.get("QUERY_STRING", "")).get("Qualifier", [_LATEST])[0]
        try:
            self._check_function(name, asked)
            context = _client_context(environ.get("HTTP_X_AMZ_CLIENT_CONTEXT", ""))
        except RefusedError as error:
            return _refuse(start_response, _STATUS.get(error.code, 400), error.code, str(error))
        if kind == "DryRun":
            return _respond(start_response, 204, None)
        if kind == "Event":
            self._runtime.submit(name, body, context)
            return _respond(start_response, 202, None)
        try:
            outcome = self._runtime.invoke(name, body, context)
        except ThrottledError as error:
            return _refuse(start_response, 429, "TooManyRequestsException", str(error))
        headers = [("X-Amz-Executed-Version", "$LATEST"), ("Content-Type", "application/json")]
        if outcome.failed:
            headers.append(("X-Amz-Function-Error", "Unhandled"))
        start_response(_line(200), headers)
        return [outcome.payload]

    def _check_function(self, name: str, qualifier: str) -> None:
        if not self._runtime.knows(name) or qualifier != _LATEST:
            told = name if qualifier == _LATEST else f"{name}:{qualifier}"
            raise RefusedError("ResourceNotFoundException", f"Function not found: {told}")

    def _http_api(
        self, environ: Environ, start_response: StartResponse, *, known: bool
    ) -> Iterable[bytes]:
        api_id, path = _api_and_path(environ)
        try:
            given = ask(
                environ,
                api_id=api_id,
                sent=path,
                known=known,
                routes=self._runtime.http_routes(api_id) or [],
                run=lambda arn, asked: self._runtime.invoke(
                    arn.split(":")[6], json.dumps(asked).encode()
                ),
            )
        except ThrottledError:
            given = HttpAnswer.of_gateway(503)
        start_response(_line(given.status), given.headers)
        return [given.body]

    def _control(
        self, action: str, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        arguments = json.loads(environ["wsgi.input"].read() or b"{}")
        try:
            answer = self._runtime.control(action, arguments)
        except (KeyError, TypeError, ValueError) as error:
            return _respond(start_response, 400, {"message": f"{action}: {error}"})
        return _respond(start_response, 200, answer)


def _client_context(header: str) -> str:
    """Return a client context as JSON for a header. RefusedError where it is none."""
    try:
        return header and json.dumps(json.loads(base64.b64decode(header, validate=True)))
    except ValueError as error:
        raise RefusedError(
            "InvalidRequestContentException",
            "Client context must be a valid Base64-encoded JSON object.",
        ) from error


def _configures(call: ApiCall, environ: Environ) -> bool:
    """True if the call can have changed something that the runtime runs."""
    if call.service == "cloudformation":
        return _STACK_CHANGE.fullmatch(call.operation) is not None
    return call.service in {"lambda", "scheduler"} and environ["REQUEST_METHOD"] != "GET"


def _line(status: int) -> str:
    return f"{status} {HTTPStatus(status).phrase}"


def _respond(
    start_response: StartResponse, status: int, body: Any, content_type: str = "application/json"
) -> Iterable[bytes]:
    start_response(_line(status), [("Content-Type", content_type)])
    return [] if body is None else [json.dumps(body, default=str).encode()]


def _is_page(status: str, headers: list[tuple[str, str]]) -> bool:
    """True of moto's page for a path that it knows nothing of: its answers are JSON or XML, or
    have the error's name."""
    named = {name.lower(): value for name, value in headers}
    page = named.get("content-type", "").startswith("text/html")
    return status.startswith("404") and page and "x-amzn-errortype" not in named


def _answered(start_response: StartResponse, answer: Answer) -> list[bytes]:
    status, headers, body = answer
    start_response(_line(status), list(headers.items()))
    return [body]


def _refuse(start_response: StartResponse, status: int, code: str, message: str) -> Iterable[bytes]:
    start_response(
        _line(status),
        [("Content-Type", "application/json"), ("X-Amzn-ErrorType", code)],
    )
    return [json.dumps({"Type": "User", "Message": message}).encode()]


@dataclass(frozen=True, kw_only=True)
class _Codes:
    """The code of one refusal, as each kind of service says it."""

    json: str
    xml: str
    s3: str


_UNKNOWN: Final = _Codes(
    json="UnrecognizedClientException", xml="InvalidClientTokenId", s3="InvalidAccessKeyId"
)
_FORGED: Final = _Codes(
    json="InvalidSignatureException", xml="SignatureDoesNotMatch", s3="SignatureDoesNotMatch"
)
_STALE: Final = _Codes(
    json="InvalidSignatureException", xml="SignatureDoesNotMatch", s3="RequestTimeTooSkewed"
)


@dataclass(frozen=True, kw_only=True)
class _Refusal:
    """Why somebody is not let in, told as AWS tells it, in the form that the client understands."""

    service: str
    codes: _Codes
    told: str

    def answer(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if self.service == "s3" or "x-www-form-urlencoded" in environ.get("CONTENT_TYPE", ""):
            code = self.codes.s3 if self.service == "s3" else self.codes.xml
            error = f"<Code>{code}</Code><Message>{escape(self.told)}</Message>"
            start_response(_line(403), [("Content-Type", "text/xml")])
            return [f"<ErrorResponse><Error>{error}</Error></ErrorResponse>".encode()]
        code = self.codes.json
        start_response(
            _line(403), [("Content-Type", "application/json"), ("X-Amzn-ErrorType", code)]
        )
        return [json.dumps({"__type": code, "message": self.told}).encode()]


def _api_and_path(environ: Environ) -> tuple[str, str]:
    """The id of an HTTP API, and the path below it as it came."""
    sent = str(environ.get("RAW_URI") or environ["PATH_INFO"]).partition("?")[0]
    api_id, slash, rest = sent.removeprefix(HTTP_APIS).partition("/")
    return api_id, slash + rest
