"""The answer to each operation on items."""

from collections.abc import Callable
from typing import Any, Final

from lifoq_localcloud.expressions import projections
from lifoq_localcloud.expressions.documents import Item
from lifoq_localcloud.expressions.requests import Expressions
from lifoq_localcloud.item_requests import changes, reading
from lifoq_localcloud.item_requests.capacity import Capacity
from lifoq_localcloud.item_requests.changes import Change
from lifoq_localcloud.item_requests.stored import StoredTable, Tables, found
from lifoq_localcloud.table_rules import keys, values
from lifoq_localcloud.table_rules.refused import VALIDATION, RefusedError

Request = dict[str, Any]
Answer = dict[str, Any]

_MOST_BATCH_BYTES: Final = 16 * 1024 * 1024
_MEMBERS: Final = {"PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete"}
_REASONS: Final = {changes.FAILED: "ConditionalCheckFailed"}


def answer(
    operation: str, request: Request, expressions: list[Expressions], tables: Tables
) -> Answer:
    """Return the answer to a request that the rules let through. Raises RefusedError."""
    return _OPERATIONS[operation](operation, request, expressions, tables)


def _write(
    operation: str, request: Request, expressions: list[Expressions], tables: Tables
) -> Answer:
    table = found(tables, request["TableName"])
    change = changes.judged(_MEMBERS[operation], table, request, expressions[0])
    change.make()
    capacity = Capacity(request)
    capacity.wrote(change)
    told: Answer = {}
    shown = changes.shown(change, request.get("ReturnValues"), expressions[0].update)
    if shown is not None:
        told["Attributes"] = shown
    if metrics := _collections(request, [change]):
        told["ItemCollectionMetrics"] = metrics[table.name][0]
    return _with_capacity(told, capacity)


def _get(
    _operation: str, request: Request, expressions: list[Expressions], tables: Tables
) -> Answer:
    table = found(tables, request["TableName"])
    item = table.rows.get(request["Key"])
    capacity = Capacity(request)
    _count_item(capacity, table, item, consistent=bool(request.get("ConsistentRead")))
    told = {} if item is None else {"Item": _projected(item, expressions[0])}
    return _with_capacity(told, capacity)


def _read(
    operation: str, request: Request, expressions: list[Expressions], tables: Tables
) -> Answer:
    table = found(tables, request["TableName"])
    read = reading.query if operation == "Query" else reading.scan
    page = read(table, request, expressions[0])
    capacity = Capacity(request)
    capacity.read(
        table,
        page.read_bytes,
        consistent=bool(request.get("ConsistentRead")),
        index=request.get("IndexName"),
    )
    return _with_capacity(page.answer, capacity)


def _batch_get(
    _operation: str, request: Request, expressions: list[Expressions], tables: Tables
) -> Answer:
    capacity, read = Capacity(request), 0
    items: dict[str, list[Item]] = {}
    left: dict[str, Any] = {}
    for (name, asked), own in zip(request["RequestItems"].items(), expressions, strict=True):
        table = found(tables, name)
        items[name] = []
        for place, key in enumerate(asked["Keys"]):
            item = table.rows.get(key)
            read += 0 if item is None else values.size(item)
            if read > _MOST_BATCH_BYTES:
                left[name] = {**asked, "Keys": asked["Keys"][place:]}
                break
            _count_item(capacity, table, item, consistent=bool(asked.get("ConsistentRead")))
            if item is not None:
                items[name].append(_projected(item, own))
    told = {"Responses": items, "UnprocessedKeys": left}
    return _with_capacities(told, capacity)


def _batch_write(
    _operation: str, request: Request, _expressions: list[Expressions], tables: Tables
) -> Answer:
    made = []
    for name, requests in request["RequestItems"].items():
        table = found(tables, name)
        for one in requests:
            ((member, asked),) = one.items()
            made.append(changes.judged(member.removesuffix("Request"), table, asked, Expressions()))
    capacity = Capacity(request)
    for change in made:
        change.make()
        capacity.wrote(change)
    told: Answer = {"UnprocessedItems": {}}
    if metrics := _collections(request, made):
        told["ItemCollectionMetrics"] = metrics
    return _with_capacities(told, capacity)


