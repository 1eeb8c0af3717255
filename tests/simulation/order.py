"""Which end of the queue comes first, by what the processor was shown.

The rule of the adaptive order, told once more: the oldest first while the oldest live task is
younger than the threshold, the newest once it is older, and the oldest again once it is younger by
a margin; the newest, too, while a page shows a task with a head start. Without a threshold the
newest first, always. Once a second, and no more often, a look goes to the other end, where what
lies there is not known.
"""

from collections.abc import Callable
from typing import Final

from lifoq.basics.host import MICROSECONDS
from lifoq.items.schema import Attribute, Preview
from lifoq.store.table import Page
from tests.simulation.history import Violation

BACK_BELOW: Final = 0.95
"""The part of the threshold below which the oldest comes first again."""

ASIDE_EVERY: Final = MICROSECONDS
"""Microseconds between two looks at the end that does not come first."""
LEEWAY: Final = MICROSECONDS // 1_000
"""Microseconds by which a look may be sent before, or after, it is due."""

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
        """Whether the latest page from the oldest end held all that waits."""
        self._seen_at = 0
        """When that was."""

    def begins(
        self, page: Page, *, newest_first: bool, sent: int, clock: int, now: int, sure: bool
    ) -> bool:
        """Whether a look begins with this page from an end of the queue; else it only showed what
        lies there, before a look at the other end. ``sent`` and ``now``: when it was asked for, and
        when it came, monotonic; ``clock`` is the worker's; ``sure``: whether it has seen all that
        was shown."""
        if self._threshold is None:
            if not newest_first:
                raise Violation("a look began with the oldest, where the newest comes first")
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
        """Where it was decided on by all that has been seen since."""
        if sent < max(self._aside_at, self._seen_at):
            return
        passed = sent - self._aside_at
        if aside and self._aside_at and passed < ASIDE_EVERY - LEEWAY:
            raise Violation("looks more than once a second at the end that does not come first")
        unknown = self._newest_first or not self._sees_all
        if not aside and unknown and passed > ASIDE_EVERY + LEEWAY:
            raise Violation("does not look in time at the end that does not come first")

    def _turn(self, newest_first: bool) -> None:  # noqa: FBT001
        if self._newest_first != newest_first:
            self._newest_first = newest_first
            self._tell(TO_NEWEST if newest_first else TO_OLDEST)
