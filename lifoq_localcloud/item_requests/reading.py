"""Queries and scans: one page of a table or an index."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from lifoq_localcloud.expressions import conditions, projections
from lifoq_localcloud.expressions.documents import Item
from lifoq_localcloud.expressions.key_conditions import KeyCondition
from lifoq_localcloud.expressions.requests import Expressions
from lifoq_localcloud.item_requests.stored import StoredTable
from lifoq_localcloud.table_rules.keys import Schema
from lifoq_localcloud.table_rules.refused import RefusedError, invalid
from lifoq_localcloud.tables.order import LAST, Bounds, Entry, sort_value
from lifoq_localcloud.tables.rows import Index

_MOST_PAGE_BYTES: Final = 1024 * 1024
_MOST_CONDITIONS: Final = 2
"""Key conditions, unless an index has more keys."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """The answer to a query or a scan, and the bytes that it read."""

    answer: dict[str, Any]
    read_bytes: int


def query(table: StoredTable, request: dict[str, Any], expressions: Expressions) -> Page:
    """Answer a query. Raises RefusedError for what does not fit the table."""
    index = _index(table, request)
    order = table.rows.order_of(request.get("IndexName"))
    key = expressions.key or {}
    plan = _Plan.of(key, order.hash_names, order.range_names, _types(table.key_schema, request))
    _check_filter(expressions, {*order.hash_names, *order.range_names})
    start = _start(table.key_schema, request)
    if start is not None and any(start[one.name] != one.values[0] for one in plan.equal):
        raise RefusedError(
            "The provided starting key is outside query boundaries based on provided conditions"
        )
    entries = order.partition(
        [key[name].values[0] for name in order.hash_names],
        plan.bounds,
        forward=request.get("ScanIndexForward") is not False,
        after=start,
    )
    return _page(table, request, expressions, index, entries)


def scan(table: StoredTable, request: dict[str, Any], expressions: Expressions) -> Page:
    """Answer a scan. Raises RefusedError for what does not fit the table."""
    index = _index(table, request)
    entries = table.rows.order_of(request.get("IndexName")).every(
        segment=request.get("Segment") or 0,
        segments=request.get("TotalSegments") or 1,
        after=_start(table.key_schema, request),
    )
    return _page(table, request, expressions, index, entries)


def _index(table: StoredTable, request: dict[str, Any]) -> Index | None:
    name = request.get("IndexName")
    if name is None:
        return None
    index = table.rows.indexes.get(name)
    if index is None:
        raise RefusedError(f"The table does not have the specified index: {name}")
    if request.get("ConsistentRead") and not index.local:
        raise RefusedError("Consistent reads are not supported on global secondary indexes")
    if request.get("Select") == "ALL_ATTRIBUTES" and not index.local and index.shown is not None:
        raise invalid(
            f"Select type ALL_ATTRIBUTES is not supported for global secondary index {name} "
            "because its projection type is not ALL"
        )
    return index


def _types(schema: Schema, request: dict[str, Any]) -> dict[str, str]:
    """Return the key attributes of what is read, each with its datatype."""
    return schema.indexes[request["IndexName"]] if request.get("IndexName") else schema.key


def _start(schema: Schema, request: dict[str, Any]) -> Item | None:
    """Return the key to start after, which has the attributes of table and index."""
    start: Item | None = request.get("ExclusiveStartKey")
    if not start:
        return None
    wanted = {**schema.key, **_types(schema, request)}
    if {name: next(iter(value)) for name, value in start.items()} != wanted:
        raise RefusedError("The provided starting key is invalid")
    return start


def _check_filter(expressions: Expressions, names: set[str]) -> None:
    if expressions.filter is None:
        return
    for path in conditions.paths(expressions.filter):
        if path.parts[0] in names:
            raise RefusedError(
                "Filter Expression can only contain non-primary key attributes: Primary key "
                f"attribute: {path.parts[0]}"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """The place in which a query looks: the conditions on its partition, and bounds within it."""

    equal: tuple[KeyCondition, ...]
    bounds: Bounds

    @classmethod
    def of(
        cls,
        key: dict[str, KeyCondition],
        hash_names: tuple[str, ...],
        range_names: tuple[str, ...],
        types: dict[str, str],
    ) -> "_Plan":
        if len(key) > max(_MOST_CONDITIONS, len(types)):
            raise RefusedError("Conditions can be of length 1 or 2 only")
        for name in hash_names:
            if name not in key:
                raise RefusedError(f"Query condition missed key schema element: {name}")
        for name, one in key.items():
            if name not in types:
                missed = next((other for other in range_names if other not in key), name)
                raise RefusedError(f"Query condition missed key schema element: {missed}")
            if any(types[name] not in value for value in one.values):
                raise invalid("Condition parameter type does not match schema type")
        if any(key[name].operator != "=" for name in hash_names):
            raise RefusedError("Query key condition not supported")
        return cls(
            equal=tuple(key[name] for name in hash_names),
            bounds=_bounds([key[name] for name in range_names if name in key]),
        )


def _bounds(ranged: list[KeyCondition]) -> Bounds:
    """Return the bounds of conditions on sort keys: of any but the last, equality."""
    if any(one.operator != "=" for one in ranged[:-1]):
        raise RefusedError("Query key condition not supported")
    before = tuple(sort_value(one.values[0]) for one in ranged[:-1])
    if not ranged:
        return Bounds()
    last = ranged[-1]
    first, other = sort_value(last.values[0]), sort_value(last.values[-1])
    lows: dict[str, tuple[Any, ...]] = {"<": (), "<=": (), ">": (first, LAST)}
    highs: dict[str, tuple[Any, ...]] = {"<": (first,), ">": (LAST,), ">=": (LAST,)}
    if last.operator == "begins_with":
        highs["begins_with"] = (_behind(first),)
    return Bounds(
        low=(*before, *lows.get(last.operator, (first,))),
        high=(*before, *highs.get(last.operator, (other, LAST))),
    )


def _behind(start: bytes) -> Any:
    """Return what is greater than all that begins with some bytes, and than nothing else."""
    kept = start.rstrip(b"\xff")
    return LAST if not kept else kept[:-1] + bytes([kept[-1] + 1])


def _page(
    table: StoredTable,
    request: dict[str, Any],
    expressions: Expressions,
    index: Index | None,
    entries: Iterator[Entry],
) -> Page:
    limit = request.get("Limit")
    items: list[Item] = []
    matched = scanned = read = 0
    last: Item | None = None
    for entry in entries:
        image, size = table.rows.at(entry)
        scanned += 1
        read += size
        shown = _shown(image, index, request, expressions)
        if expressions.filter is None or conditions.holds(expressions.filter, shown):
            matched += 1
            items.append(shown)
        if scanned == limit or read > _MOST_PAGE_BYTES:
            last = image
            break
    answer: dict[str, Any] = {"Count": matched, "ScannedCount": scanned}
    if request.get("Select") != "COUNT":
        wanted = expressions.projection
        answer["Items"] = (
            items if wanted is None else [projections.project(item, wanted) for item in items]
        )
    if last is not None:
        names = {*table.rows.key_names, *(index.names if index is not None else ())}
        answer["LastEvaluatedKey"] = {name: last[name] for name in names}
    return Page(answer=answer, read_bytes=read)


def _shown(
    image: Item, index: Index | None, request: dict[str, Any], expressions: Expressions
) -> Item:
    """Return what a read sees of an item. A local index fetches from its table what it lacks."""
    if index is None:
        return image
    asks_all = request.get("Select") == "ALL_ATTRIBUTES" or expressions.projection is not None
    return image if index.local and asks_all else index.project(image)
