"""The gate after the claim: the row of the index may have been old. A task that was cancelled, or
whose id was put anew as a task of another type, is handed back."""

from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import RunSetup


class CancelledOrReplaced(Gate):
    """Holds no row back; asked once the claim shows the task itself."""

    def wait(self, row: Candidate, now: int) -> float:
        return 0.0

    def may_begin(self, row: Candidate, claim: Claim | None, now: int) -> bool:
        if claim is None:
            return True
        return claim.task.task_type == row.task_type and claim.task.cancel_asked is None


def make(_setup: RunSetup, _kind: None) -> CancelledOrReplaced:
    """Make the gate of a run."""
    return CancelledOrReplaced()
