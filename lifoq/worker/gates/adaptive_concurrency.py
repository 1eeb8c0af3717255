"""The gate of adaptive concurrency: as many tasks of a type at a time as the downstream was found
to take, where the type has ``adaptive_concurrency``. ``adaptive`` has the search."""

from typing import Any

from lifoq.basics.host import MICROSECONDS, Host
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.adaptive.attempt_times import Sample
from lifoq.worker.gates.adaptive.capacity_search import CapacitySearch
from lifoq.worker.gates.gate import Gate, HowItLeft, LoadSignal
from lifoq.worker.gates.gate_inputs import ProcessSetup
from lifoq.worker.handlers.registry import TaskType


class AdaptiveLimit(Gate):
    """Hands the attempts of a type to the search as samples, and keeps to what it finds."""

    def __init__(self, host: Host, task_type: str, most: int) -> None:
        """``most``: the largest number of tasks at a time."""
        self._host = host
        self._task_type = task_type
        # Seconds of the epoch, on which cycles of several workers meet; it never steps back.
        self._epoch = host.now() - host.monotonic()
        self.search = CapacitySearch(most)

    def wait(self, row: Candidate, now: int) -> float:
        return self.wait_of_any(now)

    def wait_of_any(self, now: int) -> float:
        return self.search.wait(self._seconds(now))

    def why(self, row: Candidate, now: int) -> str:
        found = f"{self.search.found:.1f}".removesuffix(".0")
        return f"the downstream of task type {self._task_type} was found to take {found} at a time"

    def enter(self, row: Candidate, now: int) -> Sample:
        return self.search.begins(self._seconds(now))

    def undo(self, receipt: Any, *, after: float, error: Exception | None = None) -> None:
        self.search.undo(receipt)

    def hangs(self, receipt: Any) -> None:
        self.search.hangs(receipt, self._seconds(self._host.monotonic()))

    def leave(self, receipt: Any, left: HowItLeft) -> None:
        signal = LoadSignal.UNTOLD if left.hung else left.signal
        self.search.ends(receipt, self._seconds(self._host.monotonic()), signal)

    def _seconds(self, now: int) -> float:
        return (self._epoch + now) / MICROSECONDS


def make(setup: ProcessSetup, kind: TaskType) -> AdaptiveLimit:
    """Make the gate of a task type."""
    most = setup.settings.in_flight
    return AdaptiveLimit(setup.host, kind.name, min(most, kind.in_flight or most))
