"""The gate of a rate: so many tasks start per second. The worker has one (``rate_limit`` of its
settings), and so has each task type with a ``rate_limit`` of its own."""

from typing import Any

from lifoq.basics.host import MICROSECONDS
from lifoq.basics.numbers import check_rate
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.setup import ProcessSetup
from lifoq.worker.handlers.registry import TaskType


class Rate(Gate):
    """A token bucket: ``rate`` starts per second, with a burst of one second's worth (at least
    1)."""

    def __init__(self, rate: float, *, now: int, whose: str = "the worker") -> None:
        """``now``: monotonic microseconds. ``whose``: the words for whose rate it is."""
        check_rate("rate", rate)
        self._rate = rate
        self._burst = max(1.0, rate)
        self._tokens = self._burst
        self._filled_at = now
        self._whose = whose

    def wait(self, row: Candidate, now: int) -> float:
        return self.poll_wait(now)

    def poll_wait(self, now: int) -> float:
        return max(0.0, (1 - self.tokens(now)) / self._rate)

    def why(self, row: Candidate, now: int) -> str:
        return f"{self._whose} starts {self._rate:g} tasks per second, and no more"

    def enter(self, row: Candidate, now: int) -> None:
        self._fill(now)
        self._tokens -= 1

    def undo(self, token: Any, *, after: float, error: Exception | None = None) -> None:
        """Return the token, less what the bucket has gained since: that gain might have found no
        room, had the token stayed."""
        self._tokens = min(self._burst, self._tokens + max(0.0, 1 - after * self._rate))

    def tokens(self, now: int) -> float:
        """Return the tokens that there are."""
        passed = max(0, now - self._filled_at) / MICROSECONDS
        return min(self._burst, self._tokens + passed * self._rate)

    def _fill(self, now: int) -> None:
        self._tokens, self._filled_at = self.tokens(now), max(now, self._filled_at)


def make(setup: ProcessSetup, kind: TaskType | None) -> Rate:
    """Make the gate of the worker, or of a task type."""
    rate = setup.settings.rate_limit if kind is None else kind.rate_limit
    whose = "the worker" if kind is None else f"task type {kind.name}"
    return Rate(rate or 1.0, now=setup.host.monotonic(), whose=whose)
