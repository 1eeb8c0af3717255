"""A queue's table in memory: for users' tests of their task code, and for simulations.

It passes the same contract suite as DynamoDB, conditions, indexes, limits and all.
"""

import threading
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal

from lifoq.errors import ItemTooLarge
from lifoq.items import size
from lifoq.items.change import (
    Alternatives,
    Change,
    Condition,
    ConditionFailed,
    Item,
    TransactionRefused,
    UnfitAttribute,
    Value,
    is_number,
)
from lifoq.items.schema import (
    DUE_INDEX,
    MAX_ITEM_BYTES,
    PROJECTIONS,
    STATUS_CREATED_INDEX,
    Attribute,
)
from lifoq.store.table_protocol import MAX_BATCH, Count, Cursor, Page, Span

SORT_KEYS = {STATUS_CREATED_INDEX: Attribute.TASK_CREATED, DUE_INDEX: Attribute.DUE_AT}
PROJECTED = {
    index: tuple(map(str, (Attribute.TASK_ID, Attribute.TASK_STATUS, SORT_KEYS[index], *others)))
    for index, others in PROJECTIONS.items()
}
"""The attributes that an index holds."""

Entry = tuple[int | Decimal, str]
"""A row's place in an index: sort key, then id."""


class MemoryTable:
    """A queue's table in memory. It answers like ``DynamoTable``: the same conditions, indexes,
    limits and errors. Safe to use from several threads."""

    def __init__(self, name: str = "memory") -> None:
        self.name = name
        self._items: dict[str, dict[str, Value]] = {}
        self._entries: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        self._rows: dict[tuple[str, str], Item] = {}
        """The rows by index and id."""
        self._lock = threading.RLock()

    def get(self, task_id: str, *, only: Sequence[Attribute] = ()) -> Item | None:
        """Return an item, or what is asked for of it."""
        with self._lock:
            item = self._items.get(task_id)
            return None if item is None else _part(item, only)

    def get_many(
        self,
        task_ids: Sequence[str],
        *,
        only: Sequence[Attribute] = (),
        lately: bool = False,  # noqa: ARG002 - here all are as they are now
    ) -> list[Item]:
        """Return those of the items that exist, or what is asked for of them."""
        with self._lock:
            return [_part(self._items[i], only) for i in task_ids if i in self._items]

    def put(self, item: Item, *, over: Alternatives = ()) -> None:
        """Write a new item, unless its id is in use by an item for which ``over`` does not hold."""
        with self._lock:
            if not self._is_free(item, over):
                raise ConditionFailed(self.get(str(item[Attribute.TASK_ID])))
            self._store(item)

    def replace(self, item: Item, *, when: tuple[Condition, ...]) -> None:
        """Write an item in place of the one that has its id."""
        with self._lock:
            before = self.get(str(item[Attribute.TASK_ID]))
            if before is None or not _all_hold(when, before):
                raise ConditionFailed(before)
            self._store(item)

    def put_batch(self, items: Sequence[Item]) -> list[Item]:
        """Write at most 25 new items without a condition."""
        if len(items) > MAX_BATCH:
            raise ValueError(f"a batch holds at most {MAX_BATCH} items, not {len(items)}")
        with self._lock:
            for item in items:
                self._store(item)
        return []

    def update(self, task_id: str, change: Change) -> None:
        """Apply a change."""
        self.update_and_get(task_id, change)

    def update_and_get(self, task_id: str, change: Change) -> Item:
        """Apply a change, and return the item as it is then."""
        with self._lock:
            after = self._after(task_id, change)
            self._store(after)
            return dict(after)

    def update_and_put(
        self,
        task_id: str,
        change: Change,
        items: Sequence[Item],
        *,
        over: Alternatives = (),
        once: bool = False,  # noqa: ARG002 - nothing is ever repeated here
    ) -> None:
        """Apply a change and put items, all or nothing."""
        size.check_transaction(change, items)
        for item in items:
            _check_size(item)
        with self._lock:
            taken = frozenset(
                str(item[Attribute.TASK_ID]) for item in items if not self._is_free(item, over)
            )
            refused, after = False, None
            try:
                after = self._after(task_id, change)
            except ConditionFailed:
                refused = True
            if after is None or taken:
                raise TransactionRefused(
                    current=self.get(task_id), update_refused=refused, taken_ids=taken
                )
            for item in (after, *items):
                self._store(item)

    def delete(self, task_id: str, *, when: tuple[Condition, ...]) -> None:
        """Delete an item."""
        with self._lock:
            before = self.get(task_id)
            if before is None or not _all_hold(when, before):
                raise ConditionFailed(before)
            self._remove(task_id)

    def query(
        self, span: Span, *, newest_first: bool, limit: int, start: Cursor | None = None
    ) -> Page:
        """Return one page of an index."""
        with self._lock:
            entries = self._entries[span.index, str(span.status)]
            places = _places(entries, span, newest_first=newest_first, start=start)
            rows = tuple(self._project(span.index, entries[n][1]) for n in places[:limit])
            more = len(places) > limit
            return Page(
                rows=tuple(row for row in rows if all(c.holds(row) for c in span.where)),
                next=_cursor(span.index, rows[-1]) if more else None,
            )

    def count(self, span: Span, *, cap: int, newest_first: bool = True) -> Count:
        """Count the rows of a span, up to the cap."""
        page = self.query(span, newest_first=newest_first, limit=cap)
        return Count(value=len(page.rows), capped=page.next is not None)

    def scan(self, *, limit: int, start: Cursor | None = None) -> Page:
        """Return one page of the table's items, in no order."""
        with self._lock:
            after = "" if start is None else str(start[Attribute.TASK_ID])
            ids = sorted(task_id for task_id in self._items if task_id > after)
            rows = tuple(dict(self._items[task_id]) for task_id in ids[:limit])
            more = len(ids) > limit
            return Page(rows=rows, next={Attribute.TASK_ID: ids[limit - 1]} if more else None)

    def clock_ahead(self) -> int:
        """Return 0: the table has no clock of its own."""
        return 0

    def check(self) -> None:
        """Do nothing: this is always a queue's table."""

    def expire(self, now: int) -> list[Item]:
        """Do what DynamoDB's TTL does, all at once at epoch microseconds ``now``: delete what its
        ``ttl`` allows, and return it."""
        with self._lock:
            expired: list[Item] = [
                dict(item)
                for item in self._items.values()
                if isinstance(ttl := item.get(Attribute.TTL), int) and ttl < now // 1_000_000
            ]
            for item in expired:
                self._remove(str(item[Attribute.TASK_ID]))
            return expired

    def items(self) -> list[Item]:
        """A snapshot of all items."""
        with self._lock:
            return [dict(item) for item in self._items.values()]

    def damage(self, item: Item) -> None:
        """Write an item as it is, past all checks: for tests of what then happens."""
        with self._lock:
            self._store(item)

    def _is_free(self, item: Item, over: Alternatives) -> bool:
        before = self._items.get(str(item[Attribute.TASK_ID]))
        return before is None or any(_all_hold(conditions, before) for conditions in over)

    def _after(self, task_id: str, change: Change) -> dict[str, Value]:
        before = self._items.get(task_id)
        if before is None and change.creates:
            before = {Attribute.TASK_ID.value: task_id}
        elif before is None or not _all_hold(change.when, before):
            raise ConditionFailed(None if before is None else dict(before))
        after: dict[str, Value] = dict(before)
        after.update({str(k): v for k, v in change.set_once.items() if k not in before})
        after.update({str(k): v for k, v in change.set.items()})
        if change.increment is not None:
            number = before.get(change.increment, change.increment_from)
            if not isinstance(number, int) or isinstance(number, bool):
                raise UnfitAttribute(f"{change.increment} is not a number")
            after[change.increment] = number + 1
        for attribute in change.remove:
            after.pop(attribute, None)
        return after

    def _store(self, item: Item) -> None:
        plain = {str(k): v for k, v in item.items()}
        _check_size(plain)
        task_id = str(plain[Attribute.TASK_ID])
        self._remove(task_id)
        self._items[task_id] = plain
        for key, entry in self._entries_of(plain):
            insort(self._entries[key], entry)
            index = key[0]
            self._rows[index, task_id] = {n: plain[n] for n in PROJECTED[index] if n in plain}

    def _remove(self, task_id: str) -> None:
        item = self._items.pop(task_id, None)
        if item is not None:
            for key, entry in self._entries_of(item):
                entries = self._entries[key]
                del entries[bisect_left(entries, entry)]
                del self._rows[key[0], task_id]

    @staticmethod
    def _entries_of(item: Item) -> Iterable[tuple[tuple[str, str], Entry]]:
        status = item.get(Attribute.TASK_STATUS)
        for index, attribute in SORT_KEYS.items():
            sort_key = item.get(attribute)
            if isinstance(status, str) and is_number(sort_key):
                yield (index, str(status)), (sort_key, str(item[Attribute.TASK_ID]))

    def _project(self, index: str, task_id: str) -> Item:
        return self._rows[index, task_id]


