"""The gate of a busy downstream: as many tasks of a type at a time as it takes, as its refusals
(``Busy``) tell. Any number, until it refuses one."""

import math
from typing import Any, Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate, HowItLeft
from lifoq.worker.gates.gate_inputs import ProcessSetup
from lifoq.worker.handlers.registry import TaskType

PROBE_AFTER: Final = 100
"""Tasks that end without a refusal before one more at a time is tried: a task that is refused costs
a retry."""
CLOSED_PAUSE: Final = 1.0
"""Seconds between two tries where the downstream takes nothing at all."""


class BusyDownstream(Gate):
    """Lets in no more, after a refusal, than the downstream was working on. Once enough others have
    ended without one, one more is tried."""

    def __init__(self, host: Host, task_type: str) -> None:
        self._host = host
        self._task_type = task_type
        self.inside = 0
        self._size = math.inf
        self._passed = 0
        self._closed_until: int | None = None

    def wait(self, row: Candidate, now: int) -> float:
        return self.wait_of_any(now)

    def wait_of_any(self, now: int) -> float:
        if self.inside >= self._size:
            return math.inf
        if self._closed_until is None:
            return 0.0
        return max(0.0, (self._closed_until - now) / MICROSECONDS)

    def why(self, row: Candidate, now: int) -> str:
        if self.inside >= self._size:
            return (
                f"the downstream of task type {self._task_type} has refused more than "
                f"{self._size:g} at a time, and {self.inside} are at work"
            )
        return (
            f"the downstream of task type {self._task_type} refuses all, and is tried each second"
        )

    def enter(self, row: Candidate, now: int) -> None:
        self.inside += 1

    def undo(self, receipt: Any, *, after: float, error: Exception | None = None) -> None:
        self.inside -= 1

    def leave(self, receipt: Any, left: HowItLeft) -> None:
        self.inside -= 1
        if left.refused:
            self._size, self._passed = max(1, self.inside), 0
            if self.inside == 0:
                self._closed_until = self._host.monotonic() + microseconds(CLOSED_PAUSE)
            return
        self._passed += 1
        if self._passed >= PROBE_AFTER:
            self._size, self._passed = self._size + 1, 0


def make(setup: ProcessSetup, kind: TaskType) -> BusyDownstream:
    """Make the gate of a task type."""
    return BusyDownstream(setup.host, kind.name)
