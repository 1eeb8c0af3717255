"""The demand of one worker for one limit: what its tasks used lately, and what they asked for."""

from collections import deque
from typing import NamedTuple

from lifoq.basics.host import Host, microseconds
from lifoq.items.quota_table import NONE, Amount
from lifoq.worker.gates.quota_protocol.times import ASKS_AGAIN, REMEMBERED


class Entered(NamedTuple):
    """A task that has entered."""

    at: int
    """When, in monotonic microseconds."""
    inside: int
    """The tasks inside, or their units, since then."""
    weight: int
    """1, or the task's units where these are counted."""


class Demand:
    """The demand of the last second. Read and written under the lock of ``Gates``."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._entered = deque[Entered]()
        """The tasks that entered in the last second."""
        self._asked, self._asked_at = NONE, 0
        """The latest request: how much, and when (monotonic microseconds)."""

    def entered(self, weight: int, *, inside: int) -> Entered:
        """Note that a task has entered; ``inside`` counts it."""
        entered = Entered(self._host.monotonic(), inside, weight)
        self._entered.append(entered)
        return entered

    def undo_entered(self, entered: Entered) -> None:
        """Forget a task that entered: it was not started."""
        if entered in self._entered:
            self._entered.remove(entered)

    def note_request(self, amount: Amount) -> None:
        """Note that a task waits for a larger quota, which could use so much more at once."""
        self._asked, self._asked_at = amount, self._host.monotonic()

    @property
    def asked(self) -> Amount:
        """The latest request; none where it is older than ``REMEMBERED``."""
        return self._asked if self._within(self._asked_at, REMEMBERED) else NONE

    @property
    def asked_just_now(self) -> bool:
        """True if the latest request is so young that its task may still wait."""
        return self._within(self._asked_at, ASKS_AGAIN)

    @property
    def starts(self) -> int:
        """Tasks that entered in the last second, or their units."""
        self._forget_the_older()
        return sum(entered.weight for entered in self._entered)

    def most_inside(self, inside: int) -> int:
        """Return the most tasks (or units) that were inside when one entered in the last second;
        ``inside``, those of now, where none entered."""
        self._forget_the_older()
        return max((entered.inside for entered in self._entered), default=inside)

    def _forget_the_older(self) -> None:
        while self._entered and not self._within(self._entered[0].at, REMEMBERED):
            self._entered.popleft()

    def _within(self, moment: int, seconds: float) -> bool:
        return self._host.monotonic() < moment + microseconds(seconds)
