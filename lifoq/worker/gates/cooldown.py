"""The gate of a cooldown: after a task of a type has failed, none starts for some seconds, on this
worker (``cooldown``)."""

from typing import Any, cast

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.basics.times import spoken
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate, HowItLeft
from lifoq.worker.gates.gate_inputs import ProcessSetup
from lifoq.worker.handlers.registry import TaskType


class Cooldown(Gate):
    """Closes when a handler has raised an error, or hangs, and opens by itself."""

    def __init__(self, host: Host, task_type: str, seconds: float) -> None:
        """``seconds``: for which nothing starts after a failure."""
        self._host = host
        self._task_type = task_type
        self._seconds = seconds
        self._opens_at = 0

    def wait(self, row: Candidate, now: int) -> float:
        return self.wait_of_any(now)

    def wait_of_any(self, now: int) -> float:
        return max(0.0, (self._opens_at - now) / MICROSECONDS)

    def why(self, row: Candidate, now: int) -> str:
        pause = spoken(self._seconds)
        return f"a task of type {self._task_type} has just failed: none starts for {pause}"

    def hangs(self, receipt: Any) -> None:
        self._close()

    def leave(self, receipt: Any, left: HowItLeft) -> None:
        if left.failed:
            self._close()

    def _close(self) -> None:
        self._opens_at = self._host.monotonic() + microseconds(self._seconds)


def make(setup: ProcessSetup, kind: TaskType) -> Cooldown:
    """Make the gate of a task type."""
    return Cooldown(setup.host, kind.name, cast("float", kind.cooldown))
