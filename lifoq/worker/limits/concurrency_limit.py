"""A gate that tasks pass before they start: by their number, their rate, and what the downstream
was found to take."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.basics.numbers import check_rate
from lifoq.worker.limits.load_signal import End

if TYPE_CHECKING:
    from lifoq.worker.limits.adaptive_concurrency import AdaptiveConcurrency  # not where no type is
    from lifoq.worker.limits.attempt_times import Sample

PROBE_AFTER: Final = 100
"""Tasks that pass before one more at a time is tried: what is refused costs a retry."""
CLOSED_PAUSE: Final = 1.0
"""Seconds between two tries where the downstream takes nothing at all."""


class TokenBucket:
    """Lets ``rate`` starts per second through, with a burst of one second's worth (at least 1)."""

    def __init__(self, rate: float, host: Host) -> None:
        check_rate("rate", rate)
        self._rate = rate
        self._host = host
        self._burst = max(1.0, rate)
        self._tokens = self._burst
        self._filled_at = host.monotonic()

    @classmethod
    def of(cls, rate: float | None, host: Host) -> "TokenBucket | None":
        """None where there is no limit."""
        return None if rate is None else cls(rate, host)

    def take(self) -> bool:
        """Take a token, if there is one."""
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def refund(self, *, after: float) -> None:
        """Return a token that was taken for nothing, so many seconds ago: less what the bucket has
        gained since, which may have found no room in it had the token stayed there."""
        self._tokens = min(self._burst, self._tokens + max(0.0, 1 - after * self._rate))

    def wait(self) -> float:
        """Seconds until there is a token."""
        self._fill()
        return max(0.0, (1 - self._tokens) / self._rate)

    def _fill(self) -> None:
        now = self._host.monotonic()
        passed = (now - self._filled_at) / MICROSECONDS
        self._tokens = min(self._burst, self._tokens + passed * self._rate)
        self._filled_at = now


class Room:
    """How many tasks at a time the downstream was found to take: any number, until it refuses."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._size = math.inf
        self._passed = 0
        self._closed_until: int | None = None

    def refused(self, *, others: int) -> None:
        """The downstream has refused one task, while it works on so many others."""
        self._size = max(1, others)
        self._passed = 0
        if others == 0:
            self._closed_until = self._host.monotonic() + microseconds(CLOSED_PAUSE)

    def passed(self) -> None:
        """A task has ended that was not refused."""
        self._passed += 1
        if self._passed >= PROBE_AFTER:
            self._size += 1
            self._passed = 0

    def wait(self, inside: int) -> float:
        """Seconds until one more than those inside may start; inf while there is no room."""
        if inside >= self._size:
            return math.inf
        if self._closed_until is None:
            return 0.0
        return max(0.0, (self._closed_until - self._host.monotonic()) / MICROSECONDS)


class Gate:
    """A cap on tasks in flight, on starts per second, and on what the downstream takes; any of
    them may be absent."""

    def __init__(
        self,
        *,
        in_flight: int | None = None,
        bucket: TokenBucket | None = None,
        room: Room | None = None,
        adaptive: "AdaptiveConcurrency | None" = None,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """``clock``: seconds of the epoch, for ``adaptive``; it never steps back."""
        self._cap = math.inf if in_flight is None else in_flight
        self._adaptive = adaptive
        self._clock = clock
        self._bucket = bucket
        self._room = room
        self.inside = 0
        self.hung = 0
        """How many inside have outlived their attempt's timeout."""

    @property
    def full_of_hung(self) -> bool:
        """Whether nothing can enter any more, unless a handler returns that should have long."""
        return self.hung >= self._cap

    def enter(self) -> bool:
        """Pass, if there is room and a token."""
        if self.wait() > 0:
            return False
        if self._bucket is not None:
            self._bucket.take()
        self.inside += 1
        return True

    @property
    def found(self) -> float | None:
        """The number at a time that was found; None where that is not looked for."""
        return None if self._adaptive is None else self._adaptive.found

    def measure(self) -> "Sample | None":
        """Begin to measure the attempt that has just entered."""
        if self._adaptive is None:
            return None
        return self._adaptive.begins(self._clock())

    def measured(self, sample: "Sample | None", end: End) -> None:
        """End the measurement of an attempt."""
        if self._adaptive is not None and sample is not None:
            self._adaptive.ends(sample, self._clock(), end)

    def undo_enter(self, *, after: float, sample: "Sample | None" = None) -> None:
        """Undo an ``enter``, so many seconds ago, after which nothing was started."""
        self.inside -= 1
        if self._adaptive is not None and sample is not None:
            self._adaptive.undo(sample)
        if self._bucket is not None:
            self._bucket.refund(after=after)

    def leave(self, *, refused: bool = False) -> None:
        """A task that entered has ended; perhaps because the downstream had no room for it."""
        self.inside -= 1
        if self._room is None:
            return
        if refused:
            self._room.refused(others=self.inside)
        else:
            self._room.passed()

    def wait(self) -> float:
        """Seconds until another could enter, as far as rate and room tell; inf while it is full."""
        if self.inside >= self._cap:
            return math.inf
        room = 0.0 if self._room is None else self._room.wait(self.inside)
        if self._adaptive is not None:
            room = max(room, self._adaptive.wait(self._clock()))
        return max(room, 0.0 if self._bucket is None else self._bucket.wait())
