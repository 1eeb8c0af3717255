"""Many processes race for the same tasks on a real engine, and some of them stall or die."""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lifoq.aws.dynamo_table import DynamoTable
from lifoq.basics.clock import CLOCKS_APART
from lifoq.client.queue import Queue
from lifoq.items.quota_table import QUOTA_LASTS
from lifoq.items.replacing import made_at
from lifoq.items.schema import Status
from lifoq.items.task import NewTask
from lifoq.store.store import Store
from lifoq.worker.handlers.registry import Registry
from lifoq.worker.sweep.sweep import Sweeper, SweepReport
from tests.faults.history import Write, audit
from tests.faults.streams import History
from tests.races.worker import LEASE, SETTINGS, TOGETHER, TOGETHER_RATE, UNITS

pytestmark = pytest.mark.prove

ROOT = Path(__file__).parent.parent.parent
WORKERS = 5
STALLS = 2
"""The stalls of workers that have just begun a task, and the leases lost by them, for each type."""
BACKLOG = 200
"""Tasks; more than all workers do within a stall."""
KEYS = 6
DEVICES = ("d-0", "d-1", "d-2")
"""Ids of which the newest put counts."""
HOLDS = "claimId"
PATIENCE = 1_500
"""Seconds; far beyond what an idle machine needs."""
NS = 1_000_000_000
COMES_BACK = QUOTA_LASTS + LEASE + CLOCKS_APART
"""Seconds, from when a lost worker last wrote its part, until its slots are another's."""
HELD_UP = 2 * SETTINGS.in_flight
"""Starts that a worker had decided on when it was stalled."""


class Workers:
    """Worker processes, one of which can be stalled or killed, and a sweep beside them."""

    def __init__(self, endpoint: str, table: DynamoTable, folder: Path) -> None:
        self.queue = Queue(Store(table))
        registry, most = Registry(), SETTINGS.max_attempts
        self._sweeper = Sweeper(self.queue.store, registry, max_attempts=most)
        self._command = [sys.executable, "-m", "tests.races.worker", endpoint, table.name, folder]
        self._folder = folder
        self._told: list[dict[str, Any]] = []
        self._read = Counter[Path]()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._until = time.monotonic() + PATIENCE

    def start(self, number: int, *, working: int = 0) -> None:
        """And wait until so many are ``working``."""
        self._processes += [subprocess.Popen(self._command, cwd=ROOT) for _ in range(number)]
        while len({line["worker"] for line in self.told("begun")}) < working:
            self.in_time("the workers do not work")
            time.sleep(0.1)

    def in_time(self, else_: str) -> None:
        assert time.monotonic() < self._until, else_

    def next_to_begin(self, task_type: str) -> subprocess.Popen[bytes] | None:
        """The first that begins such a task from now on, and of several the one not stalled for
        longest. None: nobody has, for as long as a lease."""
        before, until = self._has_begun(task_type), time.monotonic() + LEASE
        while not (now := self._has_begun(task_type) - before):
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

    def _has_begun(self, task_type: str) -> Counter[int]:
        """Tasks by the process that began them."""
        begun = [line for line in self.told("begun") if line["type"] == task_type]
        return Counter(line["worker"] for line in begun)

    def kill_one(self) -> int:
        killed = self._processes.pop(0)
        killed.kill()
        killed.wait()
        return killed.pid

    def sweep(self) -> SweepReport:
        return self._sweeper.run()

    def sweep_for(self, seconds: float) -> None:
        """Sweep again and again; the last sweep begins after that time, however long one takes."""
        until, began = time.monotonic() + seconds, 0.0
        while began < until:
            began = time.monotonic()
            self.sweep()
            time.sleep(0.2)

    def finish(self) -> None:
        """Have all tasks done, and let each worker come to its end."""
        while left := unfinished(self.sweep()):
            self.in_time(f"not at rest: {left} tasks are left")
            time.sleep(0.2)
        (self._folder / "stop").touch()
        assert {process.wait(timeout=PATIENCE) for process in self._processes} == {0}

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def told(self, key: str) -> list[dict[str, Any]]:
        """The lines of all logs that have the key."""
        for log in self._folder.glob("*.jsonl"):
            with log.open("rb") as file:
                file.seek(self._read[log])
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]  # a killed worker may leave half a line
            self._read[log] += len(whole)
            self._told += map(json.loads, whole.splitlines())
        return [line for line in self._told if key in line]


@pytest.fixture
def table(
    dynamodb_local_endpoint: str, new_streamed_table: Callable[[str], DynamoTable]
) -> DynamoTable:
    return new_streamed_table(dynamodb_local_endpoint)


