"""The gate of known types: a worker passes over tasks of the types that it has no handler for, for
workers that know them."""

import math

from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import RunSetup
from lifoq.worker.known_types import Types


class KnownType(Gate):
    """Opens for the types that the worker handles."""

    def __init__(self, types: Types) -> None:
        self._types = types

    def wait(self, row: Candidate, now: int) -> float:
        return 0.0 if self._types.has(row.task_type) else math.inf

    def why(self, row: Candidate, now: int) -> str:
        if row.task_type in self._types.elsewhere:
            return f"task type {row.task_type} is for workers elsewhere"
        return f"the worker has no handler for task type {row.task_type}"


def make(setup: RunSetup, _kind: None) -> KnownType:
    """Make the gate of a run."""
    return KnownType(setup.types)
