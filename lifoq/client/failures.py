"""Failures of one kind as one group: what an operator looks at first."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lifoq.items.task import Task, TaskError

_VARIES: Final = re.compile(
    r"""
    '[^']*' | "[^"]*"                        # what is quoted
    | https?://\S+
    | \b[0-9a-fA-F-]*\d[0-9a-fA-F-]{7,}\b    # ids
    | \d+(?:[.,:]\d+)*
    """,
    re.VERBOSE,
)
LONGEST: Final = 120
"""Characters of a shape."""
UNKNOWN: Final = TaskError(type="Unknown", message="no error was kept")


def shape(message: str) -> str:
    """A message without what differs from task to task: ``no device … answers``."""
    return _VARIES.sub("…", " ".join(message.split()))[:LONGEST]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What failures of one group have in common."""

    task_type: str
    error_type: str
    shape: str

    @classmethod
    def of(cls, task: Task) -> "Kind":
        error = task.error or UNKNOWN
        return cls(task_type=task.task_type, error_type=error.type, shape=shape(error.message))


@dataclass(kw_only=True)
class Group:
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
        kind, at = Kind.of(task), task.finished_at or task.task_updated
        group = groups.setdefault(kind, Group(kind=kind, example=task, times=[]))
        if not group.times or at > group.last:
            group.example = task
        group.times.append(at)
    return sorted(groups.values(), key=lambda group: len(group.times), reverse=True)
