"""What the page shows of a benchmark."""

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
            "---" if n == 0 and any(isinstance(row[0], str) for row in self.rows) else "---:"
            for n in range(len(self.columns))
        ]
        return "\n".join(f"| {' | '.join(row)} |" for row in (self.columns, rules, *body))


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
    """``name`` is its folder's."""

    name: str
    title: str
    question: str
    findings: Callable[[Results], Findings]
