"""At which end of the queue a look must begin, by what the processor was shown.

The rule of the adaptive order, told once more: the oldest first while the oldest live task is
younger than the threshold, the newest once it is older, and the oldest again once it is younger by
a margin. Without a threshold the newest first, always.
"""

from collections.abc import Callable
from typing import Final

from lifoq.basics.host import MICROSECONDS
from lifoq.items.schema import Attribute
from lifoq.tables.table import Page
from tests.simulation.history import Violation

BACK_BELOW: Final = 0.95
"""The part of the threshold below which the oldest comes first again."""
ASKED_EVERY: Final = MICROSECONDS
"""While the newest comes first, one look in so many microseconds asks for the oldest."""

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
        self._sure = True

    def begin(self) -> None:
        """A run begins. The one before may have ended without the answer to its last look."""
        self._sure = False

    def begins(self, page: Page, *, newest_first: bool, sent: int, clock: int, now: int) -> bool:
        """Whether a look begins with this page from an end of the queue; else it only showed the
        age of the oldest task. ``sent`` and ``now`` are monotonic, ``clock`` is the worker's."""
        due, sure, self._sure = sent >= self._ask_at, self._sure, True
        if newest_first:
            if not self._newest_first:  # it was sent before the oldest came first
                return False
            if self._threshold is not None and due and sure:
                raise Violation("the newest come first, and nobody asked for the oldest in time")
            return True
        if self._threshold is None:
            raise Violation("a look began with the oldest, where the newest comes first")
        unanswered = sent <= self._ask_at - ASKED_EVERY  # the one before it, by then
        if self._newest_first and not (due or unanswered) and sure:
            raise Violation("the oldest task was asked for more often than once a second")
        self._ask_at = now + ASKED_EVERY
        self._decide(page, self._threshold, clock)
        return not self._newest_first

    def _decide(self, page: Page, threshold: float, now: int) -> None:
        before = self._newest_first
        limit = threshold * BACK_BELOW if before else threshold
        live = [row for row in page.rows if row[Attribute.EXPIRES_AT] > now]
        if live:
            age = (now - live[0][Attribute.TASK_CREATED]) / MICROSECONDS
            self._newest_first = age > limit
        else:  # behind a whole page of expired tasks nobody looks for the oldest
            self._newest_first = page.next is not None
        if self._newest_first != before:
            self._tell(TO_NEWEST if self._newest_first else TO_OLDEST)
