"""The rule of the adaptive order: which end of the queue comes first, by what the processor was
shown.

It is told once more, apart from the library. The oldest comes first while the oldest live task is
younger than the threshold, and the newest once it is older. The oldest comes first again once it is
younger by a margin. The newest also comes first while a page shows a task with a head start.
Without a threshold the newest always comes first. Once a second, and no more often, a poll goes to
the other end, if what lies there is not known.
"""

from collections.abc import Callable
from typing import Final

from lifoq.basics.host import MICROSECONDS
from lifoq.items.schema import Attribute, Preview
from lifoq.store.table_protocol import Page
from tests.simulation.history import Violation

BACK_BELOW: Final = 0.95
"""The part of the threshold below which the oldest comes first again."""

ASIDE_EVERY: Final = MICROSECONDS
"""Microseconds between two polls of the end that does not come first."""
LEEWAY: Final = MICROSECONDS // 1_000
"""Microseconds by which a poll may be sent before, or after, it is due."""

TO_NEWEST: Final = "from now on the newest first"
TO_OLDEST: Final = "from now on the oldest first"
TURNS: Final = {TO_NEWEST, TO_OLDEST}


class OrderRule:
    def __init__(self, threshold: float | None, tell: Callable[[str], None]) -> None:
        """``threshold`` in seconds. ``tell`` takes in what happens."""
        self._threshold = threshold
        self._tell = tell
        self._newest_first = threshold is None
        self._aside_at = 0
        """When a page from the end that does not come first was last seen."""
        self._sees_all = True
        """True if the latest page from the oldest end held all that waits."""
        self._seen_at = 0
        """The moment at which that page came."""

    def begins(
        self, page: Page, *, newest_first: bool, sent: int, clock: int, now: int, sure: bool
    ) -> bool:
        """Return True if a poll begins with this page from an end of the queue. Else the page only
        showed what lies there, before a poll of the other end. ``sent`` and ``now``: the monotonic
        moments at which it was asked for and came. ``clock`` is the worker's. ``sure``: it has seen
        all that was shown."""
        if self._threshold is None:
            if not newest_first:
                raise Violation("a poll began with the oldest, where the newest comes first")
            return True
        aside, was_newest_first = newest_first is not self._newest_first, self._newest_first
        if sure:
            self._assert_paced(sent, aside=aside)
        live = [row for row in page.rows if row[Attribute.EXPIRES_AT] > clock]
        ahead = any(Preview.HEAD_START in row.get(Attribute.PREVIEW, {}) for row in live)
        if not newest_first:
            limit = self._threshold * (BACK_BELOW if self._newest_first else 1)
            if live:
                old = clock - live[0][Attribute.TASK_CREATED] > limit * MICROSECONDS
            else:  # behind a whole page of expired tasks nobody looks for the oldest
                old = page.next is not None
            self._turn(ahead or old)
            self._sees_all, self._seen_at = page.next is None, now
        elif not self._newest_first:
            self._turn(ahead)
        if aside or (self._newest_first and not was_newest_first):
            self._aside_at = now
        return newest_first is self._newest_first

    def _assert_paced(self, sent: int, *, aside: bool) -> None:
        """Raise a Violation if polls of the other end come too often, or too late."""
        if sent < max(self._aside_at, self._seen_at):
            return  # it was sent before the worker had seen the latest pages
        passed = sent - self._aside_at
        if aside and self._aside_at and passed < ASIDE_EVERY - LEEWAY:
            raise Violation("polls more than once a second the end that does not come first")
        unknown = self._newest_first or not self._sees_all
        if not aside and unknown and passed > ASIDE_EVERY + LEEWAY:
            raise Violation("does not poll in time the end that does not come first")

    def _turn(self, newest_first: bool) -> None:  # noqa: FBT001
        if self._newest_first != newest_first:
            self._newest_first = newest_first
            self._tell(TO_NEWEST if newest_first else TO_OLDEST)
