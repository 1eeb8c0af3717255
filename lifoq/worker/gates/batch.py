"""The gate of a batch: tasks of a type with ``batch_wait`` wait for one another, until their batch
is full or the first of them has waited for long enough.

A task waits in the queue until its batch begins. So it is not claimed yet, other workers may take
it, and it takes no slot from tasks of other types.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.basics.times import spoken
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import RunSetup
from lifoq.worker.handlers.registry import TaskType, batch_size


class Batch(Gate):
    """Opens if the next batch may begin, by the rows that were read: it is full, or the first of
    its tasks has waited for long enough, or for half of its life."""

    def __init__(
        self,
        kind: TaskType,
        rows_like: Callable[[Candidate], Iterator[Candidate]],
        clock: Callable[[], int],
    ) -> None:
        """``rows_like``: yields the waiting rows of the same scheduling class. ``clock``: the
        queue's time, in epoch microseconds."""
        self._kind = kind
        self._rows_like = rows_like
        self._clock = clock
        self._first: tuple[str, int] = ("", 0)
        """The task that has waited longest for the next batch: its id, and when the run first saw
        it in this place, in epoch microseconds."""

    def wait(self, row: Candidate, now: int) -> float:
        size = batch_size(self._kind, row)
        waiting = list(islice(self._rows_like(row), size))
        if len(waiting) in (0, size):  # nothing to wait with, or nothing to wait for
            return 0.0
        clock, first = self._clock(), min(waiting, key=lambda row: row.since)
        if self._first[0] != first.task_id:
            self._first = first.task_id, clock
        # A producer's clock may be ahead: what the run has seen itself counts, too.
        due = min(first.since, self._first[1]) + microseconds(self._kind.batch_wait)
        # A task with a short deadline must not be shed while it waits for others.
        half_lives = ((row.since + row.expires_at) // 2 for row in waiting)
        return max(0.0, (min(due, *half_lives) - clock) / MICROSECONDS)

    def why(self, row: Candidate, now: int) -> str:
        longest = spoken(self._kind.batch_wait)
        return f"its batch of {self._kind.batch} is not full yet; it waits {longest} at the most"


def make(setup: RunSetup, kind: TaskType) -> Batch:
    """Make the gate of a task type."""
    return Batch(kind, setup.rows_like, setup.clock)
