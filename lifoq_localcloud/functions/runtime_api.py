"""AWS's Lambda Runtime API, as one function instance sees it: four HTTP routes on loopback.

Whoever can call it takes the function's events, and answers them. So its paths begin with a secret
that stands in the environment of that function's process alone.
"""

import hmac
import http.client
import re
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, Protocol

from lifoq_localcloud.basics import threads
from lifoq_localcloud.http_server.body import MOST_BYTES, BodyError
from lifoq_localcloud.http_server.gate import ClosedToPages

# The runtime tells an error in a header, too, of up to 1 MB; Python's servers read 64 KB of a line.
http.client._MAXLINE = 2 * 1024 * 1024  # type: ignore[attr-defined] # noqa: SLF001 - no public way

_API = "/2018-06-01/runtime"
_SECRET: Final = re.compile(r"/([^/ ]*)(.*)")
_RESULT = re.compile(rf"{_API}/invocation/(?P<request_id>[^/]+)/(?P<result>response|error)")


@dataclass(frozen=True, kw_only=True)
class Task:
    """An invocation on its way into the process."""

    request_id: str
    event: bytes
    function_arn: str
    deadline_millis: int
    client_context: str = ""
    """JSON; empty where the caller gave none."""


class Host(Protocol):
    """The instance behind the API."""

    def next_task(self, gone: Callable[[], bool]) -> Task | None:
        """Block until there is work; None once the instance is closed. Who has ``gone`` while it
        waited is given nothing: the work is for whoever asks next."""

    def finished(self, request_id: str, payload: bytes, *, failed: bool) -> None: ...

    def init_failed(self, payload: bytes) -> None: ...


class RuntimeApi:
    """Serves one instance on a port of its own, as each of Lambda's sandboxes has one."""

    def __init__(self, host: Host) -> None:
        self._secret = secrets.token_hex(20)
        handler = type("Handler", (_Handler,), {"host": host, "secret": self._secret})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._closed = threading.Event()
        threads.start("a runtime API", self._server.serve_forever, self._closed)

    @property
    def address(self) -> str:
        """HOST:PORT/SECRET, in front of the API's own paths."""
        return f"127.0.0.1:{self._server.server_port}/{self._secret}"

    def close(self) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(threads.Quiet, ThreadingHTTPServer):
    daemon_threads = True


class _Handler(ClosedToPages, BaseHTTPRequestHandler):
    host: Host
    secret: str
    most_bytes_of_head = 4 * 1024 * 1024
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def parse_request(self) -> bool:
        """Look at the secret first: the head of a stranger is not read any further."""
        line: bytes = self.raw_requestline  # type: ignore[attr-defined] # not in typeshed
        parts = line.decode("latin-1").split(" ")
        found = _SECRET.match(parts[1]) if len(parts) > 1 else None
        if found is None or not hmac.compare_digest(found[1].encode(), self.secret.encode()):
            self.command, self.requestline = "", ""
            self.request_version = self.protocol_version
            self.send_error(HTTPStatus.FORBIDDEN, "The path has to begin with the secret.")
            return False
        if not super().parse_request():
            return False
        self.path = self.path.removeprefix(f"/{self.secret}")
        return True

    def do_GET(self) -> None:
        if self.path != f"{_API}/invocation/next":
            self._answer(404)
            return
        task = self.host.next_task(self._is_gone)
        if task is None:
            self.close_connection = True
            return
        headers = {
            "Lambda-Runtime-Aws-Request-Id": task.request_id,
            "Lambda-Runtime-Deadline-Ms": str(task.deadline_millis),
            "Lambda-Runtime-Invoked-Function-Arn": task.function_arn,
        }
        if task.client_context:
            headers["Lambda-Runtime-Client-Context"] = task.client_context
        self._answer(200, task.event, headers)

    def do_POST(self) -> None:
        try:
            body = self.read_body(MOST_BYTES)
        except BodyError as error:
            self.send_error(error.status, str(error))
            return
        if self.path == f"{_API}/init/error":
            self.host.init_failed(body)
        elif match := _RESULT.fullmatch(self.path):
            self.host.finished(match["request_id"], body, failed=match["result"] == "error")
        else:
            self._answer(404)
            return
        self._answer(202)

    def _is_gone(self) -> bool:
        """True once the caller has closed the connection."""
        try:
            return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _answer(
        self, status: int, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> None:
        """Head and body in one write: two would wait for each other's acknowledgement."""
        self.send_response_only(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        head = b"".join(self._headers_buffer) + b"\r\n"  # type: ignore[attr-defined] # not in typeshed
        self._headers_buffer.clear()  # type: ignore[attr-defined] # not in typeshed
        self.wfile.write(head + body)

    def log_message(self, *_: object) -> None:
        """A line per call would drown the function's own log."""
