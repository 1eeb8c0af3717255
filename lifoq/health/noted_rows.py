"""Rows that workers keep in their item, as JSON: a list of objects with the fields of a dataclass.

In a rolling deployment, workers of two releases read and write the same item. A row of the later
release may have a field that the earlier one does not know. The earlier one keeps the row without
that field, which comes back with the later worker's next note.
"""

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from lifoq.basics import jsontext

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row", bound="DataclassInstance")


def decode(text: object, row_type: type[Row]) -> list[Row]:
    """Return the rows of an item's attribute; none where it is not a list in JSON. Fields that are
    unknown here are left out. A row that lacks a field, or holds a value of another type, is left
    out alone."""
    try:
        found: Any = jsontext.decode(text) if isinstance(text, str) else []
    except (ValueError, RecursionError):
        return []
    rows = found if isinstance(found, list) else []
    read = (_row(row, row_type) for row in rows)
    return [row for row in read if row is not None]


def _row(found: Any, row_type: type[Row]) -> Row | None:
    if not isinstance(found, dict):
        return None
    types = {one.name: one.type for one in fields(row_type)}
    known = {name: value for name, value in found.items() if name in types}
    if not all(_has_type(value, types[name]) for name, value in known.items()):
        return None
    try:
        return row_type(**known)
    except TypeError:  # it lacks a field
        return None


def _has_type(value: Any, wanted: Any) -> bool:
    if wanted is float:
        return isinstance(value, int | float)  # JSON has one kind of number
    return isinstance(value, wanted)
