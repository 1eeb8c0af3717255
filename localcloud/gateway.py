"""The WSGI application in front of moto: it sees every API call once."""

import base64
import json
import re
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import unquote
from xml.sax.saxutils import escape

from . import threads
from .calls import ApiCall, CallLog
from .exports import ExportRefusedError
from .function import Outcome, ThrottledError
from .gate import Callers, signer
from .http_api import HttpAnswer, Route, ask
from .moto_adapter import deployments, tables

StartResponse = Callable[[str, list[tuple[str, str]]], Any]
Environ = dict[str, Any]

CONTROL = "/_localcloud/"
HTTP_APIS = "/_http/"
"""What comes before an HTTP API's id, and its own paths."""
_INVOCATION = re.compile(r"/2015-03-31/functions/(?P<function>[^/]+)/invocations/?")
_STACK_CHANGE = re.compile(r"(Create|Update|Delete|Execute)\w+")


class Runtime(Protocol):
    """What the gateway hands over to."""

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

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path: str = environ["PATH_INFO"]
        access_key, service = signer(environ)
        known = self._callers.name(access_key) is not None
        if path.startswith(HTTP_APIS):
            return self._http_api(environ, start_response, known=known)
        if not known:
            return _refuse_key(access_key, service, environ, start_response)
        if path.startswith(CONTROL):
            return self._control(path.removeprefix(CONTROL), environ, start_response)
        call = self._calls.record(environ)
        if match := _INVOCATION.fullmatch(path):
            return self._invoke(unquote(match["function"]), environ, start_response)
        if call.service == "dynamodb":
            return self._dynamodb(call, environ, start_response)
        return self._followed(call, environ, start_response)

    def _followed(
        self, call: ApiCall, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        """What was deployed is deployed, whether or not the runtime can follow it."""
        with deployments.exclusive() if call.service == "cloudformation" else nullcontext():
            answer = self._ask_moto(environ, start_response)
            if _configures(call, environ):
                threads.attempt("what follows deployments", self._runtime.reconcile)
        return answer

    def _dynamodb(
        self, call: ApiCall, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        if call.operation in {"ExportTableToPointInTime", "DescribeExport", "ListExports"}:
            return self._export(call, start_response)
        with tables.exclusive():
            return self._ask_moto(environ, start_response)

    def _ask_moto(self, environ: Environ, start_response: StartResponse) -> list[bytes]:
        parts = self._moto(environ, start_response)
        try:
            return list(parts)
        finally:
            parts.close()

    def _export(self, call: ApiCall, start_response: StartResponse) -> Iterable[bytes]:
        kind = "application/x-amz-json-1.0"
        try:
            answer = self._runtime.export(call.operation, call.request)
        except ExportRefusedError as error:
            refusal = {
                "__type": f"com.amazonaws.dynamodb.v20120810#{error.code}",
                "message": str(error),
            }
            return _respond(start_response, 400, refusal, kind)
        return _respond(start_response, 200, answer, kind)

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
        if not self._runtime.knows(name):
            return _refuse(
                start_response, 404, "ResourceNotFoundException", f"Function not found: {name}"
            )
        try:
            context = _client_context(environ.get("HTTP_X_AMZ_CLIENT_CONTEXT", ""))
        except ValueError:
            reason = "Client context must be a valid Base64-encoded JSON object."
            return _refuse(start_response, 400, "InvalidRequestContentException", reason)
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

    def _http_api(
        self, environ: Environ, start_response: StartResponse, *, known: bool
    ) -> Iterable[bytes]:
        sent = str(environ.get("RAW_URI") or environ["PATH_INFO"]).partition("?")[0]
        api_id, slash, rest = sent.removeprefix(HTTP_APIS).partition("/")
        try:
            given = ask(
                environ,
                api_id=api_id,
                sent=slash + rest,
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
    """An invocation's client context, as JSON for a header. ValueError where it is none."""
    return header and json.dumps(json.loads(base64.b64decode(header, validate=True)))


def _configures(call: ApiCall, environ: Environ) -> bool:
    """Whether the call can have changed what the runtime runs."""
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


def _refuse(start_response: StartResponse, status: int, code: str, message: str) -> Iterable[bytes]:
    start_response(
        _line(status),
        [("Content-Type", "application/json"), ("X-Amzn-ErrorType", code)],
    )
    return [json.dumps({"Type": "User", "Message": message}).encode()]


def _refuse_key(
    access_key: str, service: str, environ: Environ, start_response: StartResponse
) -> Iterable[bytes]:
    """As AWS says it, in the form that the client understands."""
    told = (
        f"access key {access_key!r}: this local cloud has not issued it; read the file "
        "'environment' of its directory again"
    )
    if service != "s3" and "x-www-form-urlencoded" not in environ.get("CONTENT_TYPE", ""):
        code = "UnrecognizedClientException"
        start_response(
            _line(403), [("Content-Type", "application/json"), ("X-Amzn-ErrorType", code)]
        )
        return [json.dumps({"__type": code, "message": told}).encode()]
    code = "InvalidAccessKeyId" if service == "s3" else "InvalidClientTokenId"
    error = f"<Code>{code}</Code><Message>{escape(told)}</Message>"
    start_response(_line(403), [("Content-Type", "text/xml")])
    return [f"<ErrorResponse><Error>{error}</Error></ErrorResponse>".encode()]
