"""Many processes race for the same tasks on a real engine, and some of them stall or die."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
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

pytestmark = pytest.mark.prove

ROOT = Path(__file__).parent.parent.parent
WORKERS = 8
STALLS = 4
BACKLOG = 200
KEYS = 6
KEYED_BACKLOG = 80
"""Tasks; more than all workers do within a stall."""
HOLDS = "claimId"
PATIENCE = 500
"""Seconds; far beyond what an idle machine needs."""


class Workers:
    """Worker processes, one of which can be stalled or killed."""

    def __init__(self, endpoint: str, table_name: str, folder: Path) -> None:
        self._command = [sys.executable, "-m", "tests.races.worker", endpoint, table_name, folder]
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        self._processes.append(subprocess.Popen(self._command, cwd=ROOT))

    def next_to_begin(self, begun: str, *, within: float) -> subprocess.Popen[bytes] | None:
        """The first that begins a task from now on, and of several the one not stalled for longest.
        None: nobody has, for so many seconds."""
        before, until = self._has_begun(begun), time.monotonic() + within
        while not (now := self._has_begun(begun) - before):
            if time.monotonic() > until:
                return None
            time.sleep(0.02)
        return next((process for process in self._processes if process.pid in now), None)

    @contextmanager
    def stalled(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """It stands still, with all its threads, and then goes on as if nothing had happened."""
        process.send_signal(signal.SIGSTOP)
        self._processes.remove(process)
        self._processes.append(process)
        yield
        process.send_signal(signal.SIGCONT)

    def _has_begun(self, begun: str) -> Counter[int]:
        """Tasks by the process that began them."""
        return Counter(line["worker"] for line in self.told(begun))

    def kill_one(self) -> int:
        killed = self._processes.pop(0)
        killed.kill()
        killed.wait()
        return killed.pid

    def finish(self) -> list[int]:
        """Let each come to its end; the exit codes."""
        (self._folder / "stop").touch()
        return [process.wait(timeout=PATIENCE) for process in self._processes]

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
    dynamodb_local_endpoint: str, new_streamed_table: Callable[[str], DynamoTable]
) -> DynamoTable:
    return new_streamed_table(dynamodb_local_endpoint)


@pytest.fixture
def workers(dynamodb_local_endpoint: str, table: DynamoTable, tmp_path: Path) -> Iterator[Workers]:
    workers = Workers(dynamodb_local_endpoint, table.name, tmp_path)
    yield workers
    workers.end()


def test_each_claim_has_one_holder_and_one_end_while_processes_race_stall_and_die(
    table, workers, dynamodb_local_endpoint
):
    put = trouble(Queue(Store(table)), workers, lambda _: NewTask(task_type="race"))
    assert workers.finish() == [0] * WORKERS

    history = streams.writes(dynamodb_local_endpoint, table.name)
    steps = audit(history)
    assert steps[None, Status.PENDING] == len(put) == steps[Status.TAKEN, Status.SUCCESS]
    claims = {claim["taskId"]: claim for claim in ends(history)}
    assert set(claims) == set(put)
    assert_as_told(list(claims.values()), workers.told("task"))
    assert lost_leases(history) > 0, "no lease expired: nothing was proved"
    fenced = sum(line["leases_lost"] for line in workers.told("leases_lost"))
    assert fenced > 0, "no stale holder came back: nothing was proved"


def test_a_key_has_one_holder_at_a_time_while_processes_race_stall_and_die(
    table, workers, dynamodb_local_endpoint
):
    put = trouble(
        Queue(Store(table)),
        workers,
        lambda n: NewTask(task_type="one-per-key", key=f"k{n % KEYS}"),
        begun="keyed",
        workers_needed=KEYS,
        backlog=KEYED_BACKLOG,
    )
    assert workers.finish() == [0] * WORKERS

    everything = streams.writes(dynamodb_local_endpoint, table.name)
    history = [write for write in everything if "taskStatus" in write.after]
    steps = audit(history)
    assert steps[None, Status.PENDING] == len(put) == steps[Status.TAKEN, Status.SUCCESS]
    assert lost_leases(history) > 0, "no lease expired: nothing was proved"
    assert_one_holder(history)
    assert_apart(ends(history))
    stale = [
        w for w in everything if "taskStatus" not in w.after and w.before and HOLDS in w.before
    ]
    taken_over = [w for w in stale if w.after.get(HOLDS) not in (None, w.before[HOLDS])]
    assert taken_over, "no slot of a lost worker was taken over: nothing was proved"


def assert_one_holder(history: list[Write]) -> None:
    """By the table's stream, which here is one shard, so that its order is that of the writes."""
    holders: dict[str, str] = {}
    for write in history:
        key, task_id = write.after["taskKey"], write.after["taskId"]
        if write.after["taskStatus"] == Status.TAKEN:
            assert holders.setdefault(key, task_id) == task_id, f"beside {holders[key]}: {write}"
        elif holders.get(key) == task_id:
            del holders[key]


