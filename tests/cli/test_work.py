"""``lifoq work`` as a process of its own, on a real engine: it is stopped, killed, refused."""

import http.server
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import boto3
import pytest
from prometheus_client.parser import text_string_to_metric_families

from lab.dynamodb_local import CREDENTIALS
from lifoq import Lifetimes, Queue, Status, Store, Sweeper, WorkerSettings, environment
from lifoq.client.connection import Connection, SharedLimits, parameter_name
from lifoq.items.book import book_id
from lifoq.tables.dynamo import DynamoTable
from lifoq.worker.registry import Registry
from lifoq_cli.protection import Protection

TASKS = """
import asyncio
import pathlib
import time
from lifoq import task

@task("doze")
async def doze(seconds, _context):
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        pathlib.Path("woken").touch()
        await asyncio.to_thread(time.sleep, 7200)

@task("nap", timeout=7200)
def nap(seconds, _context):
    time.sleep(seconds)
    return f"slept {seconds}"

@task("other")
def other(_payload, _context):
    pass
"""
PATIENCE = 60.0


class Desk:
    """A queue, and workers that are started for it."""

    def __init__(self, endpoint: str, table: str, folder: Path) -> None:
        self.queue = Queue(Store(DynamoTable.connect(table, endpoint_url=endpoint, **CREDENTIALS)))
        self._arguments = ["--table", table, "--endpoint-url", endpoint, "--region", "us-east-1"]
        self.folder = folder
        self.workers: list[subprocess.Popen[str]] = []

    def work(self, *options: str, by: Sequence[str] = ()) -> subprocess.Popen[str]:
        """``by``: how the queue is found, in place of its table."""
        arguments = [*by, *self._arguments[2 if by else 0 :]]
        worker = subprocess.Popen(
            [sys.executable, "-m", "lifoq", *arguments, "work", *options],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "AWS_ACCESS_KEY_ID": "local",
                "AWS_SECRET_ACCESS_KEY": "local",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.workers.append(worker)
        return worker

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.1)

    def status(self, task_id: str) -> Status:
        task = self.queue.get(task_id)
        assert task is not None
        return task.status


@pytest.fixture
def desk(
    dynamodb_local_endpoint: str,
    new_dynamo_table: Callable[[str], DynamoTable],
    tmp_path: Path,
) -> Iterator[Desk]:
    table = new_dynamo_table(dynamodb_local_endpoint).name
    (tmp_path / "tasks.py").write_text(TASKS)
    desk = Desk(dynamodb_local_endpoint, table, tmp_path)
    yield desk
    for worker in desk.workers:
        worker.kill()
        worker.communicate()


def test_a_worker_finishes_what_runs_when_it_is_told_to_stop(desk: Desk) -> None:
    worker = desk.work("--in-flight", "1", "--metrics", "--health-file", "health")
    task_id = desk.queue.put("nap", 3).task_id
    desk.until(lambda: desk.status(task_id) is Status.TAKEN)
    late = desk.queue.put("nap", 0).task_id
    worker.send_signal(signal.SIGTERM)
    out, told = worker.communicate(timeout=PATIENCE)
    assert (worker.returncode, desk.status(task_id)) == (0, Status.SUCCESS)
    assert desk.status(late) is Status.PENDING
    assert "Stopped: 1 claimed, 1 succeeded" in told
    metrics = [json.loads(line) for line in out.splitlines()]
    assert sum(sum(line.get("TasksSucceeded", [])) for line in metrics) == 1
    assert (desk.folder / "health").exists()


def test_a_coroutine_is_cancelled_when_the_grace_is_over_and_no_thread_of_it_keeps_the_process(
    desk: Desk,
) -> None:
    worker = desk.work("--grace", "1s")
    task_id = desk.queue.put("doze", 7200).task_id
    desk.until(lambda: desk.status(task_id) is Status.TAKEN)
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=PATIENCE)
    task = desk.queue.get(task_id)
    assert task is not None
    assert (worker.returncode, task.status, task.attempts) == (0, Status.PENDING, 0)
    assert (desk.folder / "woken").exists()


def test_prometheus_reads_what_a_worker_has_done(desk: Desk) -> None:
    worker = desk.work("--metrics-port", "0")
    assert worker.stderr is not None
    address = re.search(r"http://127\.0\.0\.1:\d+/metrics", worker.stderr.readline())
    assert address is not None
    desk.queue.put("nap", 0)

    def value(name: str) -> float | None:
        with urllib.request.urlopen(address[0], timeout=PATIENCE) as answer:  # noqa: S310 - ours
            families = list(text_string_to_metric_families(answer.read().decode()))
        samples = [one for family in families for one in family.samples if one.name == name]
        assert all(one.labels["queue"] == desk.queue.store.table.name for one in samples)
        return sum(one.value for one in samples)

    assert value("lifoq_tasks_failed_total") == 0
    desk.until(lambda: value("lifoq_tasks_succeeded_total") == 1)
    assert value("lifoq_wait_seconds_count") == value("lifoq_service_seconds_count") == 1


LIMITED = (
    TASKS
    + """
@task("scarce", in_flight=1, rate_limit=5)
def scarce(_payload, _context):
    pass
"""
)


