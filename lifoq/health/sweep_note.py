"""The sweep's note in the table, for whoever looks at the queue.

The sweep has the task code, comes by once a minute, and deletes what it sheds: nobody else can see
which task types no worker has, that nothing is claimed, and what was shed but is gone. The note is
no task: it has no status.
"""

from dataclasses import asdict, dataclass
from typing import Final

from lifoq.basics import jsontext, records
from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.items.change import Change, Item
from lifoq.items.schema import OWN_PREFIX, Attribute
from lifoq.store.base import StoreBase

NOTE: Final = f"{OWN_PREFIX}sweep"
"""The id of its item. No slot's id begins so."""
MOST_NAMED: Final = 20
"""Task types without a worker that a note names, at the most."""
MOST_KNOWN: Final = 100
"""Task types with a worker that a note names; it names none if they are more."""
LATELY: Final = 300.0
"""Seconds for which what was shed tells of the present."""
NOTE_KEPT: Final = 7 * 86_400
"""Seconds until DynamoDB may delete the note; then it is written anew."""


@dataclass(frozen=True, kw_only=True)
class Note:
    """The note that the latest sweep left in the table."""

    unknown_types: tuple[str, ...] = ()
    """Task types of tasks that wait, which no worker is known to have; MOST_NAMED at the most."""
    unknown_waiting: int = 0
    """The number of tasks of these types that wait."""
    stalled: bool = False
    """True if tasks wait and none is claimed."""
    shed: tuple[tuple[int, int], ...] = ()
    """The tasks that the sweep shed of late: for each time, in epoch microseconds, how many it shed
    up to then."""
    known_types: tuple[str, ...] = ()
    """Task types that some worker has a handler for; empty if they are too many to be noted, or if
    any type is taken."""

    def lacks(self, task_type: str) -> bool:
        """Return True if no worker is known to have a handler for the type."""
        known = not self.known_types or task_type in self.known_types
        return task_type in self.unknown_types or not known

    def shed_since(self, moment: int) -> tuple[tuple[int, int], ...]:
        """Return the sheddings after ``moment`` (epoch microseconds): when, and how many tasks."""
        return tuple((at, number) for at, number in self.shed if at > moment)


def lately(now: int) -> int:
    """The moment after which something was of late."""
    return now - microseconds(LATELY)


def write(store: StoreBase, note: Note) -> None:
    """Write the note in place of what was noted before."""
    change = Change(
        when=(),
        creates=True,
        set={
            Attribute.PAYLOAD: jsontext.encode(asdict(note), "note"),
            Attribute.TTL: store.now() // MICROSECONDS + NOTE_KEPT,
        },
    )
    store.table.update(NOTE, change)


def read(store: StoreBase) -> Note:
    """Return the note of the latest sweep."""
    return of(store.table.get(NOTE))


def of(item: Item | None) -> Note:
    """Return the note of an item; an empty one where it cannot be read."""
    try:
        return records.decode((item or {}).get(Attribute.PAYLOAD), Note)
    except ValueError:
        return Note()
