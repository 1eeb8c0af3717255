"""Slots: why no more than n tasks of one type and key are TAKEN at a time, or why they do not start
more often than at a rate, where a type says so.

For each number below n there is an item in the queue's table, beside the tasks. It names the claim
that holds it, and the task of that claim. A claim is written together with a slot, both or neither,
and only over a slot that is free, or whose claim is known to have ended: its task is not TAKEN
under it any more. No claim is sent twice (each sending has an id of its own), so one that has ended
never comes to life again, and whoever learned of its end may act on it at any later time. So a slot
needs no lease: the task's own decides, and a slot that a lost worker leaves is found by the next
who wants it.

Where a type has a rate per key, the key has one slot, with the stamp of its last start: see
``store.key_starts_seen``. If the number at a time is not limited, the slot names no claim.

A slot is no task: it has no status, so it is in no index, wakes nobody, and is counted nowhere.
"""

from typing import Any, Final

from lifoq.basics.host import MICROSECONDS
from lifoq.items.change import Alternatives, Change, Condition, Equals, Exists, Item, Not, Value
from lifoq.items.schema import OWN_PREFIX, Status
from lifoq.items.schema import Attribute as A

HELD_BY: Final = "heldBy"
"""A slot's attribute: the id of the task whose claim holds it."""
KEPT_HELD: Final = 365 * 86_400
"""Seconds until DynamoDB may delete a slot that is held: longer than any claim lasts."""
KEPT_FREE: Final = 3_600
"""Seconds until DynamoDB may delete a slot that is free, after the interval of its rate."""
FREE: Final[Alternatives] = ((Not(Exists(A.CLAIM_ID)),),)
"""The condition that a slot is free: whoever held it has left it."""


def slot_id(task_type: str, key: str, number: int) -> str:
    """The length of the type tells where the key begins."""
    return f"{OWN_PREFIX}slot:{number}:{len(task_type)}:{task_type}:{key}"


def held(slot: str, *, task_id: str, claim_id: str, now: int) -> dict[str, Value]:
    """The item of a slot that a claim holds."""
    return {
        str(A.TASK_ID): slot,
        HELD_BY: task_id,
        str(A.CLAIM_ID): claim_id,
        str(A.TTL): now // MICROSECONDS + KEPT_HELD,
    }


def started(slot: str, *, now: int, interval: int) -> dict[str, Value]:
    """Return the item of a slot that no claim holds, and that only tells of a start.
    ``interval``: the microseconds until the next."""
    return {str(A.TASK_ID): slot, str(A.TTL): _kept_free(now, interval)}


def next_start(slot: Item) -> int | None:
    """Return the epoch microseconds by which the next task of the key may start, of a slot that
    only tells of the last start; None of another one. It is a second late at the most."""
    kept, stamp = slot.get(A.TTL), slot.get(A.TAKEN_AT)
    if HELD_BY in slot or not isinstance(kept, int) or not isinstance(stamp, int):
        return None
    return (kept - KEPT_FREE + 1) * MICROSECONDS


def free_or_left_by(claim_id: Any) -> Alternatives:
    """Return the condition that a slot is free, or is still held by this claim, which has ended."""
    return *FREE, (Equals(A.CLAIM_ID, claim_id),)


def both(one: Alternatives, other: Alternatives) -> Alternatives:
    """Join conditions: one of each must hold."""
    return tuple((*first, *second) for first in one for second in other)


def leave(*, claim_id: str, now: int, interval: int) -> Change:
    """Return the change that frees the slot of a claim that has ended; unless somebody found that
    out before, and has the slot."""
    return Change(
        when=(Equals(A.CLAIM_ID, claim_id),),
        set={A.TTL: _kept_free(now, interval)},
        remove=(A.CLAIM_ID,),
    )


def _kept_free(now: int, interval: int) -> int:
    """The epoch second from which on nobody needs a slot that is free: its rate allows a start by
    then, on any clock."""
    return (now + interval) // MICROSECONDS + KEPT_FREE


def holds(claim_id: Any, task: Item | None) -> bool:
    """True if the claim on this task, which was granted once, still stands. A claim whose id
    somebody overwrote in the slot stands for as long as the task is TAKEN."""
    if task is None or task.get(A.TASK_STATUS) != Status.TAKEN:
        return False
    return not isinstance(claim_id, str) or task.get(A.CLAIM_ID) == claim_id


def as_shown(task_type: str, key: str | None) -> tuple[Condition, ...]:
    """The task has this type and key. Its id may have been put anew, with others, since the index
    showed it: then it could be claimed beside its slot."""
    same_key = Not(Exists(A.TASK_KEY)) if key is None else Equals(A.TASK_KEY, key)
    return Equals(A.TASK_TYPE, task_type), same_key
