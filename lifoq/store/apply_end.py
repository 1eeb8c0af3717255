"""Write the end of an attempt: shared by workers, who settle, and the sweep, which reclaims."""

from collections.abc import Iterator
from contextlib import contextmanager

from lifoq.errors import DamagedTask, ItemTooLarge
from lifoq.items import replacing, transitions
from lifoq.items.change import Change, ConditionFailed, Item
from lifoq.items.schema import Attribute, Status
from lifoq.items.task import Task
from lifoq.store.base import Write
from lifoq.store.repeat_refused_write import WriteRetries


def apply_end(task: Task, change: Change, write: Write, retries: WriteRetries) -> Change:
    """Apply a change that ends an attempt, and return what was applied.

    If a newer put of the same id is parked on the item, the change is refused, and the refusal
    shows the item: then the parked put is brought back to PENDING instead. ``write`` applies a
    change to an id. Raises ConditionFailed where the claim is lost, and DamagedTask where the
    parked put cannot be read.
    """
    applied = change
    while True:
        try:
            write(task.task_id, applied)
        except ConditionFailed as refused:
            instead = replacing.with_parked(change, refused.item, task)
            if instead is None:
                raise
            applied = instead
            retries.after_refusal()
        else:
            return applied


def settled_as(item: Item, status: Status, claim_id: str) -> bool:
    """True if the item shows that this claim's own write, whose answer was lost, was applied."""
    return item.get(Attribute.TASK_STATUS) == status and item.get(Attribute.CLAIM_ID) == claim_id


def tells_of_cancellation(task: Task, change: Change, item: Item) -> bool:
    """True if a change was refused only because somebody asked to cancel the task: the claim is
    still valid."""
    unaware = transitions.NOT_CANCELLED in change.when and Attribute.CANCEL_ASKED in item
    return unaware and settled_as(item, Status.TAKEN, transitions.claim_of(task))


@contextmanager
def fits(task_id: str, action: str) -> Iterator[None]:
    """Translate ItemTooLarge into DamagedTask, around a write that makes an item a few bytes larger
    and so may push it over DynamoDB's limit of 400 KB. ``action``: such as ``"claimed"``."""
    try:
        yield
    except ItemTooLarge as error:
        raise DamagedTask(task_id, f"it is too large to be {action} ({error})") from error
