"""What the page shows of a benchmark."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

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

    def markdown(self) -> str:
        body = [[shown(value) for value in row] for row in self.rows]
        rules = [
            "---" if any(_is_text(row[n]) for row in self.rows) else "---:"
            for n in range(len(self.columns))
        ]
        return "\n".join(f"| {' | '.join(row)} |" for row in (self.columns, rules, *body))


def _is_text(value: Any) -> bool:
    """Rather than a number with its unit, or nothing."""
    return isinstance(value, str) and not re.match(r"[<>−-]? ?\d|$", value)


@dataclass(frozen=True, kw_only=True)
class Chart:
    """``name`` is its file's, without the suffix; ``description`` is for who cannot see it."""

    name: str
    title: str
    description: str
    chart: AnyChart


@dataclass(frozen=True, kw_only=True)
class Findings:
    """``summary``: a sentence or two. Blocks that are text are paragraphs."""

    summary: str
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
