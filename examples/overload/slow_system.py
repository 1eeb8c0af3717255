"""A slow system on this machine: an HTTP service with few slots and a fixed service time.

Its capacity is slots / service time. A request that finds every slot taken is refused at once with
429, as a full system would.

    POST /check    takes the service time: 200, or 429 when full
    GET /          {"served": [the Idempotency-Key of each request, which is the task's id],
                    "refused": how many requests}
"""

import json
import sys
import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import click


class SlowSystem(ThreadingHTTPServer):
    """``slots`` requests at a time, each for ``service_seconds``."""

    daemon_threads = True

    def __init__(self, *, port: int, slots: int, service_seconds: float) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.served: list[str] = []
        self.refused = 0
        self._service_seconds = service_seconds
        self._slots = threading.BoundedSemaphore(slots)
        self._counts = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/check"

    def check(self, task_id: str) -> bool:
        """Do one check; False at once where every slot is taken."""
        if not self._slots.acquire(blocking=False):
            with self._counts:
                self.refused += 1
            return False
        try:
            time.sleep(self._service_seconds)
        finally:
            self._slots.release()
        self.served.append(task_id)
        return True


class _Handler(BaseHTTPRequestHandler):
    server: SlowSystem
    protocol_version = "HTTP/1.1"
    # Head and body leave in one packet: Nagle's algorithm would add 40 ms to each answer.
    wbufsize = -1

    def do_GET(self) -> None:
        system = self.server
        self._answer(HTTPStatus.OK, {"served": list(system.served), "refused": system.refused})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.check(self.headers.get("Idempotency-Key", "")):
            self._answer(HTTPStatus.OK, {"done": True})
        else:
            error = {"error": "all slots are taken"}
            self._answer(HTTPStatus.TOO_MANY_REQUESTS, error, **{"Retry-After": "1"})

    def _answer(self, status: HTTPStatus, body: Mapping[str, object], **headers: str) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing: the counts tell enough."""


@click.command()
@click.option("--port", default=8770, show_default=True, help="0 takes a free one.")
@click.option("--slots", default=4, show_default=True, help="Requests at a time.")
@click.option("--service-seconds", default=0.4, show_default=True, help="Time that each takes.")
def main(port: int, slots: int, service_seconds: float) -> None:
    """Run the slow system until standard input closes; its URL is printed first."""
    system = SlowSystem(port=port, slots=slots, service_seconds=service_seconds)
    threading.Thread(target=system.serve_forever, daemon=True).start()
    click.echo(system.url)
    sys.stdin.read()


if __name__ == "__main__":
    main()
