"""The repeats of a conditional write that was refused.

The refusal tells what is there now, and so which write to send in place of the one that was
refused. As a rule one repeat is enough; but others may be faster each time, and no item, whatever
somebody wrote into it, may keep a caller for ever.
"""

from typing import Final

from lifoq.basics.host import Host
from lifoq.errors import StoreUnavailable

TRIES: Final = 12
"""Writes of one call, at the most."""
AT_ONCE: Final = 3
"""Tries between two pauses: what a refusal tells is the truth for a moment only."""
FIRST_REWRITE_PAUSE: Final = 0.1
"""Seconds before a write is sent again that others have come before, doubling: they may be fast,
but not for ever."""


class Outrun(StoreUnavailable):
    """Raised when the item changed before each try. A later call may succeed."""


class WriteRetries:
    """The repeats of one conditional write that others keep refusing: counted, with pauses."""

    def __init__(self, host: Host, name: str) -> None:
        """``name``: the id of the item that is written."""
        self._host = host
        self._name = name
        self._refused = 0

    def after_refusal(self) -> None:
        """Note a refusal, and sleep a while after every few of them. Raises Outrun after ``TRIES``
        refusals."""
        self._refused += 1
        if self._refused == TRIES:
            raise Outrun(f"{self._name} changed {TRIES} times while it was being written")
        rounds, left = divmod(self._refused, AT_ONCE)
        if not left:
            self._host.sleep(FIRST_REWRITE_PAUSE * 2 ** (rounds - 1))
