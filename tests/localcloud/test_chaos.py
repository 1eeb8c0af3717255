"""The deployed queue, while its processes are killed, its kicks are lost, and a clock is wrong."""

import itertools
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from lifoq import Queue, Store
from lifoq.basics.host import SystemHost, microseconds
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import Status
from lifoq.tables.dynamo import DynamoTable
from lifoq.worker.backoff import Backoff
from localcloud import LocalCloud
from tests.infrastructure.deployments import a_stage, synthesized, team_code

pytestmark = pytest.mark.prove

STAGE = "demo"
SERVICE_SECONDS = 0.4
ROUNDS = 8
TASKS_A_ROUND = 6
ROUND_SECONDS = 1.5
REST_SECONDS = 60.0
AHEAD_SECONDS = 20.0
LIFETIMES = Lifetimes(deadline=300)


class Downstream(ThreadingHTTPServer):
    """Counts what it was asked to do, per task and attempt, before it takes its time."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: Counter[tuple[str, int]] = Counter()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/work"


class _Handler(BaseHTTPRequestHandler):
    server: Downstream
    wbufsize = -1

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.asked[body["taskId"], body["attempt"]] += 1
        time.sleep(SERVICE_SECONDS)
        try:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
        except ConnectionError:
            return  # who asked was killed

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base's name)
        """Says nothing: the counts tell enough."""


class FastClock(SystemHost):
    """A machine whose clock is ahead."""

    def now(self) -> int:
        return super().now() + microseconds(AHEAD_SECONDS)


@pytest.fixture(scope="module")
def downstream() -> Iterator[Downstream]:
    with Downstream() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory, downstream: Downstream) -> Path:
    """The application with the chaos run's task code in it."""
    seconds = cdk.Duration.seconds
    tasks = team_code(
        tmp_path_factory.mktemp("code"),
        Path(__file__).with_name("chaos_tasks.py"),
        environment={"DOWNSTREAM_URL": downstream.url},
    )
    return synthesized(
        a_stage(
            STAGE,
            tasks=tasks,
            deadline=seconds(300),
            window=seconds(5),
            in_flight=4,
            lease=seconds(2),
            heartbeat=cdk.Duration.millis(500),
            max_attempts=20,
            backoff=Backoff(min_seconds=0.2, max_seconds=1),
        )
    ).assembly


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory, assembly: Path) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path_factory.mktemp("chaos")) as cloud:
        cloud.deploy(assembly, f"lifoq-{STAGE}-state", f"lifoq-{STAGE}-queue")
        yield cloud


def queue_on(cloud: LocalCloud, host: SystemHost) -> Queue:
    name = cloud.outputs(f"lifoq-{STAGE}-state")["TableName"]
    return Queue(Store(DynamoTable.connect(name), lifetimes=LIFETIMES, host=host), host=host)


def items(cloud: LocalCloud) -> dict[str, Mapping[str, Any]]:
    name = cloud.outputs(f"lifoq-{STAGE}-state")["TableName"]
    pages = cloud.client("dynamodb").get_paginator("scan").paginate(TableName=name)
    return {item["taskId"]["S"]: item for page in pages for item in page["Items"]}


def statuses(cloud: LocalCloud) -> Counter[str]:
    return Counter(item["taskStatus"]["S"] for item in items(cloud).values())


def test_all_tasks_end_and_no_claim_works_twice(
    cloud: LocalCloud, downstream: Downstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in cloud.environment().items():
        monkeypatch.setenv(name, value)
    functions = cloud.outputs(f"lifoq-{STAGE}-queue")
    worker, sweep = functions["ProcessTasksFunctionName"], functions["SweepFunctionName"]
    producers = itertools.cycle((queue_on(cloud, SystemHost()), queue_on(cloud, FastClock())))
    put: list[str] = []
    killed: list[int] = []

    def sweep_now() -> None:
        cloud.client("lambda").invoke(FunctionName=sweep, Payload=b"{}")

    # When the worker is killed again and again in the middle of tasks, and half of what should
    # wake it is lost,
    cloud.set_faults(drop_notifications=0.5, drop_stream_records=0.5, seed=7)
    for _ in range(ROUNDS):
        put += [next(producers).put("chaos.work").task_id for _ in range(TASKS_A_ROUND)]
        time.sleep(ROUND_SECONDS)
        killed += cloud.kill_function(worker)
        sweep_now()
    cloud.set_faults()

    # then with nothing but its sweep the queue comes to rest,
    until = time.monotonic() + REST_SECONDS
    while (found := statuses(cloud)) != Counter({Status.SUCCESS.value: len(put)}):
        assert time.monotonic() < until, found
        sweep_now()
        time.sleep(1)

    # no task is missing, and every one ended with the result of its last attempt,
    ended = items(cloud)
    assert set(ended) == set(put)
    for task_id, item in ended.items():
        last = int(item["attempts"]["N"])
        assert json.loads(item["result"]["S"]) == {"taskId": task_id, "attempt": last}
        # which the downstream was asked for,
        assert downstream.asked[task_id, last] == 1
    # no claim worked twice, and no more attempts worked than were counted,
    assert set(downstream.asked.values()) == {1}
    assert all(
        attempt <= int(ended[task_id]["attempts"]["N"]) for task_id, attempt in downstream.asked
    )
    # and the chaos did hit: workers died, and took attempts with them.
    assert len(killed) >= ROUNDS // 2
    assert all(not _runs(process) for process in killed)
    assert any(int(item["attempts"]["N"]) > 1 for item in ended.values())


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
