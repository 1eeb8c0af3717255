"""The gate of a key's rate: so many tasks of a type with the same key start per second, over all
workers (``rate_per_key``). The table itself decides, by the condition of the claim; this gate keeps
the run from asking in vain."""

import math
from typing import Any, cast

from lifoq.basics.host import MICROSECONDS, Host
from lifoq.errors import KeyBusy
from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim
from lifoq.store.key_starts_seen import KeyStarts
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import ClaimedFacts, RunSetup
from lifoq.worker.gates.key_slots import KeyPauses
from lifoq.worker.handlers.registry import TaskType


class KeyRate(Gate):
    """Goes by the last starts of keys that claims have seen. Of a key one claim at a time is under
    way."""

    def __init__(self, rate: float, claimed: ClaimedFacts, starts: KeyStarts, host: Host) -> None:
        self._rate = rate
        self._claimed = claimed
        self._starts = starts
        self._host = host
        self._pauses = KeyPauses()

    def wait(self, row: Candidate, now: int) -> float:
        claiming, _ = self._claimed.of_key(row.task_type, row.key)
        if claiming:
            return math.inf
        free_at = self._starts.free_at((row.task_type, row.key))
        return max(self._pauses.wait(row.key, now), (free_at - now) / MICROSECONDS, 0.0)

    def why(self, row: Candidate, now: int) -> str:
        return f"its key {row.key} starts {self._rate:g} tasks per second, and one has just started"

    def may_begin(self, row: Candidate, claim: Claim | None, now: int) -> bool:
        return claim is None or now <= claim.begin_by

    def enter(self, row: Candidate, now: int) -> str | None:
        return row.key

    def started(self, receipt: Any) -> None:
        self._pauses.end(receipt)

    def undo(self, receipt: Any, *, after: float, error: Exception | None = None) -> None:
        if isinstance(error, KeyBusy):
            self._pauses.begin(receipt, self._host.monotonic())


def make(setup: RunSetup, kind: TaskType) -> KeyRate:
    """Make the gate of a task type."""
    return KeyRate(
        cast("float", kind.rate_per_key),
        setup.claimed,
        cast("KeyStarts", setup.key_starts),
        setup.process.host,
    )
