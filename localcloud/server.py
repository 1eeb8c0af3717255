"""The HTTP server: one port for the AWS API, function invocations and the control route."""

import io
import json
import logging
import socket
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import DechunkedInput, ThreadedWSGIServer

from . import threads
from .gate import ClosedToPages

_LOG = logging.getLogger(__name__)

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class _Handler(ClosedToPages, MotoRequestHandler):
    """Keeps connections open, and answers in one write; the base class does neither."""

    disable_nagle_algorithm = True
    protocol_version = "HTTP/1.1"

    def run_wsgi(self) -> None:
        environ = self.make_environ()
        stream = environ["wsgi.input"]
        if isinstance(stream, DechunkedInput):
            body = stream.read()
        else:
            body = self.rfile.read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        environ["CONTENT_LENGTH"] = str(len(body))
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        head: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], _: Any = None) -> Any:
            head[:] = [status, headers]

        try:
            content = b"".join(self.server.app(environ, start_response))
        except Exception as error:  # noqa: BLE001 - it must not leave the client hanging
            _LOG.exception("%s %s failed", environ["REQUEST_METHOD"], environ["PATH_INFO"])
            head = ["500 Internal Server Error", []]
            content = _fault(environ.get("CONTENT_TYPE", ""), type(error).__name__)
        self._answer(head[0], head[1], content)

    def _answer(self, status: str, headers: list[tuple[str, str]], content: bytes) -> None:
        code, _, reason = status.partition(" ")
        self.send_response_only(int(code), reason)
        names = set()
        for name, value in headers:
            self.send_header(name, value)
            names.add(name.lower())
        bodiless = code in {"204", "304"}
        if "content-length" not in names and not bodiless:
            self.send_header("Content-Length", str(len(content)))
        if "date" not in names:
            self.send_header("Date", self.date_time_string())
        head = b"".join(self._headers_buffer) + b"\r\n"
        self._headers_buffer.clear()
        self.wfile.write(head if bodiless or self.command == "HEAD" else head + content)

    def log(self, *_: object) -> None:
        """A line per request would drown everything else."""


def _fault(content_type: str, what: str) -> bytes:
    """As the service's clients read it: those that send JSON get JSON, all others XML."""
    code, message = "InternalFailure", f"The local cloud failed ({what}); see its log."
    if "json" in content_type:
        return json.dumps({"__type": code, "message": message}).encode()
    error = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return f"<ErrorResponse>{error}</ErrorResponse>".encode()


class _Server(threads.Quiet, ThreadedWSGIServer):
    """With one guard for all of its threads."""


def create(listener: socket.socket, application: Application) -> ThreadedWSGIServer:
    """A server on a socket that listens already."""
    return _Server(
        "127.0.0.1",
        listener.getsockname()[1],
        application,
        handler=_Handler,
        fd=listener.fileno(),
    )
