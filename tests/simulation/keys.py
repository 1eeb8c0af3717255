"""The number of tasks of a type and key that are TAKEN at a time, and the time between two starts
of a key, by the truth of the table."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.items import key_slots
from lifoq.items.change import Item
from lifoq.items.schema import OWN_PREFIX, Attribute, Status
from tests.simulation.history import Violation, Write, status_of

PER_KEY: Final = {"one-per-key": 1, "two-per-key": 2, "spaced-one-per-key": 1}
"""Types whose tasks of a key must not all be TAKEN at a time."""
RATE_PER_KEY: Final = {"spaced": 0.5, "spaced-one-per-key": 1.0}
"""Types whose tasks of a key must not start more often, per second."""
KEYED_TYPES: Final = tuple(dict.fromkeys((*PER_KEY, *RATE_PER_KEY)))
KEYS: Final = (None, "k1", "k1", "k2", "k3")
"""To draw from."""

Keyed = tuple[str, str]
"""A task type and a key."""


def is_slot(item: Item) -> bool:
    return str(item[Attribute.TASK_ID]).startswith(OWN_PREFIX)


def limited(item: Item) -> Keyed | None:
    """The type and key of a task that a limit applies to."""
    task_type, key = str(item[Attribute.TASK_TYPE]), item.get(Attribute.TASK_KEY)
    return None if key is None or task_type not in KEYED_TYPES else (task_type, str(key))


class Starts:
    """The claims under which task code began, of keys that have a rate."""

    def __init__(self) -> None:
        self._begun: dict[Keyed, list[int]] = defaultdict(list)

    def begins(self, claim: Write) -> str | None:
        """Violation, where two such claims of a key were written too soon after each other; PACED,
        where one came as soon as it may."""
        keyed = None if claim.after is None else limited(claim.after)
        if keyed is None or keyed[0] not in RATE_PER_KEY:
            return None
        interval = microseconds(1 / RATE_PER_KEY[keyed[0]])
        apart = min((abs(at - claim.time) for at in self._begun[keyed]), default=2 * interval)
        if apart < interval:
            rule = f"was started {apart / MICROSECONDS} s from another of {keyed}"
            raise Violation(rule, claim.task_id)
        self._begun[keyed].append(claim.time)
        return PACED if apart < 1.2 * interval else None


def check(write: Write, tasks: Callable[[], Iterable[Item]]) -> str | None:
    """Violation, where a claim leaves more of a key TAKEN than may be; FULL, where as many.
    ``tasks``: reads all tasks of the table."""
    keyed = None if write.after is None else limited(write.after)
    if (
        keyed is None
        or keyed[0] not in PER_KEY
        or (write.was, write.becomes) != (Status.PENDING, Status.TAKEN)
    ):
        return None
    taken = [i for i in tasks() if status_of(i) is Status.TAKEN and limited(i) == keyed]
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
PACED: Final = "a task of a key starts as soon as its rate allows"
FOUND_OVER: Final = "the slot of a claim that has ended is taken over"
KEY_FINDINGS: Final = {FULL, BUSY, PACED, FOUND_OVER}
