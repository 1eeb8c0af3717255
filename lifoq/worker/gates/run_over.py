"""The gate of the run itself: it claims until its window is over, it is told to stop, the database
has not answered for long, or the process can start no more."""

import math

from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import ClaimingFacts, RunSetup


class RunOver(Gate):
    """Opens no more, once the run claims no more."""

    def __init__(self, run: ClaimingFacts) -> None:
        self._run = run

    def wait(self, row: Candidate, now: int) -> float:
        return self.wait_of_any(now)

    def wait_of_any(self, now: int) -> float:
        return 0.0 if self._run.claims_no_more(now) is None else math.inf

    def why(self, row: Candidate, now: int) -> str:
        return f"the worker claims no more tasks: {self._run.claims_no_more(now)}"


def make(setup: RunSetup, _kind: None) -> RunOver:
    """Make the gate of a run."""
    return RunOver(setup.claiming)
