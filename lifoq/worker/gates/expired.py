"""The gate of the shedding deadline: past it a waiting task is never claimed, however late TTL
deletes it."""

import math
from collections.abc import Callable

from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import RunSetup


class Expired(Gate):
    """Never opens: the task is shed."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock

    def wait(self, row: Candidate, now: int) -> float:
        return math.inf if row.expires_at <= self._clock() else 0.0

    def why(self, row: Candidate, now: int) -> str:
        return "its deadline is over: it is shed, and DynamoDB deletes it in time"


def make(setup: RunSetup, _kind: None) -> Expired:
    """Make the gate of a run."""
    return Expired(setup.clock)
