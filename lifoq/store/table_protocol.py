"""The operations that the store asks of a table. DynamoDB answers them for real, ``MemoryTable`` in
memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lifoq.items.change import Alternatives, Change, Condition, Item
from lifoq.items.schema import Attribute, Status

Cursor = Mapping[str, Any]
"""The place at which a query stopped: the index keys of its last row. The sort key of a damaged row
can be any number."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Rows of an index, with what it projects; ``next`` is None at the end."""

    rows: tuple[Item, ...]
    next: Cursor | None


@dataclass(frozen=True, kw_only=True)
class Span:
    """A part of an index: one status, sort keys from ``first`` to ``last``, both inclusive,
    and rows for which every condition in ``where`` holds."""

    index: str
    status: Status
    first: int | None = None
    last: int | None = None
    where: tuple[Condition, ...] = ()


class Table(Protocol):
    """One DynamoDB table, item by item.

    Every call may raise StoreUnavailable (not confirmed; perhaps applied) and QueueMisconfigured.
    """

    name: str

    def get(self, task_id: str, *, only: Sequence[Attribute] = ()) -> Item | None:
        """The item, by a strongly consistent read; of its attributes those named by ``only``, or
        all. A read of some costs the units of a whole one, and less time and traffic."""
        ...

    def get_many(
        self, task_ids: Sequence[str], *, only: Sequence[Attribute] = (), lately: bool = False
    ) -> list[Item]:
        """Return those of the items that exist, in no order, by strongly consistent reads;
        ``only`` as in ``get``. ``lately``: as they were a moment ago, for half the read units."""
        ...

    def put(self, item: Item, *, over: Alternatives = ()) -> None:
        """Write a new item; ConditionFailed where the id is in use, unless ``over`` holds for the
        item that has it: then that one is gone."""
        ...

    def replace(self, item: Item, *, when: tuple[Condition, ...]) -> None:
        """Write an item in place of the one that has its id; ConditionFailed where there is none,
        or where a condition does not hold for it."""
        ...

    def put_batch(self, items: Sequence[Item]) -> list[Item]:
        """Write at most 25 new items, ids unique, **without a condition**; returns those that were
        certainly not written. Never repeated by itself, since a repeat could overwrite a task that
        is already running."""
        ...

    def update(self, task_id: str, change: Change) -> None:
        """Apply the change, to an item that it makes itself where it says so; ConditionFailed or
        UnfitAttribute where it cannot be, ItemTooLarge where the item would outgrow DynamoDB's
        limit."""
        ...

    def update_and_get(self, task_id: str, change: Change) -> Item:
        """Apply the change as ``update`` does, and return the item as it is then, payload and
        all."""
        ...

    def update_and_put(
        self,
        task_id: str,
        change: Change,
        items: Sequence[Item],
        *,
        over: Alternatives = (),
        once: bool = False,
    ) -> None:
        """Apply the change and put items, all or nothing; TransactionRefused if not, ItemTooLarge
        where it is more than an item or a transaction holds. ``once``: never repeated by itself, so
        that it is applied once at the most, however late."""
        ...

    def delete(self, task_id: str, *, when: tuple[Condition, ...]) -> None:
        """Delete the item; ConditionFailed where there is none, or where a condition does not hold
        for it."""
        ...

    def query(
        self, span: Span, *, newest_first: bool, limit: int, start: Cursor | None = None
    ) -> Page:
        """Return one page of an index (eventually consistent). ``limit`` counts rows before
        ``where``."""
        ...

    def count(self, span: Span, *, cap: int, newest_first: bool = True) -> "Count":
        """Count the rows of the span; stop after having read ``cap`` rows, from the newest on or
        from the oldest."""
        ...

    def scan(self, *, limit: int, start: Cursor | None = None) -> Page:
        """Return items in no order, whatever they are: ``limit``, or as many as one answer of
        DynamoDB holds. ``next`` has the id where it stopped."""
        ...

    def clock_ahead(self) -> int:
        """Microseconds by which this machine's clock is ahead of the database's (below 0: behind
        it), as far as its answers have told; 0 where that is little. Never calls the database."""
        ...

    def check(self) -> None:
        """Raise QueueMisconfigured, with the difference, where the table is not a queue's."""
        ...


@dataclass(frozen=True, kw_only=True)
class Count:
    """A number of tasks, counted up to a cap.

    Examples:
        >>> str(Count(value=1_000, capped=True))
        'at least 1,000'
    """

    value: int
    """The number of tasks."""
    capped: bool
    """True if counting stopped early: there are at least ``value``."""

    def __add__(self, other: "Count") -> "Count":
        return Count(value=self.value + other.value, capped=self.capped or other.capped)

    def __str__(self) -> str:
        """Return the count for people: ``1,248``, ``at least 1,000``, or ``none seen`` if counting
        stopped before it met any."""
        if self.capped and not self.value:
            return "none seen"
        return f"at least {self.value:,}" if self.capped else f"{self.value:,}"


MAX_BATCH = 25
"""Items of one BatchWriteItem
(https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html)."""
MAX_TRANSACTION = 100
"""Actions of one TransactWriteItems
(https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html)."""
MAX_BATCH_GET = 100
"""Keys of one BatchGetItem."""
LARGEST_PAGE = 1_000
"""Rows that are read at a time by whoever looks on and on."""
