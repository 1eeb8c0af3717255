"""The rules of adaptive concurrency: the number at a time lies between 1 and the most, and falls
where most attempts take longer than their timeout."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

from lifoq.worker.limits.adaptive_concurrency import AdaptiveConcurrency
from tests.simulation.history import Violation
from tests.simulation.machine import Machine

MOST = 1 / 2
"""The part of a cycle's attempts beyond which their overload must bring the number down."""
FINDS = "lifoq.worker.limits.adaptive_concurrency.AdaptiveConcurrency"


class Judged(AdaptiveConcurrency):
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


@contextmanager
def judged(machine: Machine) -> Iterator[None]:
    """Judge the searches of a processor that is made meanwhile."""
    with patch(FINDS, partial(Judged, machine)):
        yield
