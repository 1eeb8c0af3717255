"""At which end of the queue a look must begin, by what the processor was shown.

The rule of the adaptive order, told once more: the oldest first while the oldest live task is
younger than the threshold, the newest once it is older, and the oldest again once it is younger by
a margin; the newest, too, while a page shows a task with a head start. Without a threshold the
newest first, always.
"""

from collections.abc import Callable, Sequence
from typing import Final

from lifoq.basics.host import MICROSECONDS
from lifoq.items.change import Item
from lifoq.items.schema import Attribute
from lifoq.tables.table import Page
from tests.simulation.history import Violation

BACK_BELOW: Final = 0.95
"""The part of the threshold below which the oldest comes first again."""
ASKED_EVERY: Final = MICROSECONDS
"""One look in so many microseconds begins at the other end than the one that is served."""

TO_NEWEST: Final = "from now on the newest first"
TO_OLDEST: Final = "from now on the oldest first"
TURNS: Final = {TO_NEWEST, TO_OLDEST}


class OrderRule:
    def __init__(self, threshold: float | None, tell: Callable[[str], None]) -> None:
        """``threshold`` in seconds. ``tell`` takes in what happens."""
        self._threshold = threshold
        self._tell = tell
        self._newest_first = threshold is None
        self._ask_at = 0
        self._sees_all = True
        self._told_at = 0
        """When the latest page from the oldest end came."""
        self._sure = True

    def begin(self) -> None:
        """A run begins. The one before may have ended without the answer to its last look."""
        self._sure = False

    def begins(self, page: Page, *, newest_first: bool, sent: int, clock: int, now: int) -> bool:
        """Whether a look begins with this page from an end of the queue; else it only showed the
        age of the oldest task. ``sent`` and ``now`` are monotonic, ``clock`` is the worker's."""
        due, sure, self._sure = sent >= self._ask_at, self._sure, True
        if newest_first:
            if not self._newest_first:
                self._ask_at = now + ASKED_EVERY
                self._turn(_some_ahead(_live(page, clock)))
                return self._newest_first
            if self._threshold is not None and due and sure:
                raise Violation("the newest come first, and nobody asked for the oldest in time")
            return True
        if self._threshold is None:
            raise Violation("a look began with the oldest, where the newest comes first")
        unanswered = sent <= self._ask_at - ASKED_EVERY  # the one before it, by then
        if self._newest_first and not (due or unanswered) and sure:
            raise Violation("the oldest task was asked for more often than once a second")
        knew = sent >= self._told_at
        if not (self._newest_first or self._sees_all) and due and sure and knew:
            raise Violation("the oldest come first, and nobody looked for head starts in time")
        before = self._newest_first
        self._decide(page, self._threshold, clock)
        self._told_at = now
        if before or self._newest_first:
            self._ask_at = now + ASKED_EVERY
        return not self._newest_first

    def _decide(self, page: Page, threshold: float, now: int) -> None:
        limit = threshold * BACK_BELOW if self._newest_first else threshold
        live = _live(page, now)
        self._sees_all = page.next is None
        if live:
            age = (now - live[0][Attribute.TASK_CREATED]) / MICROSECONDS
            self._turn(_some_ahead(live) or age > limit)
        else:  # behind a whole page of expired tasks nobody looks for the oldest
            self._turn(page.next is not None)

    def _turn(self, newest_first: bool) -> None:  # noqa: FBT001
        if self._newest_first != newest_first:
            self._newest_first = newest_first
            self._tell(TO_NEWEST if newest_first else TO_OLDEST)


def _live(page: Page, now: int) -> list[Item]:
    return [row for row in page.rows if row[Attribute.EXPIRES_AT] > now]


def _some_ahead(rows: Sequence[Item]) -> bool:
    return any(Attribute.HEAD_START in row for row in rows)
