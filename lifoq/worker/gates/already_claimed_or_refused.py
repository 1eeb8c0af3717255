"""The gate of tasks that this run has, or was refused. The index lags: it still shows a task that
was just claimed, or whose claim was just refused. And a task for which this run has too little time
counts as refused until the run's end."""

import math

from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import ClaimedFacts, RunSetup


class AlreadyClaimedOrRefused(Gate):
    """Opens once the task is the run's no more, and was not refused a moment ago."""

    def __init__(self, claimed: ClaimedFacts) -> None:
        self._claimed = claimed

    def wait(self, row: Candidate, now: int) -> float:
        return math.inf if self._claimed.has(row.task_id, now) else 0.0

    def why(self, row: Candidate, now: int) -> str:
        return "this worker has it already, was just refused it, or has too little time left for it"


def make(setup: RunSetup, _kind: None) -> AlreadyClaimedOrRefused:
    """Make the gate of a run."""
    return AlreadyClaimedOrRefused(setup.claimed)