@pytest.fixture
def workers(dynamodb_local_endpoint: str, table: DynamoTable, tmp_path: Path) -> Iterator[Workers]:
    workers = Workers(dynamodb_local_endpoint, table, tmp_path)
    yield workers
    workers.end()


def test_each_claim_and_key_has_one_holder_and_newest_puts_count_while_processes_stall_and_die(
    table, workers, dynamodb_local_endpoint
):
    over, table_history = threading.Event(), History(dynamodb_local_endpoint, table.name)
    with ThreadPoolExecutor() as pool:
        producers = [pool.submit(report, workers.queue, n, over) for n in range(3)]
        put = trouble(workers, table_history)
        over.set()
        confirmed = [producer.result() for producer in producers]
    workers.finish()

    everything = table_history.writes()
    of_devices = [write for write in everything if write.after["taskId"] in DEVICES]
    audit(of_devices)
    assert_newest(of_devices, {n: max(told[n] for told in confirmed) for n in DEVICES})
    of_others = [write for write in everything if write.after["taskId"] not in DEVICES]
    history = [write for write in of_others if "taskStatus" in write.after]
    steps = audit(history)
    assert steps[None, Status.PENDING] == len(put) == steps[Status.TAKEN, Status.SUCCESS]
    ended = [write.after for write in history if write.after["taskStatus"] == Status.SUCCESS]
    assert {item["taskId"] for item in ended} == set(put)
    assert_as_told(ended, [line for line in workers.told("begun") if line["task"] in set(put)])
    assert lost_leases(history).keys() == {"race", "one-per-key"}, "nothing was proved"
    fenced = sum(line["leases_lost"] for line in workers.told("leases_lost"))
    assert fenced > 0, "no stale holder came back: nothing was proved"

    assert_one_holder([write for write in history if "taskKey" in write.after])
    assert_apart([item for item in ended if "taskKey" in item])
    stale = [w for w in of_others if "taskStatus" not in w.after and w.before and HOLDS in w.before]
    taken_over = [w for w in stale if w.after.get(HOLDS) not in (None, w.before[HOLDS])]
    assert taken_over, "no slot of a lost worker was taken over: nothing was proved"


def report(queue: Queue, number: int, over: threading.Event) -> Counter[str]:
    """Devices report, again and again; by id, when the newest put was made that was confirmed."""
    draw, confirmed = random.Random(number), Counter[str]()
    while not over.is_set():
        task_id = draw.choice(DEVICES)
        task = queue.put("race", task_id=task_id, if_exists="replace")
        confirmed[task_id] = max(confirmed[task_id], made_at(task.parked or task))
        time.sleep(draw.uniform(0, 0.1))
    return confirmed


def trouble(workers: Workers, table_history: History) -> list[str]:
    """Kill one worker, stall others beyond their lease, and sweep. All the while there are tasks
    for all workers, however fast the machine is. Return the ids of the tasks."""
    put: list[str] = []

    def fill(waiting: int) -> None:
        """Every second task has a key, of which one may run at a time."""
        added = [
            NewTask(task_type="one-per-key", key=f"k{n % KEYS}")
            if n % 2
            else NewTask(task_type="race")
            for n in range(BACKLOG - waiting)
        ]
        put.extend(
            outcome.task.task_id for outcome in workers.queue.put_many(added) if outcome.task
        )

    fill(0)
    workers.start(WORKERS, working=WORKERS)
    workers.kill_one()
    workers.start(1)
    for task_type in ("race", "one-per-key"):
        stalls = lost = 0
        # What a worker holds may have ended just before it was stalled, or be a device's.
        while stalls < STALLS or lost < STALLS:
            workers.in_time(f"only {lost} leases were lost in {stalls} stalls")
            fill(unfinished(workers.sweep()))
            worker = workers.next_to_begin(task_type)
            if worker is None:  # on a machine that is slow enough all is done before one looks
                continue
            with workers.stalled(worker):
                workers.sweep_for(LEASE + 0.5)
            stalls += 1
            ours = set(put)
            of_ours = [write for write in table_history.writes() if write.after["taskId"] in ours]
            lost = lost_leases(of_ours)[task_type]
    return put


def unfinished(swept: SweepReport) -> int:
    assert swept.stats is not None
    return swept.stats.pending.value + swept.stats.delayed.value + swept.stats.taken.value


def lost_leases(history: list[Write]) -> Counter[str]:
    """Return the number of leases that tasks lost, by type. A task that is handed back keeps its
    claim's id."""
    back = (Status.TAKEN, Status.PENDING)
    lost = [write.after for write in history if write.step == back and HOLDS not in write.after]
    return Counter(item["taskType"] for item in lost)


