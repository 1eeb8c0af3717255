"""DynamoDB's documented rules for units, for what DynamoDB Local does not report as AWS bills it.

Sizes: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
Units, failed conditions: …/developerguide/read-write-operations.html, …/WorkingWithItems.html
Index writes: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
"""

import math
from collections.abc import Mapping
from typing import Any, Final

from lifoq.items import schema

Item = Mapping[str, Mapping[str, str]]
"""In DynamoDB's JSON: attribute name to type and value."""

WRITE_UNIT_BYTES: Final = 1024
EMPTY_QUERY_UNITS: Final = 0.5
"""An eventually consistent read that finds nothing still takes the least that one can take."""

_INDEXES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    index["IndexName"]: (
        index["KeySchema"][1]["AttributeName"],
        tuple(index["Projection"].get("NonKeyAttributes", ())),
    )
    for index in schema.table_definition("any")["GlobalSecondaryIndexes"]
}
"""Sort key and projected attributes of each; their hash key is the status."""


def item_bytes(item: Item) -> int:
    """Names and strings in UTF-8; a number is a byte for every two significant digits, and one."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def write_units(before: Item | None, after: Item | None) -> int:
    """Of a write that turned one image into the other, in the table and in its indexes."""
    table = _units(max(item_bytes(before or {}), item_bytes(after or {})))
    return table + sum(_index_units(name, before, after) for name in _INDEXES)


def refused_units(there: Item | None) -> int:
    """Of a write whose condition did not hold: the item that was there is paid for."""
    return _units(item_bytes(there or {}))


def _index_units(index: str, before: Item | None, after: Item | None) -> int:
    old, new = _entry(index, before), _entry(index, after)
    if old == new:
        return 0
    if old is None or new is None:
        return _units(item_bytes(old or new or {}))
    if _key(index, old) == _key(index, new):
        return _units(max(item_bytes(old), item_bytes(new)))
    return _units(item_bytes(old)) + _units(item_bytes(new))  # deleted here, put there


def _entry(index: str, item: Item | None) -> Item | None:
    """What the index holds of an item: nothing where a key is missing."""
    sort_key, projected = _INDEXES[index]
    keys = (schema.Attribute.TASK_STATUS.value, sort_key)
    if item is None or any(key not in item for key in keys):
        return None
    names = (schema.HASH_KEY.value, *keys, *projected)
    return {name: item[name] for name in names if name in item}


def _key(index: str, entry: Item) -> tuple[Any, Any]:
    return entry[schema.Attribute.TASK_STATUS.value], entry[_INDEXES[index][0]]


def _value_bytes(value: Mapping[str, Any]) -> int:
    if "N" in value:
        digits = value["N"].strip("0")
        return math.ceil(len(digits) / 2) + 1
    if "L" in value or "M" in value:  # three bytes, and one for each element
        within = value["L"] if "L" in value else value["M"].values()
        names = "".join(value.get("M", ()))
        return 3 + len(names.encode()) + sum(1 + _value_bytes(each) for each in within)
    if "B" in value:
        return len(value["B"])
    return len(value["S"].encode())


def _units(size: int) -> int:
    return max(1, math.ceil(size / WRITE_UNIT_BYTES))
