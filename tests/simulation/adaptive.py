"""The rules of the number at a time. One that is found lies between 1 and the most, and falls where
most attempts take longer than their timeout. Where the downstream refuses a task, none enters
beside those that it did not refuse, until some have ended."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from lifoq.store.candidate import Candidate
from lifoq.worker.gates import busy_downstream
from lifoq.worker.gates.adaptive.capacity_search import CapacitySearch
from lifoq.worker.gates.busy_downstream import BusyDownstream
from lifoq.worker.gates.gate import HowItLeft
from tests.simulation.history import Violation
from tests.simulation.machine import Machine

MOST = 1 / 2
"""The part of a cycle's attempts beyond which their overload must bring the number down."""
FINDS = "lifoq.worker.gates.adaptive_concurrency.CapacitySearch"
REFUSALS = "lifoq.worker.gates.busy_downstream.BusyDownstream"


class Judged(CapacitySearch):
    """lifoq's own search, which ends the simulation where it breaks a rule."""

    def __init__(self, machine: Machine, most: int) -> None:
        self._machine = machine
        super().__init__(most)

    def limit(self, now: float) -> int:
        found = super().limit(now)
        self._require(1 <= found <= self.most, f"{found} at a time, of {self.most} at most")
        self._require(1 <= self.found <= self.most, f"has found {self.found}")
        self._require(self._at_work >= 0, f"counts {self._at_work} at work")
        return found

    def _judge(self, now: float) -> None:
        cycle = self._last
        super()._judge(now)
        if cycle is not None and cycle.overloaded > MOST:
            self._require(self.found < 2, f"{self.found} at a time, though most timed out")

    def _require(self, holds: bool, told: str) -> None:  # noqa: FBT001
        if not holds:
            self._machine.scheduler.failure = Violation(f"adaptive concurrency: {told}", "")


class JudgedRefusals(BusyDownstream):
    """lifoq's own gate, which ends the simulation where more enter than stayed when the downstream
    refused one."""

    def __init__(self, machine: Machine, *arguments: Any) -> None:
        self._machine = machine
        self._room = math.inf
        """The tasks that stayed when one was refused; inf once enough others have ended."""
        self._ended = 0
        """The tasks that have ended since, without a refusal."""
        super().__init__(*arguments)

    def enter(self, row: Candidate, now: int) -> None:
        super().enter(row, now)
        if self.inside > self._room:
            told = f"{self.inside} at a time, though {self._room} stayed when one was refused"
            self._machine.scheduler.failure = Violation(f"limits: {told}", "")

    def leave(self, token: Any, left: HowItLeft) -> None:
        super().leave(token, left)
        self._ended = 0 if left.refused else self._ended + 1
        if left.refused:
            self._room = max(1, self.inside)
        elif self._ended >= busy_downstream.PROBE_AFTER:  # of the scenario
            self._room = math.inf


@contextmanager
def judged(machine: Machine) -> Iterator[None]:
    """Judge the limits and the searches of a processor that is made meanwhile."""
    with patch(FINDS, partial(Judged, machine)), patch(REFUSALS, partial(JudgedRefusals, machine)):
        yield
