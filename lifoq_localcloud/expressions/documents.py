"""Values of items: what lies at a path, what equals what, and in which order they come.

A value is DynamoDB's JSON: ``{"M": {"a": {"N": "5"}}}``. Numbers are as DynamoDB stores them.
"""

import base64
from typing import Any, Final

from lifoq_localcloud.expressions.tree import Path
from lifoq_localcloud.tables.order import sort_value

Value = dict[str, Any]
Item = dict[str, Value]

SETS: Final = {"SS", "NS", "BS"}
ORDERED: Final = {"S", "N", "B"}


def kind_of(value: Value) -> str:
    """Return the datatype of a value."""
    return next(iter(value))


def at(item: Item, path: Path) -> Value | None:
    """Return the value at a path; None where there is none."""
    found: Value = {"M": item}
    for part in path.parts:
        inner = child(found, part)
        if inner is None:
            return None
        found = inner
    return found


def child(value: Value, part: str | int) -> Value | None:
    """Return the entry of a map or the element of a list."""
    if isinstance(part, int):
        elements = value.get("L")
        return elements[part] if elements is not None and part < len(elements) else None
    entries = value.get("M")
    found: Value | None = entries.get(part) if entries is not None else None
    return found


def same(one: Value, other: Value) -> bool:
    """Return True if two values are equal. Sets have no order."""
    kind = kind_of(one)
    if kind != kind_of(other):
        return False
    mine, theirs = one[kind], other[kind]
    if kind in SETS:
        return set(mine) == set(theirs)
    if kind == "L":
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    if kind == "M":
        return mine.keys() == theirs.keys() and all(same(mine[name], theirs[name]) for name in mine)
    return bool(mine == theirs)


def size(value: Value) -> int | None:
    """Return the size of a value, as the function ``size`` tells it; None where it has none."""
    ((kind, given),) = value.items()
    if kind == "S":
        return len(given)
    if kind == "B":
        return len(base64.b64decode(given))
    return len(given) if kind in SETS or kind in {"L", "M"} else None


def contains(whole: Value, part: Value) -> bool:
    """Return True if a string or bytes, a set or a list contain a value."""
    ((kind, given),) = whole.items()
    part_kind = kind_of(part)
    if kind == "L":
        return any(same(one, part) for one in given)
    if kind in SETS:
        return part_kind == kind[0] and part[part_kind] in given
    if kind != part_kind or kind not in {"S", "B"}:
        return False
    return bool(sort_value(part) in sort_value(whole))


def begins_with(whole: Value, start: Value) -> bool:
    """Return True if a string or bytes begin with another."""
    kind = kind_of(whole)
    if kind not in {"S", "B"} or kind != kind_of(start):
        return False
    return bool(sort_value(whole).startswith(sort_value(start)))
