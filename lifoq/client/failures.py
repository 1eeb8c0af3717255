"""Failures of one kind as one group: what an operator looks at first."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lifoq.client.cells import Cells
from lifoq.client.failure_kind import Kind
from lifoq.client.listing import Wanted
from lifoq.client.queue import Queue
from lifoq.items.task import Task

PAGE: Final = 1_000
"""Failures of one query."""
MOST: Final = 10_000
"""Failures that are looked at: they are read, since no index has their errors."""


@dataclass(kw_only=True)
class Group:
    """Failed tasks of one kind."""

    kind: Kind
    example: Task
    """The latest that failed."""
    times: list[int]
    """When each failed, in epoch microseconds."""

    @property
    def first(self) -> int:
        return min(self.times)

    @property
    def last(self) -> int:
        return max(self.times)


def grouped(tasks: Iterable[Task]) -> list[Group]:
    """The largest first."""
    groups: dict[Kind, Group] = {}
    for task in tasks:
        kind = Kind.of(task)
        group = groups.setdefault(kind, Group(kind=kind, example=task, times=[]))
        group.example = max(group.example, task, key=_failed_at)
        group.times.append(_failed_at(task))
    return sorted(groups.values(), key=lambda group: len(group.times), reverse=True)


def _failed_at(task: Task) -> int:
    return task.finished_at or task.task_updated


@dataclass(frozen=True, kw_only=True)
class Failures:
    """The newest that there are, by groups."""

    groups: list[Group]
    read: int
    """Tasks that were read."""
    more: bool
    """True if there are older ones."""

    @property
    def first(self) -> int:
        """When the first of them failed, in epoch microseconds."""
        return min(group.first for group in self.groups)


def failures(queue: Queue | Cells, wanted: Wanted, *, most: int = MOST) -> Failures:
    """The newest of what is ``wanted``, whose status is FAILURE, by their kinds."""
    found: list[Task] = []
    start = None
    while True:
        page = queue.search(wanted, limit=PAGE, scan=PAGE, start=start)
        found += page.tasks
        start = page.next
        if start is None or len(found) >= most:
            return Failures(groups=grouped(found), read=len(found), more=start is not None)