def _part(item: Item, only: Sequence[Attribute]) -> dict[str, Value]:
    return {name: value for name, value in item.items() if not only or name in only}


def _places(
    entries: Sequence[Entry], span: Span, *, newest_first: bool, start: Cursor | None
) -> range:
    """Return the places of a span's rows in an index, after ``start``, in their order."""
    if start is not None and not _within(span, start[SORT_KEYS[span.index]]):
        raise ValueError("the cursor lies outside of the span, which DynamoDB refuses")
    low = 0 if span.first is None else bisect_left(entries, (span.first, ""))
    high = len(entries) if span.last is None else bisect_right(entries, span.last, key=_sort_key)  # type: ignore[arg-type]  # a Decimal compares with an int
    if start is not None and newest_first:
        high = min(high, bisect_left(entries, _place(span.index, start)))
    elif start is not None:
        low = max(low, bisect_right(entries, _place(span.index, start)))
    return range(high - 1, low - 1, -1) if newest_first else range(low, high)


def _sort_key(entry: Entry) -> int | Decimal:
    return entry[0]


def _all_hold(conditions: Iterable[Condition], item: Item) -> bool:
    return all(condition.holds(item) for condition in conditions)


def _within(span: Span, sort_key: int | Decimal) -> bool:
    not_below = span.first is None or span.first <= sort_key
    return not_below and (span.last is None or sort_key <= span.last)


def _place(index: str, cursor: Cursor) -> Entry:
    return cursor[SORT_KEYS[index]], str(cursor[Attribute.TASK_ID])


def _cursor(index: str, row: Item) -> Cursor:
    return {
        str(name): row[name]
        for name in (Attribute.TASK_ID, Attribute.TASK_STATUS, SORT_KEYS[index])
    }


def _check_size(item: Item) -> None:
    if size.of(item) > MAX_ITEM_BYTES:
        raise ItemTooLarge(f"the item would be larger than {MAX_ITEM_BYTES:,} bytes")
