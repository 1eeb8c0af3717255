"""The gate of units: tasks of a type that weigh so much together run at a time, and no more
(``units_in_flight``)."""

import math
from collections.abc import Callable
from typing import Any, cast

from lifoq.basics.host import MICROSECONDS
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.counting import CountedCall, CountingGate
from lifoq.worker.gates.gate_inputs import ProcessSetup
from lifoq.worker.handlers.registry import TaskType


class AwaitedTask:
    """The task for which a gate keeps the room that gets free: no other of its type enters before
    it. Without that, newer light tasks would take each bit of room, and a heavy one would never
    start. It is the first that found no room, though it was the next."""

    def __init__(self, kind: TaskType, clock: Callable[[], int]) -> None:
        """``clock``: the queue's time, in epoch microseconds."""
        self._kind = kind
        self._clock = clock
        self._row: Candidate | None = None

    @property
    def row(self) -> Candidate | None:
        """The task; None if there is none, or since it is shed."""
        if self._row is not None and self._row.expires_at <= self._clock():
            self._row = None
        return self._row

    def begins(self, row: Candidate) -> None:
        """Wait for the task, unless another is waited for."""
        if self.row is None:
            self._row = row

    def ends(self) -> None:
        """Wait for none."""
        self._row = None

    def comes_before(self, row: Candidate) -> bool:
        """Return True if another task than this is waited for."""
        awaited = self.row
        return awaited is not None and awaited.task_id != row.task_id

    def seconds_left(self) -> float:
        """Return the seconds until the task is shed, and waited for no more."""
        return 0.0 if self._row is None else (self._row.expires_at - self._clock()) / MICROSECONDS

    def why(self) -> str:
        """Say why another task waits."""
        kind = self._kind
        weight = 0 if self._row is None else kind.weight_of(self._row)
        return (
            f"a task of type {kind.name} that weighs {weight:,} {kind.weight} comes first, and has "
            "no room"
        )


class UnitsInFlight(CountingGate):
    """Keeps count of the units at work, and waits for a heavy task."""

    def __init__(self, kind: TaskType, clock: Callable[[], int]) -> None:
        """``clock``: the queue's time, in epoch microseconds."""
        self._kind = kind
        self._most = cast("int", kind.units_in_flight)
        self._awaits = AwaitedTask(kind, clock)

    def wait(self, row: Candidate, now: int) -> float:
        if self._awaits.comes_before(row):
            return self._awaits.seconds_left()
        return 0.0 if self._has_room(row) else math.inf

    def wait_of_any(self, now: int) -> float:
        awaited = self.awaited
        if awaited is not None and not self._has_room(awaited):
            return self._awaits.seconds_left()
        return math.inf if self.inside >= self._most else 0.0

    def why(self, row: Candidate, now: int) -> str:
        kind = self._kind
        if self._awaits.comes_before(row):
            return self._awaits.why()
        units = f"{self.inside:,} of {self._most:,} {kind.weight} at work"
        return f"task type {kind.name} is at its limit: {units}"

    def may_join(self, row: Candidate, now: int) -> bool:
        return self.wait(row, now) == 0

    def kept_out(self, row: Candidate) -> None:
        if not self._has_room(row):
            self._awaits.begins(row)

    @property
    def awaited(self) -> Candidate | None:
        return self._awaits.row

    def awaits_no_more(self) -> None:
        self._awaits.ends()

    def enter(self, row: Candidate, now: int) -> CountedCall:
        self._awaits.ends()
        call = CountedCall(weight=self._kind.weight_of(row))
        self.count(call)
        return call

    def weighed(self, receipt: Any, weight: int, now: int) -> Any:
        self.reweigh(receipt, weight)
        return receipt

    @property
    def is_stuck(self) -> bool:
        return self.hung >= self._most

    def _has_room(self, row: Candidate) -> bool:
        return self.inside + self._kind.weight_of(row) <= self._most


def make(setup: ProcessSetup, kind: TaskType) -> UnitsInFlight:
    """Make the gate of a task type."""
    return UnitsInFlight(kind, setup.store.now)
