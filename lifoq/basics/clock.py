"""Learn how far this machine's clock is off: each answer of DynamoDB has the server's time."""

import functools
import logging
import threading
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from lifoq.basics.host import MICROSECONDS, SYSTEM, Host, microseconds

log = logging.getLogger("lifoq.clock")

CLOCK_TOLERANCE: Final = 2.0
"""Seconds by which a clock may be off. Beyond it the queue goes by the server's clock; below it by
the machine's own, which is the finer one."""
CLOCK_OFF_AT_MOST: Final = 2 * CLOCK_TOLERANCE
"""Seconds by which a process may still see the time wrong: by the tolerance, by the exactness of
the server's dates, and by a call's duration."""
CLOCKS_APART: Final = 2 * CLOCK_OFF_AT_MOST
"""Seconds by which the clocks of two workers may differ, one of them ahead, the other behind."""
RESOLUTION: Final = MICROSECONDS
"""Microseconds: the exactness of the header ``Date``, which has whole seconds, rounded down."""


class ServerClock:
    """Narrows down, answer by answer, by how much this machine's clock is ahead of the server's.

    An answer dated D was made between D and D + 1 s by the server's clock, and by our own between
    the sending of the request and the answer's arrival. So it tells how far we are ahead, to within
    a second and the call's duration. What several answers agree on is narrower; where an answer
    contradicts them, a clock was set, and it alone counts.
    """

    def __init__(self, host: Host = SYSTEM) -> None:
        self.host = host
        """The machine whose clock it is."""
        self._here = threading.local()
        self._ahead: tuple[int, int] | None = None
        """The least and the most by which this clock is ahead, in microseconds."""
        self._told = False

    def now(self) -> int:
        """Epoch microseconds, by the server's clock where this machine's is off."""
        return self.host.now() - self.ahead()

    def sends(self) -> None:
        """Note that this thread sends a request."""
        self._here.sent = self.host.now()

    def receives(self, date: str | None) -> None:
        """Note that this thread has its answer, with this ``Date``. A text that is no date teaches
        nothing."""
        dated = _dated(date) if date else None
        if dated is not None:
            self.learn(dated=dated, sent=self._here.sent, received=self.host.now())

    def ahead(self) -> int:
        """Microseconds to take off this machine's clock; 0 while it may be within the tolerance."""
        if self._ahead is None:
            return 0
        least, most = self._ahead
        if least <= microseconds(CLOCK_TOLERANCE) and most >= -microseconds(CLOCK_TOLERANCE):
            return 0
        return (least + most) // 2

    def learn(self, *, dated: int, sent: int, received: int) -> None:
        """Learn from an answer: ``dated`` by the server, ``sent`` and ``received`` by this machine,
        all in epoch microseconds."""
        least, most = sent - dated - RESOLUTION, received - dated
        if least >= most:
            return  # this machine's clock was set back meanwhile
        if self._ahead is not None:
            narrowed = max(least, self._ahead[0]), min(most, self._ahead[1])
            if narrowed[0] < narrowed[1]:
                least, most = narrowed
        self._ahead = least, most
        self._tell()

    def _tell(self) -> None:
        ahead = self.ahead()
        if ahead and not self._told:
            self._told = True
            log.warning(
                "this machine's clock is %.0f s %s DynamoDB's; lifoq goes by DynamoDB's: "
                "have the clock synchronized",
                abs(ahead) / MICROSECONDS,
                "ahead of" if ahead > 0 else "behind",
            )


@functools.lru_cache(maxsize=8)  # all answers of a second have the same date
def _dated(text: str) -> int | None:
    """Epoch microseconds of a ``Date`` header; None where it is odd."""
    try:
        date = parsedate_to_datetime(text)
        return round(date.replace(tzinfo=date.tzinfo or UTC).timestamp()) * MICROSECONDS
    except (ValueError, TypeError, OverflowError):
        return None
