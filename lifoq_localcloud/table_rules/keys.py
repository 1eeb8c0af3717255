"""Keys against the schema of their table, and batches or transactions that name a key twice."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from lifoq_localcloud.table_rules import values
from lifoq_localcloud.table_rules.refused import CANCELLED, RefusedError, invalid

Key = dict[str, dict[str, Any]]

_MOST_HASH_BYTES: Final = 2048
_MOST_RANGE_BYTES: Final = 1024
_MOST_KEYS: Final = 100
_NOUNS: Final = {"S": "string", "B": "binary", "N": "number"}


@dataclass(frozen=True, kw_only=True)
class Schema:
    """A table's key attributes, each with its type (S, N or B), and those of each of its indexes.

    Example: ``Schema(key={"id": "S"}, indexes={"by-status": {"status": "S", "created": "N"}})``.
    """

    key: dict[str, str]
    indexes: dict[str, dict[str, str]] = field(default_factory=dict)


Schemas = Callable[[str], Schema | None]
"""The schema of a table, by the table's name or ARN; None for a table that is not there."""


def check(operation: str, request: dict[str, Any], schemas: Schemas) -> None:
    """Raise RefusedError for keys that do not fit their tables."""
    if operation in _SINGLE:
        schema = schemas(request["TableName"])
        if schema is not None:
            _SINGLE[operation](request, schema)
    elif operation == "BatchGetItem":
        _check_batch_get(request, schemas)
    elif operation == "BatchWriteItem":
        _check_batch_write(request, schemas)
    elif operation in {"TransactGetItems", "TransactWriteItems"}:
        _check_transaction(request, schemas)


def _check_batch_get(request: dict[str, Any], schemas: Schemas) -> None:
    if sum(len(asked["Keys"]) for asked in request["RequestItems"].values()) > _MOST_KEYS:
        raise RefusedError("Too many items requested for the BatchGetItem call")
    for table, asked in request["RequestItems"].items():
        texts = [*map(_as_text, asked["Keys"])]
        if len(set(texts)) < len(texts):
            raise RefusedError("Provided list of item keys contains duplicates")
        if (schema := schemas(table)) is not None:
            for key in asked["Keys"]:
                check_key({"Key": key}, schema)


def _check_batch_write(request: dict[str, Any], schemas: Schemas) -> None:
    for table, requests in request["RequestItems"].items():
        schema = schemas(table)
        if schema is None:
            continue
        seen = set()
        for one in requests:
            if len(one) != 1:
                raise RefusedError(
                    "Supplied WriteRequest must have exactly one of PutRequest and DeleteRequest"
                )
            if put := one.get("PutRequest"):
                check_item(put, schema)
                key = {name: put["Item"][name] for name in schema.key}
            else:
                key = one["DeleteRequest"]["Key"]
                check_key(one["DeleteRequest"], schema)
            if (text := _as_text(key)) in seen:
                raise RefusedError("Provided list of item keys contains duplicates")
            seen.add(text)


def _check_transaction(request: dict[str, Any], schemas: Schemas) -> None:
    """A key that does not fit cancels the transaction; one key twice is refused before."""
    reasons: list[dict[str, str]] = []
    seen = set()
    for one in request["TransactItems"]:
        if len(one) != 1:
            raise RefusedError("TransactItems can only contain one of Check, Put, Update or Delete")
        ((member, asked),) = one.items()
        schema = schemas(asked["TableName"])
        reasons.append({"Code": "None"})
        if schema is None:
            continue
        try:
            (check_item if member == "Put" else check_key)(asked, schema)
        except RefusedError as error:
            reasons[-1] = {"Code": "ValidationError", "Message": str(error)}
            continue
        key = asked["Key"] if "Key" in asked else {name: asked["Item"][name] for name in schema.key}
        if (place := (asked["TableName"], _as_text(key))) in seen:
            raise RefusedError("Transaction request cannot include multiple operations on one item")
        seen.add(place)
    if any(reason["Code"] != "None" for reason in reasons):
        raise cancelled(reasons)


