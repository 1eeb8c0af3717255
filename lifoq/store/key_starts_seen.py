"""The start of each key that a process saw last, and when it saw it: so that keys start at a rate,
whatever the workers' clocks say.

The slot of a key (see ``items.key_slots``) holds the stamp of the key's last start. A claim is
granted over three kinds of slots:

- one without a stamp: the key has not been started for long;
- one with the stamp that this process saw at least an interval ago, by its own monotonic clock. The
  start was before it was seen. So no two clocks are compared;
- one whose stamp is older than an interval by so much (``MARGIN``) that no clock is that far off.

A stamp is always greater than the one before it. So no stamp that was seen comes back.
"""

import threading
from typing import Any, Final

from lifoq.basics.clock import CLOCKS_APART
from lifoq.basics.host import Host, microseconds
from lifoq.items.change import Alternatives, AtMost, Equals, Exists, Not
from lifoq.items.schema import Attribute as A

START_WITHIN: Final = 4.0
"""Seconds from a claim's stamp to the beginning of its handler, at the most. A claim that took
longer is handed back: its stamp says too little."""
MARGIN: Final = microseconds(CLOCKS_APART + START_WITHIN)
"""Microseconds by which a stamp may look older than the start is: both clocks may be off, and a
claim may arrive late."""
MOST_REMEMBERED: Final = 100_000
"""Keys. One that was forgotten is asked for once too often."""

Keyed = tuple[str, str | None]
"""A task type and a key."""


class KeyStarts:
    """Remembers the stamp of each key's last start, and from when on the next may be asked for.
    Thread-safe: claims write, and the run reads."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._seen: dict[Keyed, tuple[Any, int]] = {}
        """The stamp, and the monotonic microseconds from which on a claim over it is granted."""

    def saw(self, keyed: Keyed, stamp: Any, *, interval: int, now: int) -> None:
        """Note that the slot has just been read or written with this stamp, which somebody may have
        damaged. ``interval`` in microseconds; ``now``: epoch microseconds by the queue's clock."""
        left = interval
        if isinstance(stamp, int):
            left = max(0, min(interval, stamp + interval + MARGIN - now))
        free_at = self._host.monotonic() + left
        with self._lock:
            before = self._seen.pop(keyed, None)
            if before is not None and before[0] == stamp:
                free_at = min(free_at, before[1])  # it was seen before
            self._seen[keyed] = stamp, free_at
            if len(self._seen) > MOST_REMEMBERED:
                del self._seen[next(iter(self._seen))]

    def free_at(self, keyed: Keyed) -> int:
        """Return the monotonic microseconds from which on the next task of the key may be claimed;
        0 if nothing is known of the key."""
        with self._lock:
            return self._seen.get(keyed, (None, 0))[1]

    def allows(self, keyed: Keyed, *, interval: int, now: int) -> tuple[Alternatives, int]:
        """Return the slots over which a claim is granted now, and the stamp that it writes.
        ``now``: epoch microseconds by the queue's clock."""
        unknown: Alternatives = (
            (Not(Exists(A.TAKEN_AT)),),
            (AtMost(A.TAKEN_AT, now - interval - MARGIN),),
        )
        with self._lock:
            seen = self._seen.get(keyed)
        if seen is None or seen[1] > self._host.monotonic():
            return unknown, now
        stamp = seen[0]
        newer = max(now, stamp + 1) if isinstance(stamp, int) else now
        return (*unknown, (Equals(A.TAKEN_AT, stamp),)), newer
