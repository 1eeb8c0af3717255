"""The gate of slots: so many tasks run at a time, and no more. The worker has one (``in_flight`` of
its settings), and so has each task type with an ``in_flight`` of its own."""

import math
from typing import cast

from lifoq.store.candidate import Candidate
from lifoq.worker.gates.counting import CountedCall, CountingGate
from lifoq.worker.gates.gate_inputs import ProcessSetup
from lifoq.worker.handlers.registry import TaskType


class Slots(CountingGate):
    """A task keeps its slot until its handler has returned, also beyond its timeout and beyond the
    end of the run."""

    def __init__(self, number: int, whose: str) -> None:
        """``whose``: the words for whose slots they are."""
        self.number = number
        self._whose = whose

    def wait(self, row: Candidate, now: int) -> float:
        return self.wait_of_any(now)

    def wait_of_any(self, now: int) -> float:
        return math.inf if self.inside >= self.number else 0.0

    def why(self, row: Candidate, now: int) -> str:
        hang = f", {self.hung} of them beyond their time" if self.hung else ""
        return f"{self._whose} is at its limit: {self.inside} of {self.number} at work{hang}"

    def enter(self, row: Candidate, now: int) -> CountedCall:
        call = CountedCall()
        self.count(call)
        return call

    @property
    def is_stuck(self) -> bool:
        return self.hung >= self.number


def make(setup: ProcessSetup, kind: TaskType | None) -> Slots:
    """Make the gate of the worker, or of a task type."""
    if kind is None:
        return Slots(setup.settings.in_flight, "the worker")
    # A type without an ``in_flight`` of its own has no such gate.
    return Slots(cast("int", kind.in_flight), f"task type {kind.name}")
