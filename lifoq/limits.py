"""What keeps the processor from overrunning the downstream."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lifoq.host import MICROSECONDS, Host, microseconds

PROBE_AFTER: Final = 100
"""Tasks that pass before one more at a time is tried: what is refused costs a retry."""
PAUSE: Final = 1.0
"""Seconds between two tries where the downstream takes nothing at all."""


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


class Room:
    """How many tasks at a time the downstream was found to take: any number, until it refuses."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._size = math.inf
        self._passed = 0
        self._closed_until = 0

    def refused(self, *, others: int) -> None:
        """The downstream has refused one task, while it works on so many others."""
        self._size = max(1, others)
        self._passed = 0
        if others == 0:
            self._closed_until = self._host.now() + microseconds(PAUSE)

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
        return max(0.0, (self._closed_until - self._host.now()) / MICROSECONDS)


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What outlives a processor's runs: its buckets, None where there is no limit, and the room
    that it found the downstream of each task type to have."""

    of_all: TokenBucket | None
    by_type: Mapping[str, TokenBucket | None]
    rooms: Mapping[str, Room]


class Gate:
    """A cap on tasks in flight, on starts per second, and on what the downstream takes; any of
    them may be absent."""

    def __init__(
        self, *, in_flight: int | None, bucket: TokenBucket | None, room: Room | None = None
    ) -> None:
        self._cap = math.inf if in_flight is None else in_flight
        self._bucket = bucket
        self._room = room
        self.inside = 0

    def enter(self) -> bool:
        """Pass, if there is room and a token."""
        if self.inside >= self._cap or self._wait_for_room() > 0:
            return False
        if self._bucket is not None and not self._bucket.take():
            return False
        self.inside += 1
        return True

    def turn_back(self) -> None:
        """Undo an ``enter`` after which nothing was started."""
        self.inside -= 1
        if self._bucket is not None:
            self._bucket.give_back()

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
        return max(self._wait_for_room(), 0.0 if self._bucket is None else self._bucket.wait())

    def _wait_for_room(self) -> float:
        return 0.0 if self._room is None else self._room.wait(self.inside)