def assert_newest(history: list[Write], confirmed: dict[str, int]) -> None:
    """No put was claimed that a newer one had replaced, and the newest was the last to run."""
    newest, parked = Counter[str](), False
    for write in history:
        task_id, made = write.after["taskId"], write.after["putAt"]
        parked = parked or "parkedAt" in write.after
        newest[task_id] = max(newest[task_id], made, write.after.get("parkedAt", 0))
        if write.step == (Status.PENDING, Status.TAKEN):
            assert made == newest[task_id], f"was replaced before: {write}"
    last = {write.after["taskId"]: write.after["putAt"] for write in history}
    assert last == newest == confirmed
    assert parked, "no put came while its task ran: nothing was proved"


def assert_as_told(ended: list[Any], begun: list[dict[str, Any]]) -> None:
    """No attempt was begun by two workers; each success is of the worker that began its attempt."""
    holders = {(line["task"], line["attempt"]): line["worker"] for line in begun}
    assert len(holders) == len(begun), "two workers held the same claim"
    for item in ended:
        result = json.loads(item["result"])
        assert result["worker"] == holders[item["taskId"], item["attempts"]], item


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


# Limits over all workers together


Span = tuple[int, int]
"""When an attempt began and ended, in nanoseconds."""


def test_no_more_run_than_may_nor_more_units_and_what_a_lost_worker_had_is_used_again(workers):
    weights = {f"{n} of {weight}": weight for n in range(25) for weight in (1, 2, 3, UNITS)}
    weighed = [
        NewTask(task_type="weighed", task_id=task_id, weight=weight)
        for task_id, weight in weights.items()
    ]
    # Many short ones, which the rate holds back, and long ones: of them even a slow machine has
    # several at a time.
    together = [
        NewTask(task_type="together", payload=1 if n % 100 < 10 else None) for n in range(300)
    ]
    workers.queue.put_many([*together, *weighed])
    workers.start(4, working=2)
    killed_at, killed = time.monotonic_ns(), workers.kill_one()
    workers.start(1)
    for task_type, stall in (("weighed", LEASE + 0.5), ("together", COMES_BACK + 1)):
        while (worker := workers.next_to_begin(task_type)) is None:
            workers.in_time("nobody could be stalled")
        with workers.stalled(worker):
            workers.sweep_for(stall)
    workers.finish()

    begun = {(line["task"], line["attempt"]): line for line in workers.told("begun")}
    ended = {(line["task"], line["attempt"]): line["ended"] for line in workers.told("ended")}
    later = killed_at + int((COMES_BACK + 2) * NS)
    for task_type, limit in (("together", TOGETHER), ("weighed", UNITS)):
        of_type = {tried: line for tried, line in begun.items() if line["type"] == task_type}
        most = most_at_a_time(
            [
                (
                    (line["begun"], end_of(line, ended.get(tried), {killed: killed_at})),
                    weights.get(line["task"], 1),
                )
                for tried, line in of_type.items()
            ]
        )
        assert max(most.values()) == limit
        assert max(n for at, n in most.items() if at > later) == limit, "slots did not come back"
        assert len({line["worker"] for line in of_type.values()}) >= 3
    assert_rate(sorted(line["begun"] for line in begun.values() if line["type"] == "together"))


def end_of(line: dict[str, Any], ended: int | None, killed: dict[int, int]) -> int:
    """A process that stands still has lost its slot, at the earliest, COMES_BACK after it wrote its
    part; that may have been QUOTA_LASTS before this task began."""
    lost = line["begun"] + int((COMES_BACK - QUOTA_LASTS) * NS)
    return min(lost, ended or killed.get(line["worker"], lost))


def most_at_a_time(weighed: list[tuple[Span, int]]) -> dict[int, int]:
    """Return the weight of all spans that hold, from each moment on."""
    ends = [(end, -weight) for (_, end), weight in weighed]
    steps = sorted(ends + [(begin, weight) for (begin, _), weight in weighed])
    inside, found = 0, {}
    for at, step in steps:
        inside += step
        found[at] = inside
    return found


def assert_rate(starts: list[int]) -> None:
    for first, since in enumerate(starts):
        for last in range(first, len(starts)):
            span = (starts[last] - since) / NS
            most = TOGETHER_RATE * (span + 0.1) + TOGETHER_RATE + HELD_UP
            assert last - first + 1 <= most, f"{last - first + 1} began in {span:.2f} s"
