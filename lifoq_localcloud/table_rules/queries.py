"""Queries: where they start, what they filter by, and bounds that are upside down."""

import re
from typing import Any, Final

from lifoq_localcloud.table_rules import values
from lifoq_localcloud.table_rules.keys import Schema, Schemas
from lifoq_localcloud.table_rules.refused import RefusedError

_BETWEEN = re.compile(r"\bBETWEEN\s+(:\w+)\s+AND\s+(:\w+)", re.IGNORECASE)
_EQUALITY = re.compile(r"(#?\w+)\s*=\s*(:\w+)")
_ATTRIBUTE = re.compile(r"(?<![\w.:#])(#?[A-Za-z_]\w*)(?!\s*\(|\w)")
"""The first part of a path: no value, no function, and not what follows a dot."""
_DOT = re.compile(r"\s*\.\s*")
_ORDERED: Final = {"S", "N"}


def check(operation: str, request: dict[str, Any], schemas: Schemas) -> None:
    """Raise RefusedError for a query, or a condition, that cannot be meant."""
    for name in ("KeyConditionExpression", "FilterExpression", "ConditionExpression"):
        if text := request.get(name):
            _check_between(name, text, request)
    schema = schemas(request["TableName"]) if operation == "Query" else None
    if schema is None:
        return
    key = schema.indexes.get(request.get("IndexName") or "", schema.key)
    _check_filter(request, key)
    _check_partition(request, schema, hash_name=next(iter(key)))


def _check_between(name: str, text: str, request: dict[str, Any]) -> None:
    given = request.get("ExpressionAttributeValues") or {}
    for low, high in _BETWEEN.findall(text):
        ((kind, least),) = given[low].items()
        ((other, most),) = given[high].items()
        if kind != other or kind not in _ORDERED:
            continue
        upside_down = values.number(least) > values.number(most) if kind == "N" else least > most
        if upside_down:
            raise RefusedError(
                f"Invalid {name}: The BETWEEN operator requires upper bound to be greater than or "
                f"equal to lower bound; lower bound operand: AttributeValue: {{{kind}:{least}}}, "
                f"upper bound operand: AttributeValue: {{{kind}:{most}}}"
            )


def _check_filter(request: dict[str, Any], key: dict[str, str]) -> None:
    names = request.get("ExpressionAttributeNames") or {}
    text = _DOT.sub(".", request.get("FilterExpression") or "")
    for used in _ATTRIBUTE.findall(text):
        if names.get(used, used) in key:
            raise RefusedError(
                "Filter Expression can only contain non-primary key attributes: Primary key "
                f"attribute: {names.get(used, used)}"
            )


def _check_partition(request: dict[str, Any], schema: Schema, *, hash_name: str) -> None:
    """The key to start after has the attributes of table and index, and the query's partition."""
    start = request.get("ExclusiveStartKey")
    if not start:
        return
    wanted = {**schema.key, **schema.indexes.get(request.get("IndexName") or "", {})}
    if {name: next(iter(value)) for name, value in start.items()} != wanted:
        raise RefusedError("The provided starting key is invalid")
    names = request.get("ExpressionAttributeNames") or {}
    for name, value in _EQUALITY.findall(request.get("KeyConditionExpression") or ""):
        queried = request["ExpressionAttributeValues"][value]
        if names.get(name, name) == hash_name and start[hash_name] != queried:
            raise RefusedError(
                "The provided starting key is outside query boundaries based on provided conditions"
            )
