"""Make the items of new tasks: checked, stamped, and with large payloads in the bucket."""

from lifoq.basics.host import microseconds
from lifoq.errors import InvalidInput
from lifoq.items import transitions
from lifoq.items.change import Item
from lifoq.items.schema import LARGE_DELAY, Attribute
from lifoq.items.task import Accepted, NewTask, accept
from lifoq.store.base import StoreBase


class NewItems(StoreBase):
    """Makes items of new tasks, for puts and for the follow-ups of a success."""

    def _accept(self, new: NewTask) -> Accepted:
        return accept(
            new,
            now=self.now(),
            longest_deadline=microseconds(self.lifetimes.deadline),
            task_tokens=self.lifetimes.task_tokens,
            large_payloads=self.large is not None,
        )

    def check_new(self, new: NewTask) -> None:
        """Check a task that somebody else is to put later. InvalidInput."""
        self._accept(new)

    def accept_nth(self, name: str, index: int, new: NewTask) -> Accepted:
        """Check the task at ``index`` of the list ``name``, and write nothing. InvalidInput names
        the place, such as ``tasks[3].payload``."""
        try:
            return self._accept(new)
        except InvalidInput as error:
            place = f"{name}[{index}]" + ("" if error.field == "task" else f".{error.field}")
            raise InvalidInput(place, error.value, error.problem) from None

    def _item(self, task: Accepted) -> Item:
        return transitions.new_item(
            task,
            task_id=task.task_id or self._host.new_id(),
            stamp=self._host.stamp(self.now()),
            lifetimes=self.lifetimes,
        )

    def _with_large_apart(self, item: Item) -> Item:
        """Move the payload into the queue's bucket, if it is large and due soon, and return the
        item that names the object instead."""
        if self.large is None or not self._soon(item):
            return item
        return self.large.moved(item, Attribute.PAYLOAD, prefix=self.lifetimes.object_prefix)

    def _soon(self, item: Item) -> bool:
        """True if the task enters the queue while the bucket would still hold its payload."""
        due_at: int = item.get(Attribute.DUE_AT, 0)
        return due_at <= self.now() + microseconds(LARGE_DELAY)

    def _there_before_large(self, item: Item) -> Item | None:
        """Return the item that a put with ``if_exists="keep"`` would find under its id. It is
        looked up first only where the payload is for the bucket: an object of a refused put would
        stay there."""
        large = self.large
        if large is None or not (large.takes(item[Attribute.PAYLOAD]) and self._soon(item)):
            return None
        seen = self.table.get(item[Attribute.TASK_ID])
        free = transitions.gone(self.now())
        is_free = seen is None or any(all(c.holds(seen) for c in conditions) for conditions in free)
        return None if is_free else seen
