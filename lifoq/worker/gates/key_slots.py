"""The gate of a key's slots: so many tasks of a type with the same key are TAKEN at a time, over
all workers (``per_key``). The table itself decides, by the condition of the claim; this gate keeps
the run from asking in vain."""

import math
from typing import Any, Final, cast

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.errors import KeyBusy
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate, HowItLeft
from lifoq.worker.gates.gate_inputs import ClaimedFacts, RunSetup
from lifoq.worker.handlers.registry import TaskType

FIRST_KEY_PAUSE: Final = 0.5
"""Seconds for which a run leaves a key alone that other workers hold; it doubles each time."""
LONGEST_KEY_PAUSE: Final = 4.0
"""Seconds up to which that doubles: a refused claim costs units, and what others hold may end at
any time."""


class KeyPauses:
    """The pauses of keys that other workers hold or start, of one task type. A run learns of them
    when a claim is refused. From then on it leaves that key alone, until a task of the key has
    ended here or the pause is over. The pause grows with each refusal. All times are monotonic
    microseconds."""

    def __init__(self) -> None:
        self._pauses: dict[str | None, tuple[int, float]] = {}
        """The end of each key's pause, and its length in seconds."""

    def begin(self, key: str | None, now: int) -> None:
        """Leave the key alone for a while, for longer than the last time, unless that is long
        over."""
        long_over = now - microseconds(LONGEST_KEY_PAUSE)
        self._pauses = {k: kept for k, kept in self._pauses.items() if kept[0] > long_over}
        _, last = self._pauses.get(key, (0, FIRST_KEY_PAUSE / 2))
        pause = min(LONGEST_KEY_PAUSE, last * 2)
        self._pauses[key] = now + microseconds(pause), pause

    def end(self, key: str | None) -> None:
        """Forget the key's pause: the key may be free."""
        self._pauses.pop(key, None)

    def wait(self, key: str | None, now: int) -> float:
        """Return the seconds until the pause is over; 0 without one."""
        until, _ = self._pauses.get(key, (0, 0.0))
        return max(0.0, (until - now) / MICROSECONDS)


class KeySlots(Gate):
    """Goes by the tasks that this run has, and by the claims that were refused because others have
    some."""

    def __init__(self, per_key: int, claimed: ClaimedFacts, host: Host) -> None:
        self._per_key = per_key
        self._claimed = claimed
        self._host = host
        self._pauses = KeyPauses()

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

    def undo(self, receipt: Any, *, after: float, error: Exception | None = None) -> None:
        if isinstance(error, KeyBusy):
            self._pauses.begin(receipt, self._host.monotonic())

    def leave(self, receipt: Any, left: HowItLeft) -> None:
        """Free the key, unless its claim may still stand: then leave the key alone for a while."""
        self._pauses.end(receipt)
        if not left.confirmed:
            self._pauses.begin(receipt, self._host.monotonic())


def make(setup: RunSetup, kind: TaskType) -> KeySlots:
    """Make the gate of a task type."""
    return KeySlots(cast("int", kind.per_key), setup.claimed, setup.process.host)