def _transact_get(
    _operation: str, request: Request, expressions: list[Expressions], tables: Tables
) -> Answer:
    capacity = Capacity(request)
    told = []
    for one, own in zip(request["TransactItems"], expressions, strict=True):
        asked = one["Get"]
        table = found(tables, asked["TableName"])
        item = table.rows.get(asked["Key"])
        _count_item(capacity, table, item, consistent=True, times=2)
        told.append({} if item is None else {"Item": _projected(item, own)})
    return _with_capacities({"Responses": told}, capacity)


def _transact_write(
    _operation: str, request: Request, expressions: list[Expressions], tables: Tables
) -> Answer:
    """All of the changes are judged by the items as they were, before one is made."""
    judged: list[Change] = []
    reasons: list[Any] = []
    for one, own in zip(request["TransactItems"], expressions, strict=True):
        ((member, asked),) = one.items()
        try:
            judged.append(changes.judged(member, found(tables, asked["TableName"]), asked, own))
            reasons.append({"Code": "None"})
        except RefusedError as error:
            if error.code not in _REASONS and error.code != VALIDATION:
                raise
            code = _REASONS.get(error.code, "ValidationError")
            reasons.append({"Code": code, "Message": str(error), **_shown_item(error)})
    if len(judged) < len(reasons):
        raise keys.cancelled(reasons)
    capacity = Capacity(request)
    for change in judged:
        change.make()
        capacity.wrote(change, times=2)
    told: Answer = {}
    if metrics := _collections(request, judged):
        told["ItemCollectionMetrics"] = metrics
    return _with_capacities(told, capacity)


def _shown_item(error: RefusedError) -> Answer:
    return {} if error.item is None else {"Item": error.item}


def _projected(item: Item, expressions: Expressions) -> Item:
    wanted = expressions.projection
    return item if wanted is None else projections.project(item, wanted)


def _count_item(
    capacity: Capacity, table: StoredTable, item: Item | None, *, consistent: bool, times: int = 1
) -> None:
    read = 0 if item is None else values.size(item)
    capacity.read(table, read, consistent=consistent, times=times)


def _collections(request: Request, made: list[Change]) -> dict[str, list[Answer]]:
    """Return the metrics of item collections, by table: of tables with a local index."""
    told: dict[str, list[Answer]] = {}
    if request.get("ReturnItemCollectionMetrics") != "SIZE":
        return told
    for change in made:
        if not any(index.local for index in change.table.rows.indexes.values()):
            continue
        hash_name = change.table.rows.key_names[0]
        metrics = {
            "ItemCollectionKey": {hash_name: change.key[hash_name]},
            "SizeEstimateRangeGB": [0.0, 1.0],
        }
        listed = told.setdefault(change.table.name, [])
        if metrics not in listed:
            listed.append(metrics)
    return told


def _with_capacity(told: Answer, capacity: Capacity) -> Answer:
    consumed = capacity.told()
    return {**told, "ConsumedCapacity": consumed[0]} if consumed else told


def _with_capacities(told: Answer, capacity: Capacity) -> Answer:
    consumed = capacity.told()
    return {**told, "ConsumedCapacity": consumed} if consumed else told


_OPERATIONS: Final[dict[str, Callable[[str, Request, list[Expressions], Tables], Answer]]] = {
    "PutItem": _write,
    "UpdateItem": _write,
    "DeleteItem": _write,
    "GetItem": _get,
    "Query": _read,
    "Scan": _read,
    "BatchGetItem": _batch_get,
    "BatchWriteItem": _batch_write,
    "TransactGetItems": _transact_get,
    "TransactWriteItems": _transact_write,
}
OPERATIONS: Final = frozenset(_OPERATIONS)
"""The operations that are answered here."""
