"""Which end of the queue a worker serves: always the newest, or the oldest while all is well."""

import math
from typing import Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.tables.store import Candidates

OLDEST_AGAIN_BELOW: Final = 0.95
"""The part of the threshold below which the oldest waiting task must be for the oldest to come
first again. In between the order stays as it is, so that it does not flap."""
ASK_EVERY: Final = 1.0
"""Seconds between two queries for the oldest waiting task, while the newest comes first."""


class Order:
    """Newest first; or, with a threshold, oldest first until the oldest waiting task is older."""

    def __init__(self, threshold: float | None, host: Host) -> None:
        """``threshold`` in seconds; None: newest first, whatever waits."""
        self._host = host
        self._threshold = math.inf if threshold is None else threshold
        self._ask_at = math.inf if threshold is None else host.monotonic()
        self.newest_first = threshold is None

    def asks_for_oldest(self) -> bool:
        """Whether the next look at the queue is to begin with a page from its oldest end."""
        return not self.newest_first or self._host.monotonic() >= self._ask_at

    def decide(self, oldest: Candidates, *, now: int) -> None:
        """Choose the order, shown the first page from the oldest end at epoch microseconds
        ``now``."""
        self._ask_at = self._host.monotonic() + microseconds(ASK_EVERY)
        limit = self._threshold * OLDEST_AGAIN_BELOW if self.newest_first else self._threshold
        self.newest_first = _older_than(limit, oldest, now)


def _older_than(seconds: float, oldest: Candidates, now: int) -> bool:
    """Whether the oldest live task of the queue has waited for longer."""
    for row in oldest.rows:
        if row.damage is None and row.expires_at > now:
            return (now - row.created) / MICROSECONDS > seconds
    # None on the page. With more behind it, expired tasks lie at this end until TTL deletes them:
    # to go through them at each look would cost the more, the more they are.
    return oldest.next is not None
