"""Limits of one process on its tasks: on their number at a time, on their rate, and on what the
downstream was found to take."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.basics.numbers import check_rate
from lifoq.worker.limits.load_signal import LoadSignal

if TYPE_CHECKING:
    from lifoq.worker.limits.adaptive_concurrency import AdaptiveConcurrency  # not where no type is
    from lifoq.worker.limits.attempt_times import Sample

PROBE_AFTER: Final = 100
"""Tasks that end without a refusal before one more at a time is tried: a task that is refused costs
a retry."""
CLOSED_PAUSE: Final = 1.0
"""Seconds between two tries where the downstream takes nothing at all."""


class TokenBucket:
    """A rate limit: ``rate`` starts per second, with a burst of one second's worth (at least 1)."""

    def __init__(self, rate: float, host: Host) -> None:
        check_rate("rate", rate)
        self._rate = rate
        self._host = host
        self._burst = max(1.0, rate)
        self._tokens = self._burst
        self._filled_at = host.monotonic()

    @classmethod
    def of(cls, rate: float | None, host: Host) -> "TokenBucket | None":
        """Make the bucket of a rate; None where there is no limit."""
        return None if rate is None else cls(rate, host)

    def take(self) -> bool:
        """Take a token. Return False if there is none."""
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def refund(self, *, after: float) -> None:
        """Return a token that was taken for nothing so many seconds ago, less what the bucket has
        gained since: that gain might have found no room, had the token stayed."""
        self._tokens = min(self._burst, self._tokens + max(0.0, 1 - after * self._rate))

    def wait(self) -> float:
        """Return the seconds until there is a token."""
        self._fill()
        return max(0.0, (1 - self._tokens) / self._rate)

    def _fill(self) -> None:
        now = self._host.monotonic()
        passed = (now - self._filled_at) / MICROSECONDS
        self._tokens = min(self._burst, self._tokens + passed * self._rate)
        self._filled_at = now


class RefusalLimit:
    """The number of tasks at a time that the downstream takes, as its refusals tell: any number,
    until it refuses one."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._size = math.inf
        self._passed = 0
        self._closed_until: int | None = None

    def refused(self, *, others: int) -> None:
        """Note that the downstream has refused one task, while it works on so many others."""
        self._size = max(1, others)
        self._passed = 0
        if others == 0:
            self._closed_until = self._host.monotonic() + microseconds(CLOSED_PAUSE)

    def passed(self) -> None:
        """Note that a task has ended which was not refused."""
        self._passed += 1
        if self._passed >= PROBE_AFTER:
            self._size += 1
            self._passed = 0

    def wait(self, inside: int) -> float:
        """Return the seconds until one more than those inside may start; inf until one has
        ended."""
        if inside >= self._size:
            return math.inf
        if self._closed_until is None:
            return 0.0
        return max(0.0, (self._closed_until - self._host.monotonic()) / MICROSECONDS)


class ConcurrencyLimit:
    """One limit of a process: on tasks at a time, on starts per second, and on what the downstream
    takes. Each may be absent. Not thread-safe: ``Limits`` has the lock."""

    def __init__(
        self,
        *,
        in_flight: int | None = None,
        bucket: TokenBucket | None = None,
        refusals: RefusalLimit | None = None,
        adaptive: "AdaptiveConcurrency | None" = None,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """``in_flight``: tasks at a time. ``clock``: seconds of the epoch, for ``adaptive``; it
        never steps back."""
        self._cap = math.inf if in_flight is None else in_flight
        self._adaptive = adaptive
        self._clock = clock
        self._bucket = bucket
        self._refusals = refusals
        self.inside = 0
        self.hung = 0
        """The number of those inside that have outlived their attempt's timeout."""

    @property
    def full_of_hung(self) -> bool:
        """True if nothing can enter any more, unless a handler returns that should have long
        ago."""
        return self.hung >= self._cap

    def enter(self) -> bool:
        """Let a task in. Return False if there is no slot or no token."""
        if self.wait() > 0:
            return False
        if self._bucket is not None:
            self._bucket.take()
        self.inside += 1
        return True

    def measure(self) -> "Sample | None":
        """Begin to measure the attempt that has just entered; None where the number at a time is
        fixed."""
        if self._adaptive is None:
            return None
        return self._adaptive.begins(self._clock())

    def measured(self, sample: "Sample | None", signal: LoadSignal) -> None:
        """End the measurement of an attempt."""
        if self._adaptive is not None and sample is not None:
            self._adaptive.ends(sample, self._clock(), signal)

    def hangs(self, sample: "Sample | None") -> None:
        """Note that an attempt has outlived its timeout: it keeps its slot until it leaves."""
        self.hung += 1
        if self._adaptive is not None and sample is not None:
            self._adaptive.hangs(sample, self._clock())

    def undo_enter(self, *, after: float, sample: "Sample | None" = None) -> None:
        """Undo an ``enter`` that is so many seconds ago: its task was not started."""
        self.inside -= 1
        if self._adaptive is not None and sample is not None:
            self._adaptive.undo(sample)
        if self._bucket is not None:
            self._bucket.refund(after=after)

    def leave(self, *, refused: bool = False) -> None:
        """Note that a task which entered has ended. ``refused``: the downstream had no room for
        it."""
        self.inside -= 1
        if self._refusals is None:
            return
        if refused:
            self._refusals.refused(others=self.inside)
        else:
            self._refusals.passed()

    def wait(self) -> float:
        """Return the seconds until another task could enter; inf until one has left."""
        if self.inside >= self._cap:
            return math.inf
        wait = 0.0 if self._refusals is None else self._refusals.wait(self.inside)
        if self._adaptive is not None:
            wait = max(wait, self._adaptive.wait(self._clock()))
        return max(wait, 0.0 if self._bucket is None else self._bucket.wait())
