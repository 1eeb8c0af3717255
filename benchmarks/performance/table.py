"""Rows as a table of the page."""

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.performance.text import shown
from benchmarks.record import Row


def table(rows: Sequence[Row]) -> str:
    """Markdown, with a column for each field that has a heading: ``Annotated[float, "p50, ms"]``,
    or ``Annotated[float, "in time", percent]`` where it is shown by a form of its own."""
    columns = [
        (name, *field.metadata)
        for name, field in type(rows[0]).model_fields.items()
        if field.metadata
    ]
    words = [isinstance(getattr(rows[0], name), str | bool) for name, *_ in columns]
    lines = [
        [heading for _, heading, *_ in columns],
        ["---" if left else "---:" for left in words],
        *([_cell(getattr(row, name), *form) for name, _, *form in columns] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(value: Any, form: Callable[[Any], str] = shown) -> str:
    return shown(value) if value is None else form(value)
