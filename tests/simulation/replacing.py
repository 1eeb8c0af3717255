"""Puts that replace: what each of their writes must be, and that none is lost or runs too late."""

from collections.abc import Mapping
from typing import Final

from lifoq.items.change import Item
from lifoq.items.schema import WAITING, Status
from lifoq.items.schema import Attribute as A
from tests.simulation.history import History, Write, require
from tests.simulation.machine import Role

OF_PARKING: Final = {A.PARKED, A.PARKED_AT, A.REPLACED, A.TASK_UPDATED}
"""All that may change while a task is TAKEN by who puts or cancels."""
NOT_PARKED: Final = {A.TASK_ID, A.HISTORY, A.REPLACED, A.TASK_UPDATED, A.CLAIM_ID, A.LEASES_LOST}
"""The attributes that a parked put does not bring."""


def replaces(write: Write) -> bool:
    """Return True if the task stands for another put from this write on."""
    before, after = write.before, write.after
    return (
        before is not None
        and after is not None
        and A.PUT_AT in after
        and after[A.PUT_AT] != before.get(A.PUT_AT)
    )


def parks(write: Write) -> bool:
    """Return True if the write parks a put beside the run, or withdraws it."""
    before, after = write.before, write.after
    return (
        write.was is write.becomes is Status.TAKEN
        and before is not None
        and after is not None
        and before.get(A.PARKED_AT) != after.get(A.PARKED_AT)
    )


def success_of(write: Write) -> str | None:
    """The claim whose success this is, kept as the outcome or overtaken by a parked put."""
    if write.before is None or write.after is None or write.was is not Status.TAKEN:
        return None
    past = (write.after.get(A.HISTORY) or [{}])[-1]
    overtaken = replaces(write) and past.get("how") == "SUCCEEDED"
    done = write.becomes is Status.SUCCESS or overtaken
    return str(write.before[A.CLAIM_ID]) if done else None


def check_replacement(write: Write, before: Item, after: Item) -> None:
    """Violation, where what a newer put made of the task is wrong."""
    _newer(write, before.get(A.PUT_AT), int(after[A.PUT_AT]))
    require(write, after[A.ATTEMPTS] == 0, "was replaced, and counts attempts of another put")
    if write.was is Status.TAKEN:
        _comes_back(write, before, after)
        return
    require(write, write.role is Role.CLIENT, f"was replaced by a {write.role}")
    if write.was in WAITING:
        live = before[A.EXPIRES_AT] > write.clock
        require(write, live, "was shed, and then replaced")
        counted = before.get(A.REPLACED, 0) + 1 == after[A.REPLACED]
        require(write, counted, "was replaced, and that is not counted")
        kept = before.get(A.HISTORY) == after.get(A.HISTORY)
        require(write, kept, "lost its history when it was replaced")
    else:
        anew = after[A.REPLACED] == 0 and A.HISTORY not in after
        require(write, anew, "begins anew with something of its end")


def _comes_back(write: Write, before: Item, after: Item) -> None:
    parked: Mapping[str, object] = before.get(A.PARKED, {})
    shown = {name: value for name, value in after.items() if name not in NOT_PARKED}
    meant = {name: value for name, value in parked.items() if name not in NOT_PARKED}
    require(write, shown == meant, "came back otherwise than it was parked")
    same = before.get(A.REPLACED) == after.get(A.REPLACED)
    require(write, same, "counts a put as replaced that has run")
    told, now = before.get(A.HISTORY, []), after[A.HISTORY]
    latest = now[-1]["taken"] == before[A.TAKEN_AT] and now[:-1] == told[-9:]
    again = now[-1]["how"] == "NOT_COUNTED" and now[:-1] == told[:-1]
    require(write, latest or again, "does not tell what became of its run")


def check_parking(write: Write, before: Item, after: Item) -> None:
    """Violation, where a put that is parked, or withdrawn, touches the run."""
    require(write, write.role is Role.CLIENT, f"a put was parked by a {write.role}")
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    require(write, names <= OF_PARKING, f"a put beside the run changed {names - OF_PARKING}")
    if A.PARKED_AT not in after:
        return
    _newer(write, _latest(before), int(after[A.PARKED_AT]))
    over = A.PARKED_AT in before
    counted = after.get(A.REPLACED, 0) - before.get(A.REPLACED, 0)
    require(write, counted == int(over), "a parked put was overtaken, and that is not counted")


def check_end(write: Write, before: Item) -> None:
    """Violation, where a run ends and takes the put with it that is parked beside it."""
    if write.was is Status.TAKEN and write.becomes is not Status.TAKEN:
        require(write, A.PARKED_AT not in before, "ended, and with it the put that was parked")


def _latest(item: Item) -> int | None:
    """When the newest put was made that the item knows of; None where that was one that keeps."""
    made: int | None = item.get(A.PARKED_AT, item.get(A.PUT_AT))
    return made


def _newer(write: Write, than: int | None, made: int) -> None:
    require(write, than is None or than < made, "an older put replaced a newer one")


def check_claim(write: Write, after: Item, history: History) -> None:
    """Violation, where a put runs that a newer one has replaced, which nobody withdrew."""
    newest = 0
    for earlier in history.of_task[write.task_id]:
        item = earlier.after or {}
        made = max(item.get(A.PUT_AT, 0), item.get(A.PARKED_AT, 0))
        withdrawn = parks(earlier) and A.PARKED_AT not in item
        newest = made if earlier.was is None or withdrawn else max(newest, made)
    late = after.get(A.PUT_AT, newest) < newest
    require(write, not late, "was claimed as a put that a newer one had replaced")


def was_applied(history: History, task_id: str, payload: str) -> bool:
    """Return True if the put was ever written."""
    items = [write.after or {} for write in history.of_task[task_id]]
    return any(payload in (i.get(A.PAYLOAD), i.get(A.PARKED, {}).get(A.PAYLOAD)) for i in items)
