"""The gate of a key's slots: so many tasks of a type with the same key are TAKEN at a time, over
all workers (``per_key``). The table itself decides, by the condition of the claim; this gate keeps
the run from asking in vain."""

import math
from typing import Any

from lifoq.basics.host import Host
from lifoq.errors import KeyBusy
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate, Left
from lifoq.worker.gates.key_backoff import KeyBackoff
from lifoq.worker.gates.setup import ClaimedFacts, RunSetup
from lifoq.worker.handlers.registry import TaskType


class KeySlots(Gate):
    """Goes by the tasks that this run has, and by the claims that were refused because others have
    some."""

    def __init__(self, per_key: int, claimed: ClaimedFacts, host: Host) -> None:
        self._per_key = per_key
        self._claimed = claimed
        self._host = host
        self._pauses = KeyBackoff()

    def wait(self, row: Candidate, now: int) -> float:
        if sum(self._claimed.of_key(row.task_type, row.key)) >= self._per_key:
            return math.inf
        return self._pauses.wait(row.key, now)

    def why(self, row: Candidate, now: int) -> str:
        here = sum(self._claimed.of_key(row.task_type, row.key))
        where = f"{here} of {self._per_key} on this worker" if here else "on another worker"
        return f"its key {row.key} is busy: a task of the same key is at work, {where}"

    def enter(self, row: Candidate, now: int) -> str | None:
        return row.key

    def undo(self, token: Any, *, after: float, error: Exception | None = None) -> None:
        if isinstance(error, KeyBusy):
            self._pauses.begin(token, self._host.monotonic())

    def leave(self, token: Any, left: Left) -> None:
        """Free the key, unless its claim may still stand: then leave the key alone for a while."""
        self._pauses.end(token)
        if not left.confirmed:
            self._pauses.begin(token, self._host.monotonic())


def make(setup: RunSetup, kind: TaskType) -> KeySlots:
    """Make the gate of a task type."""
    return KeySlots(kind.per_key or 1, setup.claimed, setup.process.host)
