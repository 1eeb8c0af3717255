"""A schedule that a client of a queue has made, and what keeps such schedules."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from lifoq.items.task import NewTask
from lifoq.schedules.when import When


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A schedule of a queue: it puts a task whenever it fires.

    Examples:
        >>> from lifoq import cron
        >>> schedule = queue.schedules.put("tenant-42", cron("0 8 * * ? *"), "report.send")
        >>> schedule.name, str(schedule.when), schedule.task.task_type
        ('tenant-42', 'cron(0 8 * * ? *) UTC', 'report.send')
    """

    name: str
    """The name: a queue has one schedule of a name at most."""
    when: When
    """The times at which it fires."""
    task: NewTask
    """The task that it puts, with its terms. In its id, ``<aws.scheduler.scheduled-time>`` stands
    for the time."""
    enabled: bool = True
    """False if somebody has disabled it, past this library: then it does not fire."""
    changed_at: int | None = None
    """When it was put or changed, in epoch microseconds; None in what was not read back."""


class Group(Protocol):
    """Keeps the schedules of a queue, by their names."""

    def put(self, schedule: Schedule) -> None:
        """Make the schedule, or let it take the place of the one that has its name. One that is the
        same already stays untouched: its rate goes on."""
        ...

    def get(self, name: str) -> Schedule | None:
        """Return a schedule; None if there is none of this name."""
        ...

    def delete(self, name: str) -> bool:
        """Delete a schedule; False if there was none."""
        ...

    def names(self, prefix: str) -> Iterator[str]:
        """Yield the names that begin with ``prefix``."""
        ...