def assert_apart(ended: list[Any]) -> None:
    """By what task code noted itself: an outcome that was accepted was under a valid claim from its
    beginning to its end. (What a frozen process does beyond its lease, no claim covers.)"""
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for item in ended:
        result = json.loads(item["result"])
        spans[item["taskKey"]].append((result["begun"], result["ended"]))
    for key, of_key in spans.items():
        for (_, first_ended), (next_begun, _) in pairwise(sorted(of_key)):
            assert first_ended < next_begun, f"two tasks of {key} ran at a time"


def lost_leases(history: list[Write]) -> int:
    """What is handed back keeps its claim's id."""
    back = (Status.TAKEN, Status.PENDING)
    return sum(write.step == back and "claimId" not in write.after for write in history)


def trouble(
    queue: Queue,
    workers: Workers,
    nth: Callable[[int], NewTask],
    *,
    begun: str = "task",
    workers_needed: int = WORKERS,
    backlog: int = BACKLOG,
) -> list[str]:
    """Kill one worker, stall others beyond their lease, and sweep. All the while there are tasks
    for all workers, however fast the machine is; at the end all are done. The ids of the tasks."""
    sweeper = Sweeper(queue.store, Registry(), max_attempts=SETTINGS.max_attempts)
    until = time.monotonic() + PATIENCE
    put: list[str] = []

    def fill(waiting: int) -> None:
        added = [nth(n) for n in range(len(put), len(put) + backlog - waiting)]
        put.extend(outcome.task.task_id for outcome in queue.put_many(added) if outcome.task)

    fill(0)
    for _ in range(WORKERS):
        workers.start()
    while len({line["worker"] for line in workers.told(begun)}) < workers_needed:
        assert time.monotonic() < until, "the workers do not work"
        time.sleep(0.1)
    workers.kill_one()
    workers.start()
    stalls = lost = 0
    # What a worker holds may have ended just before it was stalled.
    while stalls < STALLS or lost < STALLS:
        assert time.monotonic() < until, f"only {lost} leases were lost in {stalls} stalls"
        fill(unfinished(sweeper.run()))
        worker = workers.next_to_begin(begun, within=LEASE)
        if worker is None:  # on a machine that is slow enough they have done all before one looked
            continue
        with workers.stalled(worker):
            lost += sweep_until(time.monotonic() + LEASE + 0.5, sweeper)
        stalls += 1
    while left := unfinished(sweeper.run()):
        assert time.monotonic() < until, f"not at rest: {left} of {len(put)} tasks are left"
        time.sleep(0.2)
    return put


def sweep_until(moment: float, sweeper: Sweeper) -> int:
    """Sweep again and again; the last sweep begins after that moment, however long one takes. How
    many leases had expired."""
    began, lost = 0.0, 0
    while began < moment:
        began = time.monotonic()
        lost += sweeper.run().leases_expired
        time.sleep(0.2)
    return lost


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
