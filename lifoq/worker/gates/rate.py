"""The gate of a rate: so many tasks start per second, or so many units of their weights. The worker
has one (``rate_limit`` of its settings), and so has each task type with a ``rate_limit`` of its
own; several rates of a type stand beside each other."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from lifoq.basics.host import MICROSECONDS
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import ProcessSetup
from lifoq.worker.handlers.registry import TaskType


class Bucket(Gate):
    """A token bucket: it gains ``rate`` tokens per second, and holds ``burst`` of them, by default
    one second's worth (at least 1).

    A task passes while there is a whole token, and takes as many as it weighs. So the bucket may
    owe tokens, and the next task waits until they are paid. Were a heavy task to wait until all of
    its tokens are there, newer light ones would take them first, again and again.
    """

    def __init__(
        self,
        rate: float,
        *,
        now: int,
        burst: float | None = None,
        said: str = "",
        weigh: Callable[[Candidate], int] | None = None,
    ) -> None:
        """``now``: monotonic microseconds. ``said``: whose rate it is, and how high, in words.
        ``weigh``: tells the tokens that a task takes; None: each takes one."""
        self._rate = rate
        self._burst = burst or max(1.0, rate)
        self._tokens = self._burst
        self._filled_at = now
        self._said = said
        self._weigh = weigh

    def wait(self, row: Candidate, now: int) -> float:
        return self.wait_of_any(now)

    def wait_of_any(self, now: int) -> float:
        return max(0.0, (1 - self.tokens(now)) / self._rate)

    def why(self, row: Candidate, now: int) -> str:
        return f"{self._said}, and no more"

    def may_join(self, row: Candidate, now: int) -> bool:
        return self._weigh is None or self.wait_of_any(now) == 0

    def enter(self, row: Candidate, now: int) -> int:
        took = 1 if self._weigh is None else self._weigh(row)
        self._fill(now)
        self._tokens -= took
        return took

    def undo(self, receipt: Any, *, after: float, error: Exception | None = None) -> None:
        """Return the tokens, less what the bucket has gained since: that gain might have found no
        room, had they stayed. What is above the burst is cut off when ``tokens`` is read."""
        self._tokens += max(0.0, receipt - after * self._rate)

    def weighed(self, receipt: Any, weight: int, now: int) -> Any:
        if self._weigh is None:
            return receipt
        self._fill(now)
        self._tokens += receipt - weight
        return weight

    def tokens(self, now: int) -> float:
        """Return the tokens that there are; below 0 what is owed."""
        passed = max(0, now - self._filled_at) / MICROSECONDS
        return min(self._burst, self._tokens + passed * self._rate)

    def _fill(self, now: int) -> None:
        self._tokens, self._filled_at = self.tokens(now), max(now, self._filled_at)


class Buckets(Gate):
    """Several rates of one task type: a task passes all of them, or none."""

    def __init__(self, buckets: Sequence[Bucket]) -> None:
        self._buckets = buckets

    def wait(self, row: Candidate, now: int) -> float:
        return self.wait_of_any(now)

    def wait_of_any(self, now: int) -> float:
        return max(bucket.wait_of_any(now) for bucket in self._buckets)

    def why(self, row: Candidate, now: int) -> str:
        slowest = max(self._buckets, key=lambda bucket: bucket.wait_of_any(now))
        return slowest.why(row, now)

    def may_join(self, row: Candidate, now: int) -> bool:
        return all(bucket.may_join(row, now) for bucket in self._buckets)

    def enter(self, row: Candidate, now: int) -> list[Any]:
        return [bucket.enter(row, now) for bucket in self._buckets]

    def undo(self, receipt: Any, *, after: float, error: Exception | None = None) -> None:
        for bucket, took in zip(self._buckets, receipt, strict=True):
            bucket.undo(took, after=after)

    def weighed(self, receipt: Any, weight: int, now: int) -> list[Any]:
        pairs = zip(self._buckets, receipt, strict=True)
        return [bucket.weighed(took, weight, now) for bucket, took in pairs]


def make(setup: ProcessSetup, kind: TaskType | None) -> Gate:
    """Make the gate of the worker, or of a task type."""
    now = setup.host.monotonic()
    if kind is None:
        rate = cast("float", setup.settings.rate_limit)
        return Bucket(rate, now=now, said=f"the worker starts {rate:g} tasks per second")
    buckets = [
        Bucket(
            rate.per_second,
            now=now,
            burst=rate.burst,
            said=f"task type {kind.name} starts {rate}",
            weigh=None if rate.of is None else kind.weight_of,
        )
        for rate in kind.rates
    ]
    return buckets[0] if len(buckets) == 1 else Buckets(buckets)
