"""Batches: how many tasks one call of a handler takes, and how long they wait for one another.

A task waits in the queue until its batch begins. So it is not claimed yet, other workers may take
it, and it takes no slot from tasks of other types.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.store.candidate import Candidate
from lifoq.worker.backlog.view import SchedulingClass
from lifoq.worker.handlers.registry import TaskType


class Batches:
    """The batches of the task types that have any. Used by the thread of the run only."""

    def __init__(self, kinds: Iterable[TaskType]) -> None:
        self._terms = {kind.name: (kind.batch, kind.batch_wait) for kind in kinds if kind.batch}
        """The size of a batch and the longest wait for one, in seconds, by task type."""
        self._first: dict[SchedulingClass, tuple[str, int]] = {}
        """The task that has waited longest for the next batch, by scheduling class: its id, and
        when the run first saw it in this place, in epoch microseconds."""

    @property
    def largest(self) -> int:
        """The size of the largest batch; 1 if no type has any."""
        return max((size for size, _ in self._terms.values()), default=1)

    def size(self, scheduling_class: SchedulingClass) -> int:
        """Return the number of tasks that one call takes at the most. A task that may kill its
        process, or has failed in a batch, has a call of its own."""
        if scheduling_class.suspected_poison or scheduling_class.alone:
            return 1
        size, _ = self._terms.get(scheduling_class.task_type, (1, 0.0))
        return size

    def wait(
        self, scheduling_class: SchedulingClass, rows: Iterator[Candidate], *, now: int
    ) -> float:
        """Return the seconds until the next batch of a class may begin: 0 if it is full, or if the
        first of its tasks has waited for long enough, or for half of its life. ``rows``: those of
        the class that wait. ``now``: the queue's time, in epoch microseconds."""
        size, wait = self._terms[scheduling_class.task_type]
        waiting = list(islice(rows, size)) if wait else []
        if len(waiting) in (0, size):  # nothing to wait with, or nothing to wait for
            return 0.0
        first = min(waiting, key=lambda row: row.since)
        task_id, seen = self._first.get(scheduling_class, ("", now))
        if task_id != first.task_id:
            self._first[scheduling_class] = first.task_id, (seen := now)
        # A producer's clock may be ahead: what the run has seen itself counts, too.
        due = min(first.since, seen) + microseconds(wait)
        # A task with a short deadline must not be shed while it waits for others.
        half_lives = ((row.since + row.expires_at) // 2 for row in waiting)
        return max(0.0, (min(due, *half_lives) - now) / MICROSECONDS)
