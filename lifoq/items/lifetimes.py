"""The times for which the queue keeps things: a waiting task, a claim, an outcome."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.basics.numbers import check_seconds
from lifoq.items.schema import LARGE_DELAY, Status
from lifoq.items.schema import Attribute as A

if TYPE_CHECKING:  # settings are read by functions that have nothing to do with tasks
    from lifoq.items.change import Value
    from lifoq.items.task import Task

DAY: Final = 86_400
"""Seconds of one day: objects of the bucket are kept for whole days."""
KEPT_DAYS: Final = (45, 60, 90, 120, 180, 270, 400, 800, 1_600, 3_200, 7_400)
"""The classes, in days, for how long objects of large payloads are kept. Each object lies under the
prefix of its class, whose rule in the bucket never gets shorter. So an object that was put under
longer lifetimes stays when these are shortened, or large payloads are switched off. The last class
is more than the longest lifetimes need."""
LONGEST_LEASE: Final = 86_400.0
"""Seconds that a lease may last: what is held for longer was not written by a worker."""


@dataclass(frozen=True, kw_only=True)
class Lifetimes:
    """The times for which the queue keeps things, in seconds; and the end of tasks that waited for
    too long.

    Examples:
        >>> from lifoq import Lifetimes, Queue
        >>> queue = Queue.in_memory(lifetimes=Lifetimes(deadline=600))
    """

    deadline: float = 3_600
    """The longest time, in seconds, for which a task may wait before it is shed; also the
    default."""
    success_retention: float = 7 * 86_400
    """The time, in seconds, for which a task in SUCCESS or CANCELLED is kept."""
    failure_retention: float = 14 * 86_400
    """The time, in seconds, for which a task in FAILURE is kept."""
    shed_at_deadline: bool = False
    """True if the sweep deletes each task that waited beyond its deadline, so that somebody can be
    told at once. Otherwise DynamoDB's TTL deletes it, within days."""
    task_tokens: bool = False
    """True if the queue answers Step Functions. A task with a token is shed at its deadline."""

    def __post_init__(self) -> None:
        for name in ("deadline", "success_retention", "failure_retention"):
            check_seconds(name, getattr(self, name))

    def retained_until(self, status: Status, now: int) -> int:
        """Return the ``ttl``, in epoch seconds, of a task that ends now.

        Args:
            status: The status in which it ends.
            now: The present time in epoch microseconds.
        """
        kept = self.failure_retention if status is Status.FAILURE else self.success_retention
        return seconds_up(now + microseconds(kept))

    def oldest_alive(self, now: int) -> int:
        """Return the oldest ``taskCreated`` with which a PENDING task can still be claimed, in
        epoch microseconds.

        Args:
            now: The present time in epoch microseconds.
        """
        return now - microseconds(self.deadline)

    @property
    def sweep_sheds(self) -> bool:
        """True if there can be tasks that the sweep has to shed."""
        return self.shed_at_deadline or self.task_tokens

    @property
    def of_objects(self) -> float:
        """The time, in seconds, for which the bucket has to keep the objects of a task: until it is
        deleted itself, or redriven, which lets them begin anew."""
        return LARGE_DELAY + self.deadline + max(self.success_retention, self.failure_retention)

    @property
    def object_prefix(self) -> str:
        """The place of new objects in the bucket: the shortest class that keeps them long
        enough."""
        return object_prefix(next(days for days in KEPT_DAYS if days * DAY >= self.of_objects))

    def shed_at(self, expires_at: int, *, waited_for: bool) -> "dict[A, Value]":
        """The ``dueAt`` of a PENDING task, by which the sweep finds it at its deadline; nothing,
        and no entry in an index, where nobody waits to be told. ``waited_for``: a state of Step
        Functions waits for this task."""
        return {A.DUE_AT: expires_at} if self.shed_at_deadline or waited_for else {}

    def position(self, task: "Task") -> int:
        """The ``taskCreated`` with which a task comes back to PENDING: its old one, so that it
        drops behind newer tasks."""
        return self.since(task) + task.head_start

    def since(self, task: "Task") -> int:
        """Return the time since when a task counts as waiting: since it entered the queue; but
        never so long ago that a redriven one, whose deadline is younger, would lie below
        ``oldest_alive``, where it would not be found."""
        return max(task.enqueued_at, task.expires_at - microseconds(self.deadline))


def object_prefix(days: int) -> str:
    """The prefix of the objects' names that are kept for so many of ``KEPT_DAYS``."""
    return f"{days}-days/"


def seconds_up(moment: int) -> int:
    """Epoch seconds of epoch microseconds, rounded up: TTL deletes nothing before its deadline."""
    return -(-moment // MICROSECONDS)
