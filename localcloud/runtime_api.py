"""AWS's Lambda Runtime API, as one function instance sees it: four HTTP routes on loopback."""

import http.client
import re
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from . import threads
from .gate import ClosedToPages

# The runtime tells an error in a header, too, of up to 1 MB; Python's servers read 64 KB of a line.
http.client._MAXLINE = 2 * 1024 * 1024  # type: ignore[attr-defined] # noqa: SLF001 - no public way

_API = "/2018-06-01/runtime"
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

    def next_task(self) -> Task | None:
        """Block until there is work; None once the instance is closed."""

    def finished(self, request_id: str, payload: bytes, *, failed: bool) -> None: ...

    def init_failed(self, payload: bytes) -> None: ...


class RuntimeApi:
    """Serves one instance on a port of its own, as each of Lambda's sandboxes has one."""

    def __init__(self, host: Host) -> None:
        handler = type("Handler", (_Handler,), {"host": host})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._closed = threading.Event()
        threads.start("a runtime API", self._server.serve_forever, self._closed)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(threads.Quiet, ThreadingHTTPServer):
    daemon_threads = True


class _Handler(ClosedToPages, BaseHTTPRequestHandler):
    host: Host
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if self.path != f"{_API}/invocation/next":
            self._answer(404)
            return
        task = self.host.next_task()
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
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == f"{_API}/init/error":
            self.host.init_failed(body)
        elif match := _RESULT.fullmatch(self.path):
            self.host.finished(match["request_id"], body, failed=match["result"] == "error")
        else:
            self._answer(404)
            return
        self._answer(202)

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
