"""A service that task types ask, which answers as the test says."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest


class Downstream(ThreadingHTTPServer):
    """Answers each request with what the test says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.headers, self.body = 200, {"Content-Type": "application/json"}, b"{}"
        self.before = b""
        """The bytes that come before the answer."""
        self.pauses = 0.0
        """Seconds between two bytes of the answer."""
        self.requests: list[SimpleNamespace] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/work?a=1"


class _Handler(BaseHTTPRequestHandler):
    def answer(self) -> None:
        server: Downstream = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server.requests.append(
            SimpleNamespace(
                method=self.command, path=self.path, headers=dict(self.headers), body=body
            )
        )
        self.wfile.write(server.before)
        self.send_response(server.status)
        for name, value in {"Content-Length": str(len(server.body)), **server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if not server.pauses:
            self.wfile.write(server.body)
        for byte in server.body if server.pauses else b"":
            time.sleep(server.pauses)
            try:
                self.wfile.write(bytes([byte]))
            except OSError:
                return

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def downstream() -> Iterator[Downstream]:
    with Downstream() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()
