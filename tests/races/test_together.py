"""Limits over all workers together, kept by processes that stall and die, on a real engine."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lifoq.client.queue import Queue
from lifoq.items.book import CLOCKS_APART, SHARE_LASTS
from lifoq.items.task import NewTask
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.store import Store
from lifoq.worker.registry import Registry
from lifoq.worker.sweep import Sweeper
from tests.races.test_races import PATIENCE, Workers, sweep_until, unfinished
from tests.races.worker import LEASE, SETTINGS, TOGETHER, TOGETHER_RATE

pytestmark = pytest.mark.prove

WORKERS = 4
TASKS = 500
NS = 1_000_000_000
COMES_BACK = SHARE_LASTS + LEASE + CLOCKS_APART
"""Seconds, from when a lost worker last wrote its part, until its slots are another's."""
HELD_UP = 2 * SETTINGS.in_flight
"""Starts that a worker had decided on when it was stalled."""


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


def test_no_more_run_than_may_and_what_a_lost_worker_had_is_used_again(table, workers):
    queue = Queue(Store(table))
    queue.put_many([NewTask(task_type="together") for _ in range(TASKS)])
    sweeper = Sweeper(queue.store, Registry(), max_attempts=SETTINGS.max_attempts)
    until = time.monotonic() + PATIENCE
    for _ in range(WORKERS):
        workers.start()
    while len({line["worker"] for line in workers.told("begun")}) < 2:
        assert time.monotonic() < until, "the workers do not work"
        time.sleep(0.1)

    killed_at, killed = time.monotonic_ns(), workers.kill_one()
    workers.start()
    for stall in (LEASE + 0.5, COMES_BACK + 1):
        worker = workers.next_to_begin("begun", within=PATIENCE)
        assert worker is not None, "all were done before one could be stalled"
        with workers.stalled(worker):
            sweep_until(time.monotonic() + stall, sweeper)
    while unfinished(sweeper.run()):
        assert time.monotonic() < until, "not at rest"
        time.sleep(0.2)
    assert workers.finish() == [0] * WORKERS

    begun = {(line["of"], line["attempt"]): line for line in workers.told("begun")}
    ended = {(line["of"], line["attempt"]): line["ended"] for line in workers.told("ended")}
    spans = [
        (line["begun"], end_of(line, ended.get(attempt), {killed: killed_at}))
        for attempt, line in begun.items()
    ]
    most = most_at_a_time(spans)
    assert max(most.values()) == TOGETHER
    later = killed_at + int((COMES_BACK + 2) * NS)
    assert max(n for at, n in most.items() if at > later) == TOGETHER, "its slots did not come back"
    assert len({line["worker"] for line in begun.values()}) >= 3
    assert_rate(sorted(line["begun"] for line in begun.values()))


def end_of(line: dict[str, Any], ended: int | None, killed: dict[int, int]) -> int:
    """A process that stands still has lost its slot, at the earliest, COMES_BACK after it wrote its
    part; that may have been SHARE_LASTS before this task began."""
    lost = line["begun"] + int((COMES_BACK - SHARE_LASTS) * NS)
    return min(lost, ended or killed.get(line["worker"], lost))


def most_at_a_time(spans: list[tuple[int, int]]) -> dict[int, int]:
    """How many were there, from each moment on."""
    steps = sorted([(end, -1) for _, end in spans] + [(begin, 1) for begin, _ in spans])
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
