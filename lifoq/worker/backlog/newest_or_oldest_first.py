"""The end of the queue that a worker serves: always the newest, or the oldest as long as the oldest
task has not waited for too long."""

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


class NewestOrOldestFirst:
    """Chooses between newest first and oldest first. Without a threshold it is always newest first.
    With one, it is oldest first until the oldest waiting task is older than the threshold, or until
    a task with a head start waits: oldest first would serve that one last. Used by the thread of
    the run only; it outlives the run."""

    def __init__(self, threshold: float | None, host: Host) -> None:
        """``threshold`` in seconds; None for newest first, whatever waits."""
        self._host = host
        self._threshold = math.inf if threshold is None else threshold
        self._ask_at = math.inf if threshold is None else host.monotonic()
        self._sees_all = True
        """True if the latest page from the oldest end held all that waits."""
        self.newest_first = threshold is None

    def asks_for_oldest(self) -> bool:
        """Return True if the next poll is to begin with a page from the oldest end."""
        due = self._host.monotonic() >= self._ask_at
        return due if self.newest_first else self._sees_all or not due

    def decide(self, page: Candidates, *, of_newest: bool, now: int) -> None:
        """Choose the order, given the first page from one end (``of_newest``) at epoch microseconds
        ``now``."""
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
    """Return True if the oldest live task has waited for longer than ``seconds``."""
    if live:
        return (now - live[0].since) / MICROSECONDS > seconds
    # The page has no live row. If there are more pages, expired tasks lie at this end until TTL
    # deletes them. To read past them at each poll would cost the more, the more they are: so the
    # oldest live task is taken to be too old.
    return oldest.next is not None
