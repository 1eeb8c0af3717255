"""Many processes race for the same tasks on a real engine, and some of them stall or die."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lifoq.client.queue import Queue
from lifoq.items.schema import Status
from lifoq.items.task import NewTask
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.store import Store
from lifoq.worker.registry import Registry
from lifoq.worker.sweep import Sweeper, SweepReport
from tests.faults import streams
from tests.faults.history import Write, audit
from tests.races.worker import LEASE, SETTINGS

ROOT = Path(__file__).parent.parent.parent
WORKERS = 8
TASKS = 2_000
STALLS = 4
PATIENCE = 250
"""Seconds; far beyond what an idle machine needs."""


class Workers:
    """Worker processes, one of which can be stalled or killed."""

    def __init__(self, endpoint: str, table_name: str, folder: Path) -> None:
        self._command = [sys.executable, "-m", "tests.races.worker", endpoint, table_name, folder]
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        self._processes.append(subprocess.Popen(self._command, cwd=ROOT))

    @contextmanager
    def one_stalled(self) -> Iterator[None]:
        """One stands still, with all its threads, and then goes on as if nothing had happened."""
        stalled = self._processes.pop(0)
        self._processes.append(stalled)
        stalled.send_signal(signal.SIGSTOP)
        yield
        stalled.send_signal(signal.SIGCONT)

    def kill_one(self) -> None:
        killed = self._processes.pop(0)
        killed.kill()
        killed.wait()

    def finish(self) -> list[int]:
        """Let each come to its end; the exit codes."""
        (self._folder / "stop").touch()
        return [process.wait(timeout=60) for process in self._processes]

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def told(self, key: str) -> list[dict[str, Any]]:
        """The lines of all logs that have the key."""
        lines = [
            json.loads(line)
            for log in self._folder.glob("*.jsonl")
            for line in log.read_text().splitlines()
        ]
        return [line for line in lines if key in line]


@pytest.fixture
def table(
    dynamodb_local_endpoint: str, new_dynamo_table: Callable[[str], DynamoTable]
) -> DynamoTable:
    return new_dynamo_table(dynamodb_local_endpoint)


@pytest.fixture
def workers(dynamodb_local_endpoint: str, table: DynamoTable, tmp_path: Path) -> Iterator[Workers]:
    workers = Workers(dynamodb_local_endpoint, table.name, tmp_path)
    yield workers
    workers.end()


@pytest.mark.timeout(PATIENCE + 100)
def test_each_claim_has_one_holder_and_one_end_while_processes_race_stall_and_die(
    table: DynamoTable, workers: Workers, dynamodb_local_endpoint: str
):
    queue = Queue(Store(table))
    put = queue.put_many([NewTask(task_type="race") for _ in range(TASKS)])
    for _ in range(WORKERS):
        workers.start()

    trouble(queue, workers)
    assert workers.finish() == [0] * WORKERS

    history = streams.writes(dynamodb_local_endpoint, table.name)
    steps = audit(history)
    assert steps[None, Status.PENDING] == TASKS == steps[Status.TAKEN, Status.SUCCESS]
    claims = {claim["taskId"]: claim for claim in ends(history)}
    assert set(claims) == {outcome.task.task_id for outcome in put if outcome.task}
    assert_as_told(list(claims.values()), workers.told("task"))
    expired = [
        write
        for write in history
        if write.step == (Status.TAKEN, Status.PENDING) and "claimId" not in write.after
    ]
    assert expired, (
        "no lease expired: nothing was proved"
    )  # what is handed back keeps its claim's id
    fenced = sum(line["leases_lost"] for line in workers.told("leases_lost"))
    assert fenced > 0, "no stale holder came back: nothing was proved"


def trouble(queue: Queue, workers: Workers) -> None:
    """Kill one worker, stall others beyond their lease, and sweep, until all tasks are done."""
    sweeper = Sweeper(queue.store, Registry(), max_attempts=SETTINGS.max_attempts)
    until = time.monotonic() + PATIENCE
    while len({line["worker"] for line in workers.told("task")}) < WORKERS:
        assert time.monotonic() < until, "the workers do not work"
        time.sleep(0.1)
    workers.kill_one()
    workers.start()
    for _ in range(STALLS):
        with workers.one_stalled():
            sweep_until(time.monotonic() + LEASE + 0.5, sweeper)
    while unfinished(sweeper.run()):
        assert time.monotonic() < until, "not at rest"
        time.sleep(0.2)


def sweep_until(moment: float, sweeper: Sweeper) -> None:
    """Sweep again and again; the last sweep begins after that moment, however long one takes."""
    began = 0.0
    while began < moment:
        began = time.monotonic()
        sweeper.run()
        time.sleep(0.2)


def unfinished(swept: SweepReport) -> int:
    assert swept.stats is not None
    return swept.stats.pending.value + swept.stats.delayed.value + swept.stats.taken.value


def ends(history: list[Write]) -> list[Any]:
    return [write.after for write in history if write.after["taskStatus"] == Status.SUCCESS]


def assert_as_told(ended: list[Any], begun: list[dict[str, Any]]) -> None:
    """No attempt was begun by two workers; each success is of the worker that began its attempt."""
    holders = {(line["task"], line["attempt"]): line["worker"] for line in begun}
    twice = [
        attempt for attempt, n in Counter((i["task"], i["attempt"]) for i in begun).items() if n > 1
    ]
    assert not twice, f"two workers held the same claim: {twice}"
    for item in ended:
        result = json.loads(item["result"])
        assert result["worker"] == holders[item["taskId"], item["attempts"]], item
