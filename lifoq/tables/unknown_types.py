"""Task types that no worker is known to have, of the tasks that wait.

The sweep looks for them, since it has the task code, and notes their names in the table for those
who have not. The note is no task: it has no status.
"""

from typing import Final

from lifoq.basics import jsontext
from lifoq.basics.host import MICROSECONDS
from lifoq.items.change import Change, Item
from lifoq.items.schema import SLOT_PREFIX, Attribute
from lifoq.tables.store import Store

NOTE: Final = f"{SLOT_PREFIX}unknown-types"
"""The id of its item. No slot's id begins so."""
MOST_NAMED: Final = 20
KEPT: Final = 7 * 86_400
"""Seconds until DynamoDB may delete the note; then it is written anew."""


def note(store: Store, names: tuple[str, ...]) -> None:
    """In place of what was noted before."""
    change = Change(
        when=(),
        creates=True,
        set={
            Attribute.PAYLOAD: jsontext.encode(names, "names"),
            Attribute.TTL: store.now() // MICROSECONDS + KEPT,
        },
    )
    store.table.update(NOTE, change)


def noted(store: Store) -> tuple[str, ...]:
    """What the latest sweep found."""
    return named(store.table.get(NOTE))


def named(item: Item | None) -> tuple[str, ...]:
    """In the note; nothing where it cannot be read."""
    text = (item or {}).get(Attribute.PAYLOAD)
    try:
        names = jsontext.decode(text) if isinstance(text, str) else []
    except (ValueError, RecursionError):
        return ()
    return tuple(map(str, names)) if isinstance(names, list) else ()
