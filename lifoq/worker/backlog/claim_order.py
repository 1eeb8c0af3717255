"""Which end of the queue a worker serves: always the newest, or the oldest while all is well."""

import math
from collections.abc import Sequence
from typing import Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.store.candidate import Candidate, Candidates

OLDEST_AGAIN_BELOW: Final = 0.95
"""The part of the threshold below which the oldest waiting task must be for the oldest to come
first again. In between the order stays as it is, so that it does not flap."""
ASK_EVERY: Final = 1.0
"""Seconds between two queries that begin at the other end than the one that is served."""


class ClaimOrder:
    """Newest first; or, with a threshold, oldest first until the oldest waiting task is older, or
    one is seen that has a head start, and would come last."""

    def __init__(self, threshold: float | None, host: Host) -> None:
        """``threshold`` in seconds; None: newest first, whatever waits."""
        self._host = host
        self._threshold = math.inf if threshold is None else threshold
        self._ask_at = math.inf if threshold is None else host.monotonic()
        self._sees_all = True
        """Whether the latest page from the oldest end held all that waits."""
        self.newest_first = threshold is None

    def asks_for_oldest(self) -> bool:
        """Whether the next poll is to begin with a page from its oldest end."""
        due = self._host.monotonic() >= self._ask_at
        return due if self.newest_first else self._sees_all or not due

    def decide(self, page: Candidates, *, of_newest: bool, now: int) -> None:
        """Choose the order, shown the first page from an end at epoch microseconds ``now``."""
        if of_newest and self.newest_first:
            return
        live = [row for row in page.rows if row.damage is None and row.expires_at > now]
        ahead = any(row.head_start for row in live)
        if not of_newest:
            self._sees_all = page.next is None
        was_oldest_first = not self.newest_first
        limit = self._threshold * (1 if was_oldest_first else OLDEST_AGAIN_BELOW)
        self.newest_first = ahead or (not of_newest and _older_than(limit, page, live, now))
        if of_newest or not was_oldest_first or self.newest_first:
            self._ask_at = self._host.monotonic() + microseconds(ASK_EVERY)


def _older_than(seconds: float, oldest: Candidates, live: Sequence[Candidate], now: int) -> bool:
    """Whether the oldest live task of the queue has waited for longer."""
    if live:
        return (now - live[0].since) / MICROSECONDS > seconds
    # None on the page. With more behind it, expired tasks lie at this end until TTL deletes them:
    # to go through them at each poll would cost the more, the more they are.
    return oldest.next is not None
