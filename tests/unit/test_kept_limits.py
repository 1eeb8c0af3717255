"""The numbers that a worker finds for its adaptive types: kept for the next process, and shared
with others."""

import heapq
from contextlib import nullcontext
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from benchmarks.world import TYPE, Table, World
from lifoq import Lifetimes, WorkerSettings
from lifoq.basics.host import MICROSECONDS
from lifoq.health import found_limits, pressure
from lifoq.health.found_limits import FoundLimit, TypeLimit
from lifoq.worker.gates.adaptive.capacity_search import CapacitySearch
from lifoq.worker.gates.adaptive.kept_limits import KeptLimits

SERVERS = 12
NOW = 1_800_000_000 * MICROSECONDS


class Counting(Table):
    """Counts the reads and the writes of the workers' item."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def get(self, task_id):
        self.calls += ["read"] * (task_id == pressure.NOTE)
        return super().get(task_id)

    def update(self, task_id, change):
        self.calls += ["write"] * (task_id == pressure.NOTE)
        super().update(task_id, change)


class Downstream:
    """Ends ``SERVERS`` tasks a second; the others wait in the order that they came."""

    def __init__(self, host) -> None:
        self._host = host
        self._free = [0] * SERVERS
        self.most = self._inside = 0

    def serve(self, _payload) -> None:
        self._inside += 1
        self.most = max(self.most, self._inside)
        end = max(self._host.time, heapq.heappop(self._free)) + MICROSECONDS
        heapq.heappush(self._free, end)
        self._host.sleep((end - self._host.time) / MICROSECONDS)
        self._inside -= 1


def worked(table, *, adaptive=True, seconds=60):
    """Let a new process work for some time, and return its downstream."""
    downstream = Downstream(table.host)
    world = World(
        table,
        downstream.serve,
        lifetimes=Lifetimes(deadline=3_600),
        settings=WorkerSettings(in_flight=32, window=20),
        terms={"adaptive_concurrency": adaptive},
    )
    for number in range(seconds * SERVERS):
        world.put(number)
    world.run(world.now + seconds)
    return downstream


def found(table):
    return found_limits.of(table.get(pressure.NOTE))


def test_a_new_process_begins_where_the_last_one_ended_with_no_read_and_no_write_more():
    fixed, table = Counting(), Counting()
    calls = []
    for each, adaptive in ((fixed, False), (table, True)):
        worked(each, adaptive=adaptive)
        each.calls.clear()
        worked(each, adaptive=adaptive)
        calls.append(each.calls.copy())
    assert calls[1] == calls[0]
    (row,) = found(table)
    assert (row.task_type, row.most) == (TYPE, 32)
    assert row.tasks == pytest.approx(SERVERS, rel=0.35)
    table.host.end += 7_200 * MICROSECONDS
    table.host.sleep(3_600)
    assert worked(table, seconds=3).most == pytest.approx(row.tasks, rel=0.3)


def test_who_has_learned_nothing_leaves_the_note_as_it_is():
    searches = {"a": CapacitySearch(32)}
    kept = KeptLimits(searches, worker="w", lock=nullcontext(), on_more=lambda: None)
    assert kept.attributes({"result": "of others"}, now=NOW, ended=True) == {}


def row(worker, tasks, *, seconds_ago=1.0, ended=False, name="a"):
    at = NOW - int(seconds_ago * MICROSECONDS)
    return FoundLimit(worker=worker, task_type=name, tasks=tasks, most=64, at=at, ended=ended)


@pytest.mark.parametrize(
    ("rows", "begins"),
    [
        ([], {}),
        ([row("1", 12, seconds_ago=3_600)], {"a": 12}),
        ([row("1", 12, ended=True)], {"a": 12}),
        ([row("1", 12)], {"a": 6}),
        ([row("1", 8), row("2", 4), row("3", 50, seconds_ago=600)], {"a": 4}),
        ([row("1", 8, seconds_ago=700), row("2", 4, seconds_ago=600)], {"a": 4}),
        ([row("1", 12, ended=True), row("1", 3, name="b")], {"a": 12, "b": 1.5}),
    ],
)
def test_a_new_worker_has_a_part_beside_those_at_work_and_else_what_the_last_one_had(rows, begins):
    assert found_limits.to_begin_with(rows, now=NOW) == begins


@pytest.mark.parametrize(("before", "told"), [([row("1", 12, ended=True)], 1), ([], 0)])
def test_a_run_that_waits_is_told_where_what_was_found_lets_more_tasks_start(before, told):
    note = {"result": found_limits.encoded(before, before=[], now=NOW)} if before else None
    store = SimpleNamespace(table=SimpleNamespace(get=lambda _: note), now=lambda: NOW)
    search, on_more = CapacitySearch(32), Mock()
    kept = KeptLimits({"a": search}, worker="w", lock=nullcontext(), on_more=on_more)
    kept.recall(store)
    assert (on_more.call_count, kept.recalled, search.found > 10) == (told, True, told == 1)


def test_a_note_keeps_the_rows_of_workers_at_work_and_the_last_of_each_type():
    before = [
        row("1", 5),
        row("2", 7),
        row("3", 9, seconds_ago=600),
        row("4", 1, seconds_ago=900, name="b"),
        row("5", 2, seconds_ago=800, name="b"),
    ]
    text = found_limits.encoded([row("1", 6, seconds_ago=2)], before=before, now=NOW)
    kept = found_limits.of({"result": text})
    assert [(one.worker, one.tasks) for one in kept] == [("2", 7), ("1", 6), ("5", 2)]
    older = NOW - 800 * MICROSECONDS
    latest = NOW - MICROSECONDS
    of_a = TypeLimit(task_type="a", tasks=13, most=128, workers=2, at=latest)
    assert of_a.told == "13 found, of 128 at most"
    of_b = TypeLimit(task_type="b", tasks=2, most=64, workers=1, at=older)
    assert found_limits.by_type(kept, now=NOW) == (of_a, of_b)
    of_another_cell = TypeLimit(task_type="a", tasks=4, most=64, workers=1, at=older)
    of_both = TypeLimit(task_type="a", tasks=17, most=192, workers=3, at=latest)
    assert found_limits.together([of_another_cell], [of_b, of_a]) == (of_both, of_b)


def test_a_worker_that_has_noted_nothing_for_a_minute_and_a_half_is_counted_no_more() -> None:
    rows = [row("1", 6.4, seconds_ago=89), row("2", 7, seconds_ago=90)]
    (found,) = found_limits.by_type(rows, now=NOW)
    assert (found.workers, found.told) == (1, "6 found, of 64 at most")
