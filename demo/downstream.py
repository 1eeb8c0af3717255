"""The legacy system of the pattern: an HTTP service with few slots and a fixed service time.

It runs as a process of its own, on loopback. Its capacity is slots / service time; a request that
finds every slot taken is refused at once with 429, as an overloaded system would.

    GET or POST /work    does one piece of work: 200, or 429 when full
    GET /                counts: {"served": …, "refused": …}
"""

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import click


class LegacySystem(ThreadingHTTPServer):
    """``slots`` requests at a time, each for ``service_seconds``."""

    daemon_threads = True

    def __init__(self, *, port: int, slots: int, service_seconds: float) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.service_seconds = service_seconds
        self.served = 0
        self.refused = 0
        self._slots = threading.BoundedSemaphore(slots)
        self._counts = threading.Lock()

    def work(self) -> bool:
        """Does one piece of work; ``False`` at once when every slot is taken."""
        if not self._slots.acquire(blocking=False):
            with self._counts:
                self.refused += 1
            return False
        try:
            time.sleep(self.service_seconds)
        finally:
            self._slots.release()
        with self._counts:
            self.served += 1
        return True


class _Handler(BaseHTTPRequestHandler):
    server: LegacySystem
    protocol_version = "HTTP/1.1"
    # Head and body leave in one packet: Nagle's algorithm would add 40 ms to each answer.
    wbufsize = -1

    def do_GET(self) -> None:
        if self.path == "/":
            served, refused = self.server.served, self.server.refused
            self._answer(HTTPStatus.OK, {"served": served, "refused": refused})
        else:
            self._work()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._work()

    def _work(self) -> None:
        if self.path != "/work":
            self._answer(HTTPStatus.NOT_FOUND, {"error": f"{self.path} is not here; use /work"})
        elif self.server.work():
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

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Says nothing: the counts tell enough."""


@dataclass(frozen=True, kw_only=True)
class Downstream:
    """A running legacy system, seen from outside."""

    url: str
    """Where it works."""
    capacity: float
    """Tasks per second at most."""

    def counts(self) -> dict[str, int]:
        """How many requests it served, and how many it refused."""
        with urllib.request.urlopen(self.url.removesuffix("work"), timeout=5) as answer:  # noqa: S310 - our own loopback address
            counts: dict[str, int] = json.load(answer)
        return counts


@contextmanager
def running(*, slots: int, service_seconds: float) -> Iterator[Downstream]:
    """A legacy system in a process of its own on a free port, for as long as the block runs.

    The process ends when its standard input closes: however its parent dies, it does not stay.
    """
    process = subprocess.Popen(  # noqa: S603 - our own module
        [
            *(sys.executable, "-m", "demo.downstream"),
            *("--slots", str(slots)),
            *("--service-seconds", str(service_seconds)),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        url = process.stdout.readline().strip() if process.stdout else ""
        if not url:
            raise RuntimeError("the slow downstream did not start; its message stands above")
        yield Downstream(url=url, capacity=slots / service_seconds)
    finally:
        process.kill()
        process.communicate()


@click.command()
@click.option("--port", default=0, show_default="a free one")
@click.option("--slots", default=4, show_default=True, help="Requests at a time.")
@click.option("--service-seconds", default=0.4, show_default=True, help="Time that each takes.")
def main(port: int, slots: int, service_seconds: float) -> None:
    """Run the slow downstream until standard input closes; prints its URL."""
    server = LegacySystem(port=port, slots=slots, service_seconds=service_seconds)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    click.echo(f"http://127.0.0.1:{server.server_port}/work")
    sys.stdin.read()


if __name__ == "__main__":
    main()
