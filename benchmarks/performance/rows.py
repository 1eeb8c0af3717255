"""Rows of results, and where a table finds in them what it shows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Rows = Sequence[Row]
Column = str | Callable[[Row], Any]
"""The key of a row's value, or what makes it of the row."""


def one(rows: Iterable[Row], **wanted: Any) -> Row:
    """The one row with these values; ValueError where it is none, or several."""
    (found,) = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return found


def field(key: str, form: Callable[[Any], str]) -> Column:
    """The value under the key, in this form."""
    return lambda row: form(row[key])


def value(row: Row, column: Column) -> Any:
    return row[column] if isinstance(column, str) else column(row)
