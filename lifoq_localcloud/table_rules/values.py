"""Attribute values: one datatype each, sets, numbers, nesting, and an item's size.

``{"N": "1.50"}`` is a value; an item is a map from attribute names to values.
Limits: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
"""

import base64
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import repeat
from typing import Any, Final

from lifoq_localcloud.table_rules.refused import RefusedError, invalid

Value = dict[str, Any]
Item = dict[str, Value]

MOST_ITEM_BYTES: Final = 400 * 1024
_MOST_TRANSACTION_BYTES: Final = 4 * 1024 * 1024
_MOST_LEVELS: Final = 32
_MOST_DIGITS: Final = 38
_LARGEST_EXPONENT: Final = 125
_SMALLEST_EXPONENT: Final = -130
_MAPS: Final = ("Item", "Key", "ExpressionAttributeValues", "ExclusiveStartKey")
_LEGACY_MAPS: Final = ("Expected", "AttributeUpdates", "KeyConditions", "QueryFilter", "ScanFilter")
"""The older parameters, in which values stand by their attributes."""
_SINGLE: Final = {"PutItem", "GetItem", "UpdateItem", "DeleteItem", "Query", "Scan"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_BASE_BYTES: Final = 3
"""Bytes of a list or a map by itself; each of its members takes one more."""


def items(operation: str, request: dict[str, Any]) -> Iterator[Item]:
    """Yield each map from names to values of a request: items, keys, values of expressions."""
    for _, _, asked in parts(operation, request):
        for name in _MAPS:
            yield from filter(None, [asked.get(name)])
        yield from asked.get("Keys") or ()
        for name in _LEGACY_MAPS:
            for attribute, given in (asked.get(name) or {}).items():
                for value in (given.get("Value"), *(given.get("AttributeValueList") or ())):
                    if value is not None:
                        yield {attribute: value}


def parts(operation: str, request: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the parts of a request that have an item or a key: the request, or those of a batch or
    a transaction. Each with its name (of a request: its operation) and with its table's name."""
    if operation in _SINGLE:
        yield operation, request["TableName"], request
    elif operation in {"TransactGetItems", "TransactWriteItems"}:
        for one in request["TransactItems"]:
            yield from ((name, asked["TableName"], asked) for name, asked in one.items())
    elif operation == "BatchGetItem":
        yield from ((operation, table, asked) for table, asked in request["RequestItems"].items())
    elif operation == "BatchWriteItem":
        for table, requests in request["RequestItems"].items():
            for one in requests:
                yield from ((name, table, asked) for name, asked in one.items())


def check(operation: str, request: dict[str, Any]) -> None:
    """Raise RefusedError for a value that DynamoDB cannot store."""
    for item in items(operation, request):
        for name, value in item.items():
            check_value(value, name=name)
    puts = [one["Item"] for _, _, one in parts(operation, request) if "Item" in one]
    for item in puts:
        if size(item) > MOST_ITEM_BYTES:
            raise RefusedError("Item size has exceeded the maximum allowed size")
    if operation == "TransactWriteItems" and sum(map(size, puts)) > _MOST_TRANSACTION_BYTES:
        raise RefusedError("Transaction request cannot be larger than 4 MB in size")


def check_value(value: Value, level: int = 1, name: str | None = None) -> None:
    """Raise RefusedError for a value, or for one inside of it. ``level``: 1 for an attribute;
    ``name``: its name, where it has one."""
    if name == "":
        raise RefusedError("Empty attribute name")
    if len(value) != 1:
        told = "is empty" if not value else "has more than one datatypes set"
        raise RefusedError(
            f"Supplied AttributeValue {told}, must contain exactly one of the supported datatypes"
        )
    ((kind, given),) = value.items()
    if kind in {"M", "L"}:
        if level > _MOST_LEVELS:
            raise RefusedError("Nesting Levels have exceeded supported limits")
        for inner, one in given.items() if kind == "M" else zip(repeat(None), given, strict=False):
            check_value(one, level + 1, inner)
    elif kind in {"SS", "NS", "BS"}:
        _check_set(kind, given)
    elif kind == "N":
        number(given)
    elif kind == "NULL" and given is not True:
        raise invalid("Null attribute value types must have the value of true")


def check_levels(value: Value, level: int = 1) -> None:
    """Raise RefusedError for a value that has become too deep. ``level``: 1 for an attribute."""
    ((kind, given),) = value.items()
    if kind not in {"M", "L"}:
        return
    if level > _MOST_LEVELS:
        raise RefusedError("Nesting Levels have exceeded supported limits")
    for one in given.values() if kind == "M" else given:
        check_levels(one, level + 1)


def _check_set(kind: str, given: list[str]) -> None:
    if not given:
        raise invalid(
            "Binary sets should not be empty"
            if kind == "BS"
            else f"An {'string' if kind == 'SS' else 'number'} set  may not be empty"
        )
    members = [*map(_MEMBER[kind], given)]
    if len(set(members)) == len(members):
        return
    if kind == "NS":
        raise RefusedError("Input collection contains duplicates")
    kind_said = f"of type {kind} " if kind == "BS" else ""
    raise invalid(f"Input collection [{', '.join(given)}] {kind_said}contains duplicates.")


def number(text: str) -> Decimal:
    """Return a number. Raise RefusedError for one that is none, too precise, or out of range."""
    if not _NUMBER.fullmatch(text):  # Decimal takes more: 1_0, NaN
        said = f": {text}" if text else ""
        raise RefusedError(f"The parameter cannot be converted to a numeric value{said}")
    found = Decimal(text)
    if not found:
        return Decimal(0)
    digits = "".join(map(str, found.as_tuple().digits)).strip("0")
    if len(digits) > _MOST_DIGITS:
        raise RefusedError("Attempting to store more than 38 significant digits in a Number")
    if found.adjusted() > _LARGEST_EXPONENT:
        raise RefusedError(
            "Number overflow. Attempting to store a number with magnitude larger than supported "
            "range"
        )
    if found.adjusted() < _SMALLEST_EXPONENT:
        raise RefusedError(
            "Number underflow. Attempting to store a number with magnitude smaller than "
            "supported range"
        )
    return found


_MEMBER: Final[dict[str, Callable[[str], Any]]] = {
    "SS": str,
    "NS": number,
    "BS": base64.b64decode,
}
"""Members of a set as they are compared."""


def as_stored(text: str) -> str:
    """Return a number as DynamoDB answers it: ``00042`` is ``42``, ``1.50`` is ``1.5``, ``1.5E2``
    is ``150``."""
    plain = f"{number(text):f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def rewrite(operation: str, request: dict[str, Any]) -> None:
    """Write each number and all bytes of a request as DynamoDB stores them."""
    for item in items(operation, request):
        for value in item.values():
            rewrite_value(value)


def rewrite_value(value: Value) -> None:
    """Write a value as DynamoDB stores it."""
    ((kind, given),) = value.items()
    if kind in {"M", "L"}:
        for one in given.values() if kind == "M" else given:
            rewrite_value(one)
    elif kind in {"SS", "NS", "BS"}:
        value[kind] = [_STORED[kind[0]](one) for one in given]
    elif kind in _STORED:
        value[kind] = _STORED[kind](given)


_STORED: Final[dict[str, Callable[[Any], Any]]] = {
    "N": as_stored,
    "B": lambda text: base64.b64encode(base64.b64decode(text)).decode(),
    "S": str,
}
"""Values of a datatype as they are stored: base64 can write the same bytes in several ways."""


def size(item: Item) -> int:
    """Return the bytes of an item, names included, as DynamoDB counts them."""
    return sum(len(name.encode()) + value_bytes(value) for name, value in item.items())


def value_bytes(value: Value) -> int:
    """Return the bytes of a value, as DynamoDB counts them."""
    ((kind, given),) = value.items()
    count = _BYTES.get(kind)
    return 1 if count is None else count(given)


def _number_bytes(text: str) -> int:
    """Two significant digits take a byte, and each number one more; a sign another one."""
    found = number(text)
    digits = "".join(map(str, found.as_tuple().digits)).strip("0")
    return (len(digits) + 1) // 2 + 1 + (found < 0)


_BYTES: Final[dict[str, Callable[[Any], int]]] = {
    "S": lambda given: len(given.encode()),
    "N": _number_bytes,
    "B": lambda given: len(base64.b64decode(given)),
    "SS": lambda given: sum(len(one.encode()) for one in given),
    "NS": lambda given: sum(map(_number_bytes, given)),
    "BS": lambda given: sum(len(base64.b64decode(one)) for one in given),
    "L": lambda given: _BASE_BYTES + sum(1 + value_bytes(one) for one in given),
    "M": lambda given: _BASE_BYTES + len(given) + size(given),
}
"""Bytes of a value by its datatype; of NULL and BOOL, which are not here, one."""
