"""The HTTP server: one port for the AWS API, function invocations and the control route."""

import contextlib
import io
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any
from xml.sax.saxutils import escape

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import ThreadedWSGIServer

from lifoq_localcloud.basics import threads
from lifoq_localcloud.http_server import body
from lifoq_localcloud.http_server.body import MOST_BYTES, BodyError
from lifoq_localcloud.http_server.gate import ClosedToPages

_LOG = logging.getLogger(__name__)

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
MostBytes = Callable[[dict[str, Any]], int]


class _Handler(ClosedToPages, MotoRequestHandler):
    """Keeps connections open, and answers in one write; the base class does neither."""

    server: "_Server"
    disable_nagle_algorithm = True
    protocol_version = "HTTP/1.1"

    def run_wsgi(self) -> None:
        environ = self.make_environ()
        most = self.server.most_bytes(environ)
        try:
            content = self.read_body(most) if most else self._unread()
        except BodyError as error:
            self._refuse_body(environ, error)
            return
        environ["wsgi.input"] = io.BytesIO(content)
        environ["CONTENT_LENGTH"] = str(len(content))
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        head: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], _: Any = None) -> Any:
            head[:] = [status, headers]

        try:
            content = b"".join(self.server.app(environ, start_response))
        except Exception as error:  # noqa: BLE001 - it must not leave the client hanging
            _LOG.exception("%s %s failed", environ["REQUEST_METHOD"], environ["PATH_INFO"])
            head = ["500 Internal Server Error", []]
            content = _failure(environ, type(error).__name__)
        self._answer(head[0], head[1], content)

    def _unread(self) -> bytes:
        """Leave the body where it is; the connection ends with the answer, if there is one."""
        if body.announced(self.headers) != 0:
            self.refused = self.close_connection = True
        return b""

    def _refuse_body(self, environ: dict[str, Any], error: BodyError) -> None:
        self.refused = self.close_connection = True
        content = _fault(environ, error.code, str(error))
        self._answer(f"{error.status.value} {error.status.phrase}", [], content)

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
        if self.close_connection:
            self.send_header("Connection", "close")
        if "date" not in names:
            self.send_header("Date", self.date_time_string())
        head = b"".join(self._headers_buffer) + b"\r\n"
        self._headers_buffer.clear()
        self.wfile.write(head if bodiless or self.command == "HEAD" else head + content)

    def log(self, *_: object) -> None:
        """A line per request would drown everything else."""


def _failure(environ: dict[str, Any], what: str) -> bytes:
    return _fault(environ, "InternalFailure", f"The local cloud failed ({what}); see its log.")


def _fault(environ: dict[str, Any], code: str, message: str) -> bytes:
    """Return an error in the form that the service's clients read: JSON for those that send JSON,
    XML for all others."""
    if "json" in environ.get("CONTENT_TYPE", ""):
        return json.dumps({"__type": code, "message": message}).encode()
    error = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    return f"<ErrorResponse>{error}</ErrorResponse>".encode()


class _Server(threads.Quiet, ThreadedWSGIServer):
    """With one guard for all of its threads."""

    most_bytes: MostBytes


class Servers:
    """One application on several sockets, which have one port."""

    def __init__(
        self, listeners: Iterable[socket.socket], application: Application, most_bytes: MostBytes
    ) -> None:
        self._servers = [_server(one, application, most_bytes) for one in listeners]

    @property
    def port(self) -> int:
        port: int = self._servers[0].port
        return port

    def serve(self, until: threading.Event) -> None:
        """Answer from now on, on threads of their own."""
        for one in self._servers:
            threads.start("the HTTP server", one.serve_forever, until)

    def close(self) -> None:
        """End what ``serve`` began, and let go of the port. What is being answered may go on."""
        for one in self._servers:
            with contextlib.suppress(OSError):  # macOS: it has no peer
                one.socket.shutdown(socket.SHUT_RDWR)  # it waits for nobody any more
            one.shutdown()  # else it would ask the closed socket for ever, without a pause
            one.server_close()


def create(
    listeners: Iterable[socket.socket],
    application: Application,
    most_bytes: MostBytes = lambda _: MOST_BYTES,
) -> Servers:
    """Serve on sockets that listen already. ``most_bytes``: what may be read of the body that a
    request announces, by its head alone; 0 for a caller who is refused whatever it holds."""
    return Servers(listeners, application, most_bytes)


def _server(listener: socket.socket, application: Application, most_bytes: MostBytes) -> _Server:
    address, port = listener.getsockname()[:2]
    server = _Server(address, port, application, handler=_Handler, fd=listener.fileno())
    server.most_bytes = most_bytes
    return server