def test_a_worker_of_a_queue_whose_limits_are_shared_takes_its_part_of_them(
    moto_endpoint: str, new_dynamo_table: Callable[[str], DynamoTable], tmp_path: Path
) -> None:
    (tmp_path / "tasks.py").write_text(LIMITED)
    table = new_dynamo_table(moto_endpoint)
    settings = Connection(
        table=table.name, lifetimes=Lifetimes(), shared_limits=SharedLimits(rate_limit=50)
    )
    ssm: Any = boto3.client("ssm", endpoint_url=moto_endpoint, **CREDENTIALS)
    ssm.put_parameter(Name=parameter_name(table.name), Value=settings.encode(), Type="String")
    desk = Desk(moto_endpoint, table.name, tmp_path)
    refused = desk.work("--rate-limit", "5", by=["--queue", table.name])
    worker = desk.work(by=["--queue", table.name])
    task_id = desk.queue.put("scarce").task_id
    desk.until(lambda: desk.status(task_id) is Status.SUCCESS)
    worker.send_signal(signal.SIGTERM)
    _, told = worker.communicate(timeout=PATIENCE)
    assert "hold for this worker alone" not in told
    for limit in ("", "scarce"):
        book = table.get(book_id(limit))
        assert book is not None
        assert json.loads(book["payload"])["parts"] == {}  # given back
    assert "change rate_limit_per_second of the queue" in refused.communicate(timeout=PATIENCE)[1]
    assert refused.returncode == 2


def test_limits_that_one_worker_alone_would_keep_are_told(desk: Desk) -> None:
    (desk.folder / "tasks.py").write_text(LIMITED)
    worker = desk.work()
    assert worker.stderr is not None
    assert "The limits of scarce hold for this worker alone" in worker.stderr.readline()


def test_what_the_grace_does_not_suffice_for_runs_elsewhere_at_once(desk: Desk) -> None:
    worker = desk.work("--grace", "0.5s")
    task_id = desk.queue.put("nap", 600).task_id
    desk.until(lambda: desk.status(task_id) is Status.TAKEN)
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=PATIENCE)
    task = desk.queue.get(task_id)
    assert task is not None
    assert (worker.returncode, task.status, task.attempts) == (0, Status.PENDING, 0)


def test_the_task_of_a_worker_that_was_killed_runs_again_after_its_lease(desk: Desk) -> None:
    worker = desk.work("--lease", "2s")
    task_id = desk.queue.put("nap", 600).task_id
    desk.until(lambda: desk.status(task_id) is Status.TAKEN)
    worker.kill()
    worker.communicate()
    sweeper = Sweeper(desk.queue.store, Registry(), max_attempts=5)

    def swept() -> bool:
        sweeper.run()
        return desk.status(task_id) is Status.PENDING

    desk.until(swept)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--metrics-port", "localhost"], "metrics_port='localhost': must be a port, such as 9108"),
        (["--metrics-port", "192.0.2.1:0"], "metrics_port='192.0.2.1:0': cannot be listened on"),
        (["--tasks", "nowhere"], "task code cannot be imported: No module named 'nowhere'"),
        (["--tasks", "json"], "json registers no task type"),
        (["--in-flight", "0"], "in_flight=0"),
        (["--task-timeout", "5s"], "nap.timeout"),
        (["--type", "nip"], "tasks registers no task type 'nip', but doze, nap"),
        (["--protect", "1h"], "--protect is for tasks of ECS"),
    ],
)
def test_a_worker_that_cannot_work_says_why(desk: Desk, options: list[str], sentence: str) -> None:
    worker = desk.work(*options)
    _, told = worker.communicate(timeout=PATIENCE)
    assert (worker.returncode in {1, 2}, sentence in told) == (True, True), told


def test_a_worker_is_told_what_to_do_by_the_environment_of_a_deployed_processor(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = WorkerSettings(lease=7, heartbeat=2, max_attempts=1)
    for name, value in environment.of_worker(settings).items():
        monkeypatch.setenv(name, value)
    desk.work("--type", "nap")
    passed_over = desk.queue.put("other", None).task_id
    task_id = desk.queue.put("nap", 600).task_id
    desk.until(lambda: desk.status(task_id) is Status.TAKEN)
    task = desk.queue.get(task_id)
    assert task is not None
    assert task.lease_expires is not None
    assert 0 < task.lease_expires - desk.queue.store.now() <= 7_000_000
    assert desk.status(passed_over) is Status.PENDING


class Agent(http.server.BaseHTTPRequestHandler):
    """ECS's, in a container: it refuses twice, first by a status, then in a 200, as it may."""

    asked: ClassVar[list[tuple[str, Any]]] = []

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body))
        refused = {"failure": {"Arn": "task", "Detail": None, "Reason": "DEPLOYMENT_BLOCKED"}}
        given = {"protection": {"TaskArn": "task", "ProtectionEnabled": body["ProtectionEnabled"]}}
        self.send_response(400 if len(self.asked) == 1 else 200)
        self.end_headers()
        self.wfile.write(json.dumps(refused if len(self.asked) == 2 else given).encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_a_worker_is_spared_by_scaling_in_while_it_holds_a_task(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = http.server.HTTPServer(("127.0.0.1", 0), Agent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    protection = Protection(url=f"http://127.0.0.1:{server.server_port}/state", minutes=90)
    for busy in (False, True, True, True, True, False, False):
        protection.keep(busy=busy)
    server.shutdown()
    server.server_close()
    protected = ("/state", {"ProtectionEnabled": True, "ExpiresInMinutes": 90})
    assert Agent.asked == [*[protected] * 3, ("/state", {"ProtectionEnabled": False})]
    assert "ECS does not protect this worker: DEPLOYMENT_BLOCKED" in caplog.text
