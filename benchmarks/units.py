"""DynamoDB's capacity units: by its documented rules, counted on the table in memory; and as the
engine reports them.

Sizes: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
Units, failed conditions: …/developerguide/read-write-operations.html, …/WorkingWithItems.html
Index writes: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from benchmarks.world import Table
from lifoq.items.change import Change, Condition, ConditionFailed, Item, TransactionRefused
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.store.memory_table import PROJECTED, SORT_KEYS
from lifoq.store.table_protocol import Page, Span

WRITE_BYTES: Final = 1024
READ_BYTES: Final = 4096
LEAST_READ: Final = 0.5
"""Read units of an eventually consistent query that finds nothing."""

READS: Final = frozenset({"Query", "GetItem", "BatchGetItem"})

Place = tuple[str, str]
"""An index, and a status in it."""
T = TypeVar("T")


def item_bytes(item: Mapping[str, Any]) -> int:
    """Names and strings in UTF-8; a number is a byte for every two significant digits, and one."""
    return sum(len(name.encode()) + _bytes(value) for name, value in item.items())


def write_units(before: Item | None, after: Item | None) -> int:
    """Return the write units of a write that turned one item into the other, in the table and in
    its indexes."""
    table = _units(max(item_bytes(before or {}), item_bytes(after or {})))
    return table + index_writes(before, after).total()


def index_writes(before: Item | None, after: Item | None) -> Counter[Place]:
    """A row whose key changed is deleted here and put there; one whose projection alone changed is
    written once, an untouched row not at all."""
    units: Counter[Place] = Counter()
    for index in SORT_KEYS:
        old, new = _row(index, before), _row(index, after)
        if old == new:
            continue
        if old and new and _key(index, old) == _key(index, new):
            units[_place(index, new)] += _units(max(item_bytes(old), item_bytes(new)))
            continue
        for row in filter(None, (old, new)):
            units[_place(index, row)] += _units(item_bytes(row))
    return units


class Reported:
    """The capacity that a boto3 client's calls consumed, as DynamoDB says it."""

    def __init__(self, client: Any) -> None:
        self.read_units = self.write_units = 0.0
        client.meta.events.register("provide-client-params.dynamodb", self._ask)
        client.meta.events.register("after-call.dynamodb", self._add)

    def _ask(self, params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any]:
        known = "ReturnConsumedCapacity" in model.input_shape.members
        return params | ({"ReturnConsumedCapacity": "TOTAL"} if known else {})

    def _add(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity") or []
        parts = consumed if isinstance(consumed, list) else [consumed]
        units = sum(float(part["CapacityUnits"]) for part in parts)
        if model.name in READS:
            self.read_units += units
        else:
            self.write_units += units


class Metered(Table):
    """Adds up what its calls take."""

    def __init__(self, *, answer: float = 0.0) -> None:
        super().__init__(answer=answer)
        self._times = 1
        self._read = 0
        self.reset()

    def reset(self) -> None:
        self.write_units = self.read_units = 0.0
        self.index_writes: Counter[Place] = Counter()

    def put(self, item: Item, **terms: Any) -> None:
        self._judged(lambda: super(Metered, self).put(item, **terms))

    def replace(self, item: Item, *, when: tuple[Condition, ...]) -> None:
        self._judged(lambda: super(Metered, self).replace(item, when=when))

    def update_and_get(self, task_id: str, change: Change) -> Item:
        return self._judged(lambda: super(Metered, self).update_and_get(task_id, change))

    def update_and_put(
        self, task_id: str, change: Change, items: Sequence[Item], **terms: Any
    ) -> None:
        """A transaction counts double."""
        self._times = 2
        try:
            super().update_and_put(task_id, change, items, **terms)
        except TransactionRefused:
            self.write_units += 2 * (1 + len(items))  # of small items
            raise
        finally:
            self._times = 1

    def delete(self, task_id: str, *, when: tuple[Condition, ...]) -> None:
        before = self.get(task_id)
        self._judged(lambda: super(Metered, self).delete(task_id, when=when))
        self._count(before, None)

    def query(self, span: Span, **terms: Any) -> Page:
        self._read = 0
        page = super().query(span, **terms)
        self.read_units += LEAST_READ * max(1, math.ceil(self._read / READ_BYTES))
        return page

    def waiting(self, since: int) -> int:
        """Return how many waiting tasks came after epoch microseconds ``since``; this is no
        call."""
        entries = self._entries[STATUS_CREATED_INDEX, Status.PENDING.value]
        return len(entries) - bisect_right(entries, (since, ""))

    def _judged(self, call: Callable[[], T]) -> T:
        """A write whose condition does not hold pays for the item that is there."""
        try:
            return call()
        except ConditionFailed as failed:
            self.write_units += _units(item_bytes(failed.item or {}))
            raise

    def _count(self, before: Item | None, after: Item | None) -> None:
        self.write_units += self._times * write_units(before, after)
        self.index_writes += index_writes(before, after)

    def _store(self, item: Item) -> None:
        before = self._items.get(str(item[Attribute.TASK_ID]))
        super()._store(item)
        self._count(before, {str(name): value for name, value in item.items()})

    def _project(self, index: str, task_id: str) -> Item:
        row = super()._project(index, task_id)
        self._read += item_bytes(row)
        return row


def _row(index: str, item: Item | None) -> Item | None:
    """Return the row that the index holds of an item: None where a key is missing."""
    keys = (Attribute.TASK_STATUS, SORT_KEYS[index])
    if item is None or any(key not in item for key in keys):
        return None
    return {name: item[name] for name in PROJECTED[index] if name in item}


def _place(index: str, row: Item) -> Place:
    return index, str(row[Attribute.TASK_STATUS])


def _key(index: str, row: Item) -> tuple[Any, Any]:
    return row[Attribute.TASK_STATUS], row[SORT_KEYS[index]]


def _bytes(value: Any) -> int:
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, list | dict):  # three bytes, and one for each element
        within = value.values() if isinstance(value, dict) else value
        names = "".join(value) if isinstance(value, dict) else ""
        return 3 + len(names.encode()) + sum(1 + _bytes(each) for each in within)
    return math.ceil(len(str(value).strip("0")) / 2) + 1


def _units(size: int) -> int:
    return max(1, math.ceil(size / WRITE_BYTES))
