"""Cancelling what runs: who may ask for it, and that what was cancelled never starts again."""

from typing import Final

from lifoq.items.change import Item
from lifoq.items.schema import Attribute as A
from lifoq.items.schema import Status
from tests.simulation.history import History, Write, require
from tests.simulation.machine import Role
from tests.simulation.replacing import replaces

OF_ASKING: Final = {A.CANCEL_ASKED, A.TASK_UPDATED, A.PARKED, A.PARKED_AT}
"""All that changes by it."""


def asks(write: Write) -> bool:
    """Return True for a write that cancels a task that runs, or does so once more."""
    before, after = write.before, write.after
    if before is None or after is None or A.CANCEL_ASKED not in after:
        return False
    withdraws = A.PARKED_AT in before and A.PARKED_AT not in after
    new = A.CANCEL_ASKED not in before
    again = write.role is Role.CLIENT and _changed(before, after) <= {A.TASK_UPDATED}  # came late
    return write.was is write.becomes is Status.TAKEN and (new or withdraws or again)


def _changed(before: Item, after: Item) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def check_asking(write: Write, before: Item, after: Item) -> None:
    """Violation, where it touches the run."""
    require(write, write.role is Role.CLIENT, f"was cancelled by a {write.role}")
    names = _changed(before, after)
    require(write, names <= OF_ASKING, f"was cancelled, which changed {names - OF_ASKING}")
    require(write, A.PARKED_AT not in after, "was cancelled, and a put of it is still parked")
    first = before.get(A.CANCEL_ASKED, after[A.CANCEL_ASKED])
    require(write, after[A.CANCEL_ASKED] == first, "forgot when it was cancelled first")


def check_heeding(write: Write, before: Item, after: Item) -> None:
    """Violation, where a write of its worker, or of the sweep, does not heed that the task was
    cancelled, or was not."""
    asked = A.CANCEL_ASKED in before
    if write.was is not Status.TAKEN:
        return
    if write.becomes is Status.TAKEN:
        same = before.get(A.CANCEL_ASKED) == after.get(A.CANCEL_ASKED)
        require(write, same, "forgot whether it was cancelled")
        kept = before.get(A.CHECKPOINT) == after.get(A.CHECKPOINT)
        require(write, kept or not asked, "was cancelled, and kept another checkpoint")
    elif not asked:
        require(write, write.becomes is not Status.CANCELLED, "ended as cancelled by nobody")
    elif not replaces(write):
        over = write.becomes in (Status.CANCELLED, Status.SUCCESS)
        require(write, over, f"was cancelled, and is {write.becomes}")


def check_start(write: Write, history: History) -> None:
    """Violation, where a task is claimed that was cancelled since it was put, or redriven."""
    for earlier in reversed(history.of_task[write.task_id]):
        if earlier.was is None or replaces(earlier) or earlier.was is Status.FAILURE:
            return
        ended = earlier.becomes is Status.CANCELLED
        require(write, not (asks(earlier) or ended), "was cancelled, and starts again")
