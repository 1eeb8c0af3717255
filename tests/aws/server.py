"""A server in AWS's place, whose answers a test writes byte by byte."""

import json
import queue
import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

ERROR = "com.amazonaws.dynamodb.v20120810#"
GET: Any = {"TableName": "queue", "Key": {"taskId": {"S": "t"}}}


def reply(body: Any, status: int = 200, **headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} so", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def refused(code: str, status: int = 400, **more: Any) -> bytes:
    return reply({"__type": ERROR + code, "message": "as the test says", **more}, status)


class Server(ThreadingHTTPServer):
    """Answers with what is in ``answers``, in this order, and then with an empty success; None
    closes the connection instead, and so does the end of an answer that does not tell it."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, 0), _Handler)
        self.answers: list[bytes | Callable[[Any], bytes | None] | None] = []
        self.requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.closed: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.piece = 1_000_000
        """Bytes that are sent at once."""
        self.closing = False
        """True if each connection is closed after its answer, without a word of it in the
        answer."""
        self.forgotten: set[Any] = set()
        """Peers whose connections give no answer any more, however often they are used."""
        host = "localhost" if tls else f"[{address}]" if ":" in address else address
        self.url = f"http{'s' if tls else ''}://{host}:{self.server_port}"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def heard(self) -> list[Any]:
        return [self.requests.get() for _ in range(self.requests.qsize())]

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.closed.put(request)

    def handle_error(self, *_: Any) -> None:
        """Who asked has left."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: Any = self.server
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers["content-length"]))
        if self.client_address in server.forgotten:
            self.close_connection = True  # as a reset
            return
        request = SimpleNamespace(peer=self.client_address, headers=headers, body=body)
        server.requests.put(request)
        answer = server.answers.pop(0) if server.answers else reply({})
        answer = (answer(request) if callable(answer) else answer) or b""
        self.close_connection = server.closing or b"\r\nContent-Length: " not in answer
        for at in range(0, len(answer), server.piece):
            self.wfile.write(answer[at : at + server.piece])

    def log_message(self, *_: Any) -> None: ...
