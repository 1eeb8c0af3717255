"""The note that lies beside a pause: who paused the queue, by what, and when.

Lambda's switch keeps no reason. A pause whose maker was killed looks like one that is meant, unless
something tells them apart. The note is an item of the queue's table: whoever operates a queue may
write there already, and no second service has to be asked. It is no task: it has no status.
"""

import getpass
import os
import socket
from dataclasses import dataclass
from typing import Final

from lifoq.basics import records
from lifoq.basics.host import MICROSECONDS
from lifoq.basics.times import spoken
from lifoq.items.change import Item
from lifoq.items.schema import OWN_PREFIX, Attribute

ITEM: Final = f"{OWN_PREFIX}pause"
"""The id of the note's item. No slot's id begins so."""


@dataclass(frozen=True, kw_only=True)
class PauseNote:
    """A note in the table: who paused the queue, when, and by which command."""

    by: str
    """The command that paused the queue, such as ``lifoq pause``."""
    who: str
    """The person who ran the command, and the place, such as ``ada@laptop, process 4711``."""
    at: int
    """Epoch microseconds, by the clock of that machine."""
    passing: bool = False
    """True if whatever paused the queue was to resume it by itself."""

    def told(self, queue_name: str, *, now: int) -> str:
        """Return the sentence for an operator; ``now`` in epoch microseconds."""
        ago = spoken(max(0, now - self.at) / MICROSECONDS)
        remedy = f"lifoq resume --queue {queue_name}"
        paused = f"{queue_name} was paused {ago} ago by {self.by} ({self.who})"
        if self.passing:
            return f"{paused}, which resumes it when it ends; if it runs no more: {remedy}"
        return f"{paused}; to go on: {remedy}"


def made_here(by: str, *, at: int, passing: bool) -> PauseNote:
    """Return the note of a pause by this process; ``at`` in epoch microseconds."""
    who = f"{_user()}@{socket.gethostname()}, process {os.getpid()}"
    return PauseNote(by=by, who=who, at=at, passing=passing)


def of(item: Item | None) -> PauseNote | None:
    """Return the note of an item; None if there is none, or none that can be understood."""
    try:
        return records.decode((item or {}).get(Attribute.PAYLOAD), PauseNote)
    except ValueError:
        return None


def _user() -> str:
    """The name of who runs this process; a container's user may have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"
