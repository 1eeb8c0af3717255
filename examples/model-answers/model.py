"""A stand-in for a language model's API, on this machine: its limits are those of ``limits.py``.

    POST /answers    {"question": "…"}: the answer in parts, a line of JSON each, with the tokens
                     so far; or 429, with Retry-After
    GET /            {"tokens": spent, "refused": requests}

A client that closes its connection pays for what was said until then.
"""

import json
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import click
from limits import FIRST_TOKEN_SECONDS, LONGEST_ANSWER, TOKENS_PER_SECOND, Limits, question_of

PART_TOKENS = 10


class Model(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *, port: int, pause: Callable[[float], object] = time.sleep) -> None:
        """``pause`` waits for some seconds."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.pause = pause
        self.tokens = 0
        """Spent, for whomever."""
        self.refused = 0
        self._limits = Limits(now=time.monotonic())
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def enter(self, tokens: int) -> int:
        """Reserve tokens, and return 0; or return the seconds after which there is room."""
        with self._lock:
            wait = self._limits.enter(tokens, time.monotonic())
            self.refused += wait > 0
            return wait

    def spend(self, tokens: int) -> None:
        with self._lock:
            self.tokens += tokens

    def give_back(self, tokens: int) -> None:
        with self._lock:
            self._limits.give_back(tokens)


class _Handler(BaseHTTPRequestHandler):
    server: Model

    def do_GET(self) -> None:
        told = {"tokens": self.server.tokens, "refused": self.server.refused}
        self._begin(HTTPStatus.OK)
        self._say(told)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        cost, said = question_of(json.loads(self.rfile.read(length))["question"]), 0
        if wait := self.server.enter(cost.estimate):
            self._begin(HTTPStatus.TOO_MANY_REQUESTS, **{"Retry-After": str(wait)})
            return
        self.server.spend(cost.prompt)
        try:
            self._begin(HTTPStatus.OK)
            self.server.pause(FIRST_TOKEN_SECONDS)
            while said < cost.answer:
                part = min(PART_TOKENS, cost.answer - said)
                self.server.pause(part / TOKENS_PER_SECOND)
                said += part
                self.server.spend(part)
                self._say({"text": "so on and " * (part // 3), "tokens": cost.prompt + said})
        except ConnectionError:
            pass  # whoever asked has gone
        finally:
            self.server.give_back(LONGEST_ANSWER - said)

    def _begin(self, status: HTTPStatus, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _say(self, told: dict[str, object]) -> None:
        self.wfile.write(json.dumps(told).encode() + b"\n")

    def log_message(self, *_: object) -> None:
        """Say nothing: the counts tell enough."""


@click.command()
@click.option("--port", default=8771, show_default=True)
def main(port: int) -> None:
    """Run the stand-in until it is interrupted."""
    with Model(port=port) as model:
        model.serve_forever()


if __name__ == "__main__":
    main()
