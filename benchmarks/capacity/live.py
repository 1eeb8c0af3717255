"""``python -m benchmarks.capacity.live``: `lifoq work` in front of servers of fixed threads."""

import json
import os
import queue
import random
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer
from typing import Any, Final

import boto3
from werkzeug.serving import make_ssl_devcert

from benchmarks.capacity.results import Found, Results
from benchmarks.record import HERE, recording
from lab import dynamodb_local
from lifoq import NewTask, Queue
from lifoq.items.schema import table_definition
from lifoq.targets import configured
from lifoq.targets.https import HttpsTarget

THREADS: Final = (6, 12, 3)
"""Threads of the servers, one number after the other."""
PHASE: Final = 80.0
"""Seconds of each."""
SERVICE: Final = 1.0
"""Seconds of a request, on average; half more or less."""
RATE: Final = 18.0
"""Tasks a second of each type: more than the servers can ever do."""
BATCH: Final = 12
"""Tasks of each type that are put together."""
DEADLINE: Final = 10.0
MOST: Final = 32
TYPES: Final = {"check": "HTTP, in code", "refresh": "HTTPS target"}
CODE: Final = """
import urllib.request
from lifoq import task

@task("check", adaptive_concurrency=True, in_flight={most}, max_attempts=1, timeout=60)
def check(payload, context):
    urllib.request.urlopen("{url}", timeout=context.remaining).read()
"""


class Server(TCPServer):
    """A server whose threads each answer one request at a time; the others wait."""

    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self._tls = tls
        self._requests = queue.SimpleQueue[Any]()
        self._threads = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def become(self, threads: int) -> None:
        for _ in range(threads - self._threads):
            threading.Thread(target=self._work, daemon=True).start()
        for _ in range(self._threads - threads):
            self._requests.put(None)
        self._threads = threads

    def process_request(self, request: Any, client_address: Any) -> None:
        self._requests.put((request, client_address))

    def _work(self) -> None:
        while (asked := self._requests.get()) is not None:
            request, address = asked
            try:
                if self._tls is not None:
                    request = self._tls.wrap_socket(request, server_side=True)
                self.finish_request(request, address)
            except OSError:
                continue  # the client has gone
            finally:
                self.shutdown_request(request)


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        time.sleep(random.uniform(0.5, 1.5) * SERVICE)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None: ...


def main() -> None:
    """Change the number of threads while workers find it, and keep what they found."""
    with recording("capacity", "python -m benchmarks.capacity.live", variant="live") as found:
        with tempfile.TemporaryDirectory() as name, _worked(Path(name)) as (servers, lines):
            began = time.time()
            rows = list[Found]()
            for threads in THREADS:
                for server in servers:
                    server.become(threads)
                until = time.time() + PHASE
                while (left := until - time.time()) > 0:
                    try:
                        task_type, tasks = lines.get(timeout=left)
                    except queue.Empty:
                        break
                    seconds = round(time.time() - began, 1)
                    row = Found(
                        seconds=seconds, type=TYPES[task_type], tasks=tasks, threads=threads
                    )
                    rows.append(row)
                    print(row, flush=True)
        found.results = Results(live=tuple(rows))


@contextmanager
def _worked(folder: Path) -> Iterator[tuple[list[Server], "queue.SimpleQueue[tuple[str, float]]"]]:
    certificate, key = make_ssl_devcert(str(folder / "server"), host="localhost")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    servers = [Server(None), Server(tls)]
    ports = [server.server_address[1] for server in servers]
    code = CODE.format(most=MOST, url=f"http://127.0.0.1:{ports[0]}/")
    (folder / "tasks.py").write_text(code)
    target = HttpsTarget(
        url=f"https://localhost:{ports[1]}/",
        timeout=60,
        allowed_networks=("127.0.0.0/8", "::1/128"),
        adaptive_concurrency=True,
        in_flight=MOST,
        max_attempts=1,
    )
    with dynamodb_local.running(folder / "log", java_options=dynamodb_local.BRIEF) as endpoint:
        client = boto3.client("dynamodb", endpoint_url=endpoint, **dynamodb_local.CREDENTIALS)
        client.create_table(**table_definition("live"))
        queue_ = Queue.connect(table="live", endpoint_url=endpoint, **dynamodb_local.CREDENTIALS)
        stop = threading.Event()
        puts = threading.Thread(target=_put, args=(queue_, stop), daemon=True)
        puts.start()
        worker = subprocess.Popen(
            [
                *(sys.executable, "-m", "lifoq_cli", "--table", "live", "--endpoint-url", endpoint),
                *("--region", "us-east-1", "work", "--metrics"),
                *("--in-flight", str(2 * MOST), "--task-timeout", "60"),
            ],
            cwd=folder,
            env={
                **os.environ,
                "AWS_ACCESS_KEY_ID": "local",
                "AWS_SECRET_ACCESS_KEY": "local",
                "LIFOQ_TARGETS": configured.encode({"refresh": target}),
                "SSL_CERT_FILE": certificate,
                "PYTHONPATH": str(HERE.parent),
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        lines = queue.SimpleQueue[tuple[str, float]]()
        threading.Thread(target=_read, args=(worker, lines), daemon=True).start()
        try:
            yield servers, lines
        finally:
            stop.set()
            puts.join()
            worker.send_signal(signal.SIGTERM)
            worker.wait()


def _put(to: Queue, stop: threading.Event) -> None:
    """Put more than the servers can do, in batches, since that is cheap."""
    tasks = [NewTask(task_type=name, payload={}, deadline=DEADLINE) for name in TYPES]
    while not stop.wait(BATCH / RATE):
        to.put_many(BATCH * tasks)


def _read(worker: "subprocess.Popen[str]", lines: "queue.SimpleQueue[tuple[str, float]]") -> None:
    for line in worker.stdout or ():
        entry = json.loads(line) if line.startswith("{") else {}
        if "ConcurrencyFound" in entry:
            lines.put((entry["task_type"], entry["ConcurrencyFound"][0]))


if __name__ == "__main__":
    main()