def cancelled(reasons: list[dict[str, Any]]) -> RefusedError:
    """Return the refusal of a transaction, with a reason for each of its parts."""
    codes = ", ".join(reason["Code"] for reason in reasons)
    return RefusedError(
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        code=CANCELLED,
        reasons=reasons,
    )


def check_key(request: dict[str, Any], schema: Schema) -> None:
    """Raise RefusedError unless the key has the attributes of the schema, and their types."""
    given = {name: _type(value) for name, value in request["Key"].items()}
    if given != schema.key:
        raise RefusedError("The provided key element does not match the schema")
    _check_key_values(request["Key"], schema)


def check_item(request: dict[str, Any], schema: Schema) -> None:
    """Raise RefusedError for an item without its key, or with a key of another type."""
    item = request["Item"]
    for name, kind in schema.key.items():
        if name not in item:
            raise invalid(f"Missing the key {name} in the item")
        if _type(item[name]) != kind:
            raise invalid(
                f"Type mismatch for key {name} expected: {kind} actual: {_type(item[name])}"
            )
    _check_key_values(item, schema)
    for index, key in schema.indexes.items():
        for name, kind in key.items():
            if name not in item:
                continue
            if _type(item[name]) != kind:
                raise invalid(
                    f"Type mismatch for Index Key {name} Expected: {kind} Actual: "
                    f"{_type(item[name])} IndexName: {index}"
                )
            if not item[name][kind]:
                raise RefusedError(
                    "One or more parameter values are not valid. A value specified for a secondary "
                    "index key is not supported. The AttributeValue for a key attribute cannot "
                    f"contain an empty {_NOUNS[kind]} value. IndexName: {index}, IndexKey: {name}"
                )
    check_index_sizes(item, schema)


def _check_key_values(item: Key, schema: Schema) -> None:
    """Raise RefusedError for an empty key, or one that is too long."""
    for place, (name, kind) in enumerate(schema.key.items()):
        if not item[name][kind]:
            raise RefusedError(
                "One or more parameter values are not valid. The AttributeValue for a key "
                f"attribute cannot contain an empty {_NOUNS[kind]} value. Key: {name}"
            )
        size = values.value_bytes(item[name])
        if place == 0 and size > _MOST_HASH_BYTES:
            raise invalid(
                f"Size of hashkey has exceeded the maximum size limit of{_MOST_HASH_BYTES} bytes"
            )
        if place and size > _MOST_RANGE_BYTES:
            raise invalid(
                "Aggregated size of all range keys has exceeded the size limit of "
                f"{_MOST_RANGE_BYTES} bytes"
            )


def check_index_sizes(item: Key, schema: Schema) -> None:
    """Raise RefusedError for a value that is too long for the key of an index."""
    for key in schema.indexes.values():
        for place, name in enumerate(key):
            most = _MOST_RANGE_BYTES if place else _MOST_HASH_BYTES
            if name in item and values.value_bytes(item[name]) > most:
                raise invalid(
                    f"Size of hashkey has exceeded the maximum size limit of{most} bytes"
                    if not place
                    else "Aggregated size of all range keys has exceeded the size limit of "
                    f"{most} bytes"
                )


def check_updated(item: Key, schema: Schema) -> None:
    """Raise RefusedError for an item that an update gave a value which no index can have."""
    for key in schema.indexes.values():
        for name, kind in key.items():
            if name not in item:
                continue
            if _type(item[name]) != kind:
                raise RefusedError(
                    "The update expression attempted to update the secondary index key to "
                    "unsupported type"
                )
            if not item[name][kind]:
                raise RefusedError(
                    "One or more parameter values are not valid. The update expression attempted "
                    "to update a secondary index key to a value that is not supported. The "
                    "AttributeValue for a key attribute cannot contain an empty "
                    f"{_NOUNS[kind]} value."
                )
    check_index_sizes(item, schema)


def _type(value: dict[str, Any]) -> str:
    return next(iter(value), "")


def _as_text(key: Key) -> str:
    return json.dumps(key, sort_keys=True)


_SINGLE: dict[str, Callable[[dict[str, Any], Schema], None]] = {
    "GetItem": check_key,
    "DeleteItem": check_key,
    "UpdateItem": check_key,
    "PutItem": check_item,
}
"""The rule of each operation on one table."""
