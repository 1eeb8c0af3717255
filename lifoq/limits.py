"""What keeps the processor from overrunning the downstream."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from lifoq.host import MICROSECONDS, Host


class TokenBucket:
    """Lets ``rate`` starts per second through, with a burst of one second's worth (at least 1)."""

    def __init__(self, rate: float, host: Host) -> None:
        self._rate = rate
        self._host = host
        self._burst = max(1.0, rate)
        self._tokens = self._burst
        self._filled_at = host.now()

    def take(self) -> bool:
        """Take a token, if there is one."""
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def give_back(self) -> None:
        """Return a token that was taken for nothing."""
        self._tokens = min(self._burst, self._tokens + 1)

    def wait(self) -> float:
        """Seconds until there is a token."""
        self._fill()
        return max(0.0, (1 - self._tokens) / self._rate)

    def _fill(self) -> None:
        now = self._host.now()
        passed = max(0, now - self._filled_at) / MICROSECONDS
        self._tokens = min(self._burst, self._tokens + passed * self._rate)
        self._filled_at = now


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The buckets of a processor, which outlive its runs; None where there is no limit."""

    of_all: TokenBucket | None
    by_type: Mapping[str, TokenBucket | None]


class Gate:
    """A cap on tasks in flight and on starts per second, either of which may be absent."""

    def __init__(self, *, in_flight: int | None, bucket: TokenBucket | None) -> None:
        self._cap = math.inf if in_flight is None else in_flight
        self._bucket = bucket
        self.inside = 0

    def enter(self) -> bool:
        """Pass, if there is room and a token."""
        if self.inside >= self._cap or (self._bucket is not None and not self._bucket.take()):
            return False
        self.inside += 1
        return True

    def turn_back(self) -> None:
        """Undo an ``enter`` after which nothing was started."""
        self.inside -= 1
        if self._bucket is not None:
            self._bucket.give_back()

    def leave(self) -> None:
        """A task that entered has ended."""
        self.inside -= 1

    def wait(self) -> float:
        """Seconds until another could enter, as far as the rate tells; inf while it is full."""
        if self.inside >= self._cap:
            return math.inf
        return 0.0 if self._bucket is None else self._bucket.wait()
