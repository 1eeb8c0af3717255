"""The gate of damage: an item that cannot be a task is never claimed. This gate only explains: the
``Poller`` looks at each row's damage before it asks a gate, and puts the item into FAILURE."""

import math

from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import RunSetup


class Damaged(Gate):
    """Never opens for a damaged row."""

    def wait(self, row: Candidate, now: int) -> float:
        return 0.0 if row.damage is None else math.inf

    def why(self, row: Candidate, now: int) -> str:
        return f"its item is damaged: {row.damage}; the next poll puts it into FAILURE"


def make(_setup: RunSetup, _kind: None) -> Damaged:
    """Make the gate of a run."""
    return Damaged()
