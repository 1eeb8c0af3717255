"""Which end of the queue comes first, by what the processor was shown.

The rule of the adaptive order, told once more: the oldest first while the oldest live task is
younger than the threshold, the newest once it is older, and the oldest again once it is younger by
a margin; the newest, too, while a page shows a task with a head start. Without a threshold the
newest first, always.
"""

from collections.abc import Callable
from typing import Final

from lifoq.basics.host import MICROSECONDS
from lifoq.items.schema import Attribute, Look
from lifoq.tables.table import Page
from tests.simulation.history import Violation

BACK_BELOW: Final = 0.95
"""The part of the threshold below which the oldest comes first again."""

TO_NEWEST: Final = "from now on the newest first"
TO_OLDEST: Final = "from now on the oldest first"
TURNS: Final = {TO_NEWEST, TO_OLDEST}


class OrderRule:
    def __init__(self, threshold: float | None, tell: Callable[[str], None]) -> None:
        """``threshold`` in seconds. ``tell`` takes in what happens."""
        self._threshold = threshold
        self._tell = tell
        self._newest_first = threshold is None
        self._aside = 0
        """Pages in a row from the end that does not come first."""

    def begins(self, page: Page, *, newest_first: bool, clock: int, sure: bool) -> bool:
        """Whether a look begins with this page from an end of the queue; else it only showed what
        lies there, before a look at the other end. ``clock`` is the worker's; ``sure``: whether it
        has seen all that was shown."""
        if self._threshold is None:
            if not newest_first:
                raise Violation("a look began with the oldest, where the newest comes first")
            return True
        self._aside = 0 if newest_first is self._newest_first else self._aside + 1
        if self._aside > 2 and sure:
            raise Violation(
                "looks thrice in a row at the end of the queue that does not come first"
            )
        live = [row for row in page.rows if row[Attribute.EXPIRES_AT] > clock]
        ahead = any(Look.HEAD_START in row.get(Attribute.LOOK, {}) for row in live)
        if not newest_first:
            limit = self._threshold * (BACK_BELOW if self._newest_first else 1)
            if live:
                old = clock - live[0][Attribute.TASK_CREATED] > limit * MICROSECONDS
            else:  # behind a whole page of expired tasks nobody looks for the oldest
                old = page.next is not None
            self._turn(ahead or old)
        elif not self._newest_first:
            self._turn(ahead)
        return newest_first is self._newest_first

    def _turn(self, newest_first: bool) -> None:  # noqa: FBT001
        if self._newest_first != newest_first:
            self._newest_first = newest_first
            self._tell(TO_NEWEST if newest_first else TO_OLDEST)
