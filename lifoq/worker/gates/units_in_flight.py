"""The gate of units: tasks of a type that weigh so much together run at a time, and no more
(``units_in_flight``)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lifoq.basics.host import MICROSECONDS
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.dependencies import ProcessDependencies
from lifoq.worker.gates.gate import Gate, Left
from lifoq.worker.handlers.registry import TaskType


@dataclass(kw_only=True)
class _Call:
    """A call that is inside."""

    weight: int
    hangs: bool = False


class UnitsInFlight(Gate):
    """Keeps count of the units at work.

    The first task that finds no room, though it is the next, is waited for: no other of its type
    enters before it. Without that, newer light tasks would take each bit of room that gets free,
    and a heavy one would never start.
    """

    def __init__(self, kind: TaskType, clock: Callable[[], int]) -> None:
        """``clock``: the queue's time, in epoch microseconds."""
        self._kind = kind
        self._most = kind.units_in_flight or 1
        self._clock = clock
        self._awaited: Candidate | None = None
        self.inside = 0
        """The units at work."""
        self.hung = 0
        """Units of calls that have outlived their attempt's timeout."""

    def wait(self, row: Candidate, now: int) -> float:
        awaited = self.awaited
        if awaited is not None and awaited.task_id != row.task_id:
            return self._until_shed(awaited)
        return 0.0 if self._has_room(row) else math.inf

    def poll_wait(self, now: int) -> float:
        awaited = self.awaited
        if awaited is not None and not self._has_room(awaited):
            return self._until_shed(awaited)
        return math.inf if self.inside >= self._most else 0.0

    def why(self, row: Candidate, now: int) -> str:
        kind, awaited = self._kind, self.awaited
        if awaited is not None and awaited.task_id != row.task_id:
            weight = f"{kind.weight_of(awaited):,} {kind.weight}"
            return f"a task of type {kind.name} that weighs {weight} comes first, and has no room"
        units = f"{self.inside:,} of {self._most:,} {kind.weight} at work"
        return f"task type {kind.name} is at its limit: {units}"

    def may_join(self, row: Candidate, now: int) -> bool:
        return self.wait(row, now) == 0

    def holds(self, row: Candidate) -> None:
        if self.awaited is None and not self._has_room(row):
            self._awaited = row

    @property
    def awaited(self) -> Candidate | None:
        if self._awaited is not None and self._awaited.expires_at <= self._clock():
            self._awaited = None
        return self._awaited

    def awaits_no_more(self) -> None:
        self._awaited = None

    def enter(self, row: Candidate, now: int) -> _Call:
        self._awaited = None
        call = _Call(weight=self._kind.weight_of(row))
        self.inside += call.weight
        return call

    def undo(self, token: Any, *, after: float, error: Exception | None = None) -> None:
        self.inside -= token.weight

    def weighed(self, token: Any, weight: int, now: int) -> Any:
        more = weight - token.weight
        token.weight = weight
        self.inside += more
        self.hung += more if token.hangs else 0
        return token

    def hangs(self, token: Any) -> None:
        token.hangs = True
        self.hung += token.weight

    def leave(self, token: Any, left: Left) -> None:
        self.inside -= token.weight
        self.hung -= token.weight if token.hangs else 0

    @property
    def is_stuck(self) -> bool:
        return self.hung >= self._most

    def _has_room(self, row: Candidate) -> bool:
        return self.inside + self._kind.weight_of(row) <= self._most

    def _until_shed(self, row: Candidate) -> float:
        """Return the seconds until the task is shed: then it is waited for no more."""
        return (row.expires_at - self._clock()) / MICROSECONDS


def make(setup: ProcessDependencies, kind: TaskType) -> UnitsInFlight:
    """Make the gate of a task type."""
    return UnitsInFlight(kind, setup.store.now)
