"""Build the write of a put with ``if_exists="replace"``, by what it finds under its id.

A task that waits is taken over: payload, place, deadline and attempts are those of the new put from
then on. One that is TAKEN keeps running; the put is parked on its item, one at the most, and when
the run ends, however it does, the task goes back to the queue with it. One that has ended begins
anew.

Of several puts the newest counts, by the moment at which each was made: one that arrives late, such
as the repeat of one whose answer was lost, replaces no newer one.
"""

from typing import Final

from lifoq.items.attempt_history import Ended, PastAttempt, added
from lifoq.items.change import (
    AtMost,
    Change,
    Condition,
    Equals,
    Exists,
    GreaterThan,
    Item,
    Not,
    Put,
    StatusIn,
    StatusIs,
    Value,
)
from lifoq.items.schema import TERMINAL, WAITING, Status
from lifoq.items.schema import Attribute as A
from lifoq.items.task import Task

_OF_THE_ID: Final = {A.TASK_ID, A.REPLACED, A.HISTORY}
"""Attributes that belong to all puts of an id together, not to one of them."""


def first_try(item: Item, *, now: int) -> Change:
    """Return the first write of a put that has seen nothing yet. It succeeds where the id is free,
    and where a waiting task of this kind has it."""
    older = AtMost(A.PUT_AT, _made(item) - 1)
    return _taking_over(item, when=(*_waits(now), older), creates=True)


def over(seen: Item, item: Item, *, now: int) -> Put | Change | None:
    """Return the write of the put over an item that it has seen; None if the item shows a newer
    put, or this one itself. Raises DamagedTask where the item is no task."""
    task = Task.from_item(seen)
    latest = task if task.parked is None else task.parked
    if made_at(latest) >= _made(item):
        return None
    as_seen = _as_seen(task, item)
    if task.status is Status.TAKEN:
        return _parking(task, item, when=(StatusIs(Status.TAKEN), *as_seen))
    if task.waiting and not task.expired(now):
        return _taking_over(item, when=(*_waits(now), *as_seen))
    was_shed = (StatusIn(WAITING), AtMost(A.EXPIRES_AT, now))
    has_ended = (StatusIn(TERMINAL),)
    return Put(item=item, over=((*was_shed, *as_seen), (*has_ended, *as_seen)))


def made_at(task: Task) -> int:
    """When the put was made that a task stands for, as far as one can tell of one that keeps."""
    return min(task.enqueued_at, task.task_updated) if task.put_at is None else task.put_at


def with_parked(end: Change, item: Item | None, task: Task) -> Change | None:
    """Return the change to apply in place of ``end``, which ends an attempt at ``task`` and was
    refused: the same end, of an item on which a newer put is parked; or ``end`` itself, where that
    put has been withdrawn by now. None where it was refused for another reason. Raises
    DamagedTask."""
    as_before = tuple(each for each in end.when if not _is_about_parked(each))
    if item is None or as_before == end.when or not all(each.holds(item) for each in as_before):
        return None
    if A.PARKED_AT not in item:
        return end
    # The parked put is about to become the task: one that cannot be read raises DamagedTask here.
    Task.from_item(item)
    past = end.set.get(A.HISTORY) or added(task.history, _overtaken(end, task))
    of_the_end: dict[A, Value] = {
        name: value for name, value in end.set.items() if name in {A.TASK_UPDATED, A.LEASES_LOST}
    }
    # A worker recognises by its claim's id what it wrote; one that is lost must not.
    kept = () if A.CLAIM_ID in end.remove else (A.CLAIM_ID,)
    return _becoming(
        item[A.PARKED],
        when=(*as_before, Equals(A.PARKED_AT, item[A.PARKED_AT])),
        also={**of_the_end, A.HISTORY: past},
        kept=kept,
    )


def is_with_parked(item: Item, task: Task) -> bool:
    """True if the item shows that a parked put has taken the place of ``task`` since its claim."""
    waits = StatusIn(WAITING).holds(item)
    return waits and item.get(A.CLAIM_ID) == task.claim_id and item.get(A.PUT_AT) != task.put_at


def withdraw(task: Task, *, now: int) -> Change:
    """TAKEN stays TAKEN: the parked put is cancelled."""
    as_seen = Equals(A.PARKED_AT, 0 if task.parked is None else made_at(task.parked))
    return Change(
        when=(StatusIs(Status.TAKEN), as_seen),
        set={A.TASK_UPDATED: now},
        remove=(A.PARKED, A.PARKED_AT),
    )


def _made(item: Item) -> int:
    made: int = item[A.PUT_AT]
    return made


def _waits(now: int) -> tuple[Condition, ...]:
    not_shed = GreaterThan(A.EXPIRES_AT, now)  # TTL deletes late; what was shed was not replaced
    return StatusIn(WAITING), not_shed


def _as_seen(task: Task, item: Item) -> tuple[Condition, ...]:
    """The item may have moved on, but stands for an older put."""
    if task.put_at is not None:
        return (AtMost(A.PUT_AT, _made(item) - 1),)
    return Not(Exists(A.PUT_AT)), Equals(A.ENQUEUED_AT, task.enqueued_at)


def _taking_over(item: Item, *, when: tuple[Condition, ...], creates: bool = False) -> Change:
    return _becoming(item, when=when, kept=(A.CLAIM_ID, A.LEASES_LOST), creates=creates)


def _parking(task: Task, item: Item, *, when: tuple[Condition, ...]) -> Change:
    parked = {str(name): value for name, value in item.items() if name not in _OF_THE_ID}
    older = AtMost(A.PARKED_AT, _made(item) - 1)
    free = Not(Exists(A.PARKED_AT))
    return Change(
        when=(*when, free if task.parked is None else older),
        set={A.PARKED: parked, A.PARKED_AT: _made(item)},
        set_once={A.REPLACED: 0} if task.parked is None else {},
        increment=None if task.parked is None else A.REPLACED,
    )


def _becoming(
    new: Item,
    *,
    when: tuple[Condition, ...],
    also: dict[A, Value] | None = None,
    kept: tuple[A, ...],
    creates: bool = False,
) -> Change:
    """An item of this id becomes ``new``: what that does not have goes, but for what is ``kept``,
    and what belongs to the id."""
    own = {name: new[name] for name in A if name in new and name not in _OF_THE_ID}
    whole = {**own, **(also or {})}
    return Change(
        when=when,
        set=whole,
        creates=creates,
        increment=A.REPLACED if also is None else None,
        increment_from=-1 if creates else 0,
        remove=tuple(name for name in A if name not in {*whole, *kept, *_OF_THE_ID}),
    )


def _is_about_parked(condition: Condition) -> bool:
    match condition:
        case Not(Exists(A.PARKED_AT)) | Equals(A.PARKED_AT, _):
            return True
    return False


def _overtaken(end: Change, task: Task) -> PastAttempt:
    """A success that a newer put has overtaken, as the history keeps it."""
    return PastAttempt(
        attempt=task.attempts,
        taken_at=task.taken_at,
        ended_at=int(str(end.set[A.TASK_UPDATED])),
        ended=Ended.SUCCEEDED,
    )
