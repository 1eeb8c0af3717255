"""Outcomes that could not be written are counted, whatever kept them from it; none is lost."""

import threading
from typing import Any

import pytest

from lifoq import Processor, Queue, Registry, RunReport, Status, StoreUnavailable, WorkerSettings
from lifoq.errors import ItemTooLarge
from lifoq.items.schema import Attribute
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store

SETTINGS = WorkerSettings(
    window=0.3, task_timeout=0.2, linger=0.05, settle_time=0.2, lease=5, heartbeat=1
)


class RefusesToEnd(MemoryTable):
    """Takes every write but the one that would end an attempt."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def update(self, task_id: str, change: Any) -> None:
        if change.set.get(Attribute.TASK_STATUS) in (Status.SUCCESS, Status.FAILURE):
            raise self._error
        super().update(task_id, change)


def outcome_of(error: Exception) -> tuple[RunReport, list[Status]]:
    queue, registry = Queue(Store(RefusesToEnd(error))), Registry()
    registry.task("a")(lambda _payload, _context: "done")
    ids = [queue.put("a").task_id for _ in range(3)]
    report = Processor(queue.store, registry, SETTINGS).run()
    return report, [task.status for i in ids if (task := queue.get(i))]


@pytest.mark.parametrize("error", [StoreUnavailable("for long"), ItemTooLarge("even the error is")])
def test_an_outcome_that_finds_no_way_into_the_table_is_counted(error: Exception):
    report, statuses = outcome_of(error)
    assert (report.claimed, report.unsettled) == (3, 3)
    assert (report.succeeded, report.failed, report.leases_lost) == (0, 0, 0)
    assert statuses == [Status.TAKEN] * 3  # their leases run out, and they run again


class Hangs(MemoryTable):
    """Answers no write that would end an attempt, until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def update(self, task_id: str, change: Any) -> None:
        if change.set.get(Attribute.TASK_STATUS) == Status.SUCCESS:
            self.released.wait(30)
        super().update(task_id, change)


def test_an_outcome_that_is_still_on_its_way_when_the_run_must_end_is_counted():
    table, registry = Hangs(), Registry()
    queue = Queue(Store(table))
    registry.task("a")(lambda _payload, _context: "done")
    queue.put("a")
    queue.put("a")
    report = Processor(queue.store, registry, SETTINGS).run()
    table.released.set()
    assert (report.claimed, report.succeeded, report.unsettled) == (2, 0, 2)
