"""The gate of suspected poison: a task whose worker has died runs beside no other such task. If it
kills this worker, too, no other is blamed for it."""

import math

from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import ClaimedFacts, RunSetup
from lifoq.worker.handlers.registry import TaskType


class SuspectedPoison(Gate):
    """Opens once the suspected poison that runs is settled."""

    def __init__(self, claimed: ClaimedFacts) -> None:
        self._claimed = claimed

    def wait(self, row: Candidate, now: int) -> float:
        blocked = row.suspected_poison and self._claimed.has_suspected_poison
        return math.inf if blocked else 0.0

    def why(self, row: Candidate, now: int) -> str:
        return "a worker has died with it, and another such task is at work: they run one by one"


def make(setup: RunSetup, _kind: TaskType) -> SuspectedPoison:
    """Make the gate of a task type."""
    return SuspectedPoison(setup.claimed)
