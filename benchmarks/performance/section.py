"""What the page shows of a benchmark."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from benchmarks.performance.rows import Column, Row, value
from benchmarks.performance.text import shown

Results = Mapping[str, Any]
"""``results`` of a ``results.json``."""
AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What was aimed at, and what was measured."""

    text: str
    measured: str
    met: bool


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of values; numbers are shown with three significant digits."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, rows: Iterable[Row], *, title: str, columns: Mapping[str, Column]) -> "Table":
        """A line for each row; ``columns``: by their headings."""
        return cls(
            title=title,
            columns=tuple(columns),
            rows=[[value(row, column) for column in columns.values()] for row in rows],
        )

    def markdown(self) -> str:
        body = [[shown(cell) for cell in row] for row in self.rows]
        rules = [
            "---" if any(_is_text(row[n]) for row in self.rows) else "---:"
            for n in range(len(self.columns))
        ]
        return "\n".join(f"| {' | '.join(row)} |" for row in (self.columns, rules, *body))


def _is_text(cell: Any) -> bool:
    """Rather than a number with its unit, or nothing."""
    return isinstance(cell, str) and not re.match(r"[<>−-]? ?\d|$", cell)


@dataclass(frozen=True, kw_only=True)
class Chart:
    """``name`` is its file's, without the suffix; ``description`` is for who cannot see it."""

    name: str
    title: str
    description: str
    chart: AnyChart


@dataclass(frozen=True, kw_only=True)
class Findings:
    """``meaning``: a sentence for whoever has to decide, without the terms of the trade.
    ``summary``: a sentence or two. Blocks that are text are paragraphs."""

    summary: str
    meaning: str | None = None
    goals: Sequence[Goal] = ()
    blocks: Sequence[Table | Chart | str] = ()


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """``name`` is its folder's. ``every_time``: whether it runs where none is named. ``variant``:
    of a run that takes too long for every day; its results are found under that name, among the
    others, as None where it has not been run."""

    name: str
    title: str
    question: str
    findings: Callable[[Results], Findings]
    variant: str | None = None
    every_time: bool = True
