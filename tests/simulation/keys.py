"""The number of tasks of a type and key that are TAKEN at a time, by the truth of the table."""

from collections.abc import Iterable
from typing import Final

from lifoq.items import key_slots
from lifoq.items.change import Item
from lifoq.items.schema import OWN_PREFIX, Attribute, Status
from tests.simulation.history import Violation, Write, status_of

PER_KEY: Final = {"one-per-key": 1, "two-per-key": 2}
"""Types whose tasks of a key must not all be TAKEN at a time."""
KEYS: Final = (None, "k1", "k1", "k2", "k3")
"""To draw from."""

Keyed = tuple[str, str]
"""A task type and a key."""


def is_slot(item: Item) -> bool:
    return str(item[Attribute.TASK_ID]).startswith(OWN_PREFIX)


def limited(item: Item) -> Keyed | None:
    """The type and key of a task that a limit applies to."""
    task_type, key = str(item[Attribute.TASK_TYPE]), item.get(Attribute.TASK_KEY)
    return None if key is None or task_type not in PER_KEY else (task_type, str(key))


def check(write: Write, tasks: Iterable[Item]) -> str | None:
    """Violation, where a claim leaves more of a key TAKEN than may be; FULL, where as many."""
    keyed = None if write.after is None else limited(write.after)
    if keyed is None or (write.was, write.becomes) != (Status.PENDING, Status.TAKEN):
        return None
    taken = [i for i in tasks if status_of(i) is Status.TAKEN and limited(i) == keyed]
    if len(taken) > PER_KEY[keyed[0]]:
        others = sorted(str(item[Attribute.TASK_ID]) for item in taken)
        raise Violation(f"is TAKEN, and of {keyed} are {others}", write.task_id)
    return FULL if len(taken) == PER_KEY[keyed[0]] else None


def check_slot(slot: Item, task: Item | None) -> None:
    """Violation, where a slot is lost whose claim stands, on the ``task`` that it names."""
    claim = slot.get(Attribute.CLAIM_ID)
    if claim is not None and key_slots.holds(str(claim), task):
        rule = f"is TAKEN, and lost its slot {slot[Attribute.TASK_ID]}"
        raise Violation(rule, str(slot[key_slots.HELD_BY]))


FULL: Final = "as many of a key are taken as may be"
BUSY: Final = "a claim is refused, since others of its key are taken"
FOUND_OVER: Final = "the slot of a claim that has ended is taken over"
KEY_FINDINGS: Final = {FULL, BUSY, FOUND_OVER}
