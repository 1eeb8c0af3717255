"""Read a bounded part of the table: statuses that no index shows, and what indexes show by type.

DynamoDB keeps items by a hash of their ids. So a part of the table is a sample by chance, in which
every type of task is found as often as in the whole.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lifoq.basics.host import MICROSECONDS
from lifoq.client.cells import Cells
from lifoq.client.queue import Queue
from lifoq.errors import DamagedTask
from lifoq.items.change import AtMost, GreaterThan, Item
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.items.task import Task
from lifoq.store.table_protocol import LARGEST_PAGE, Count, Page, Span

MOST: Final = 2_000
"""Items that are read of a table."""
_ANSWERS: Final = 4
"""Answers of DynamoDB at the most, of 1 MB each: some 500 read units in all."""
_SLOW: Final = 0.95


@dataclass(frozen=True, kw_only=True)
class Sample:
    tasks: list[Task]
    more: bool
    """True if the table holds more than was read."""

    def ended(self, status: Status, *, task_type: str = "", key: str = "") -> list[Task]:
        """The newest end first. ``task_type`` and ``key`` narrow it, capital letters or not."""
        found = [
            task
            for task in self.tasks
            if task.status is status
            and task_type.casefold() in ("", task.task_type.casefold())
            and key.casefold() in ("", (task.key or "").casefold())
        ]
        return sorted(found, key=lambda task: task.finished_at or 0, reverse=True)


@dataclass(frozen=True, kw_only=True)
class OfType:
    """The state of one task type."""

    name: str
    counts: dict[str, Count]
    """The counts of ``waiting``, ``shed`` (past its deadline), ``taken`` and ``failed``."""
    served: int
    """Tasks of this type in the sample that succeeded."""
    wait: float | None
    """Seconds within which 95 of 100 tasks of the sample were begun; None without any."""
    run: float | None
    """Seconds within which 95 of 100 attempts of the sample were over; None without any."""


def sample(queue: Queue | Cells) -> Sample:
    found, more = [], False
    for cell in _cells(queue):
        start, read = None, 0
        for _ in range(_ANSWERS):
            page = cell.store.table.scan(limit=MOST - read, start=start)
            found += [task for item in page.rows for task in _task(item)]
            start, read = page.next, read + len(page.rows)
            if start is None or read >= MOST:
                break
        more = more or start is not None
    return Sample(tasks=found, more=more)


def by_type(queue: Queue | Cells, seen: Sample) -> list[OfType]:
    """Each count is of a page of the index."""
    numbers: Counter[tuple[str, str]] = Counter()
    capped = set()
    for cell in _cells(queue):
        for what, page in _pages(cell):
            numbers.update((what, str(row.get(Attribute.TASK_TYPE))) for row in page.rows)
            capped |= {what} if page.next is not None else set()
    names = {name for _, name in numbers} | {task.task_type for task in seen.tasks}
    return [
        _of_type(
            name,
            {
                what: Count(value=numbers[what, name], capped=what in capped)
                for what in ("waiting", "shed", "taken", "failed")
            },
            [task for task in seen.tasks if task.task_type == name],
        )
        for name in sorted(names)
    ]


def _of_type(name: str, counts: dict[str, Count], tasks: list[Task]) -> OfType:
    begun = [(task.first_taken_at, task.enqueued_at) for task in tasks]
    tried = [task for task in tasks if task.status in (Status.SUCCESS, Status.FAILURE)]
    ended = [(task.finished_at, task.taken_at) for task in tried]
    return OfType(
        name=name,
        counts=counts,
        served=sum(task.status is Status.SUCCESS for task in tasks),
        wait=_slow([end - start for end, start in begun if end is not None]),
        run=_slow([end - start for end, start in ended if end and start]),
    )


def _slow(times: list[int]) -> float | None:
    """The time that the share ``_SLOW`` of them did not exceed: given in microseconds, told in
    seconds."""
    if not times:
        return None
    return max(0, sorted(times)[math.ceil(_SLOW * len(times)) - 1]) / MICROSECONDS


def _pages(queue: Queue) -> Iterator[tuple[str, Page]]:
    now = queue.store.now()
    alive = (GreaterThan(Attribute.EXPIRES_AT, now),)
    expired = (AtMost(Attribute.EXPIRES_AT, now),)
    for what, status, where, newest_first in (
        ("waiting", Status.PENDING, alive, True),
        ("shed", Status.PENDING, expired, False),
        ("taken", Status.TAKEN, (), True),
        ("failed", Status.FAILURE, (), True),
    ):
        span = Span(index=STATUS_CREATED_INDEX, status=status, where=where)
        page = queue.store.table.query(span, newest_first=newest_first, limit=LARGEST_PAGE)
        yield what, page


def _task(item: Item) -> Iterator[Task]:
    """None of what is in the table beside tasks."""
    if Attribute.TASK_STATUS in item:
        try:
            yield Task.from_item(item)
        except DamagedTask:
            return  # lists of the index name such items


def _cells(queue: Queue | Cells) -> list[Queue]:
    return list(queue.queues.values()) if isinstance(queue, Cells) else [queue]
