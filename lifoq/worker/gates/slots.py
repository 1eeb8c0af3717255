"""The gate of slots: so many tasks run at a time, and no more. The worker has one (``in_flight`` of
its settings), and so has each task type with an ``in_flight`` of its own."""

import math
from typing import Any

from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate, HowItLeft
from lifoq.worker.gates.gate_inputs import ProcessSetup
from lifoq.worker.handlers.registry import TaskType


class Slots(Gate):
    """A task keeps its slot until its handler has returned, also beyond its timeout and beyond the
    end of the run."""

    def __init__(self, number: int, whose: str) -> None:
        """``whose``: the words for whose slots they are."""
        self.number = number
        self.inside = 0
        self.hung = 0
        """The number of those inside that have outlived their attempt's timeout."""
        self._whose = whose

    def wait(self, row: Candidate, now: int) -> float:
        return self.wait_of_any(now)

    def wait_of_any(self, now: int) -> float:
        return math.inf if self.inside >= self.number else 0.0

    def why(self, row: Candidate, now: int) -> str:
        hang = f", {self.hung} of them beyond their time" if self.hung else ""
        return f"{self._whose} is at its limit: {self.inside} of {self.number} at work{hang}"

    def enter(self, row: Candidate, now: int) -> None:
        self.inside += 1

    def undo(self, receipt: Any, *, after: float, error: Exception | None = None) -> None:
        self.inside -= 1

    def hangs(self, receipt: Any) -> None:
        self.hung += 1

    def leave(self, receipt: Any, left: HowItLeft) -> None:
        self.inside -= 1
        self.hung -= left.hung

    @property
    def is_stuck(self) -> bool:
        return self.hung >= self.number


def make(setup: ProcessSetup, kind: TaskType | None) -> Slots:
    """Make the gate of the worker, or of a task type."""
    if kind is None:
        return Slots(setup.settings.in_flight, "the worker")
    return Slots(kind.in_flight or setup.settings.in_flight, f"task type {kind.name}")
