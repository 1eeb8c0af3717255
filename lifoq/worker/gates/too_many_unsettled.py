"""The gate of calls whose tasks are claimed and not all settled. A slot is free as soon as its
handler returns, and the outcome is written after that. So with slow writes, ever more calls would
be under way than there are slots."""

import math
from typing import Final

from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import ClaimedFacts, RunSetup

MOST: Final = 1.5
"""Calls per slot whose tasks are claimed and not all settled, at the most. More would take the
processor's time and the connections from one another."""


class TooManyUnsettled(Gate):
    """Opens once an outcome is written."""

    def __init__(self, claimed: ClaimedFacts, *, slots: int) -> None:
        self._claimed = claimed
        self._most = MOST * slots

    def wait(self, row: Candidate, now: int) -> float:
        return self.wait_of_any(now)

    def wait_of_any(self, now: int) -> float:
        return math.inf if self._claimed.calls_not_settled >= self._most else 0.0

    def why(self, row: Candidate, now: int) -> str:
        number = self._claimed.calls_not_settled
        return f"outcomes are written slowly: {number} calls are claimed and not settled"


def make(setup: RunSetup, _kind: None) -> TooManyUnsettled:
    """Make the gate of a run."""
    return TooManyUnsettled(setup.claimed, slots=setup.process.settings.in_flight)
