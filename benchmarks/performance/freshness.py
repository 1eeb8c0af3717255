"""Freshness: how long a new task waits on top of a deep backlog."""

from itertools import product
from typing import Final

import altair as alt

from benchmarks.performance import charts
from benchmarks.performance.rows import Row, Rows
from benchmarks.performance.section import (
    AnyChart,
    Benchmark,
    Chart,
    Findings,
    Goal,
    Results,
    Table,
)
from benchmarks.performance.text import number

OURS: Final = "on free capacity (lifoq)"


def _findings(results: Results) -> Findings:
    rows = results["waits"]
    ours = [row for row in rows if row["way"] == OURS]
    return Findings(
        meaning=(
            "A new task does not wait for the backlog: beneath a deep one it starts within about "
            "the time that one task takes."
        ),
        summary=(
            "With a deep backlog beneath it, a new task starts "
            + ", ".join(
                f"{number(row['p50_ms'])} ms (p50) and at most {number(row['max_ms'])} ms after "
                f"its put at {_load(row)}"
                for row in ours
            )
            + f". Page by page it is at most {_worst(rows)}."
        ),
        goals=[
            Goal(
                text=f"within one service, a settlement, a query and a claim, at {_load(row)}",
                measured=f"{_within_bound(row)} tasks",
                met=row["within_bound"] == row["new_tasks"],
            )
            for row in ours
        ],
        blocks=(_chart(results), _table(results), _calls(results)),
    )


def _worst(rows: Rows) -> str:
    others = [f"{number(row['max_ms'])} ms" for row in rows if row["way"] != OURS]
    return ", ".join(others)


def _load(row: Row) -> str:
    return f"{row['in_flight']} × {row['service_ms']} ms"


def _within_bound(row: Row) -> str:
    return f"{row['within_bound']} of {row['new_tasks']}"


def _chart(results: Results) -> Chart:
    rows = [{**row, "load": _load(row)} for row in results["waits"]]
    x = alt.X("load:N", title="tasks in flight × service", sort=None, axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("way:N", sort=None)
    base: alt.Chart = alt.Chart(charts.values(rows))
    layers: AnyChart = alt.layer(
        base.mark_bar(opacity=0.45).encode(
            x=x,
            xOffset=offset,
            y=alt.Y("max_ms:Q", title="milliseconds"),
            color=charts.color("way"),
        ),
        base.mark_bar().encode(x=x, xOffset=offset, y="p50_ms:Q", color=charts.color("way")),
        base.mark_tick(color=charts.INK, thickness=2, size=60).encode(
            x=x, xOffset=offset, y="bound_ms:Q"
        ),
    )
    return Chart(
        name="freshness-waits",
        title="A new task's wait: full bars the median, pale bars the longest, the tick the bound",
        description="Milliseconds from the put to the start, median and longest, for lifoq and for "
        "page by page, with the bound of one service and its calls.",
        chart=layers.properties(width=charts.WIDTH),
    )


def _table(results: Results) -> Table:
    return Table.of(
        results["waits"],
        title="The same in figures, ms",
        columns={
            "way": "way",
            "load": _load,
            "p50": "p50_ms",
            "p99": "p99_ms",
            "longest": "max_ms",
            "bound": "bound_ms",
            "within it": _within_bound,
            "backlog": "backlog_at_first",
        },
    )


def _calls(results: Results) -> Table:
    calls = product(("query", "claim", "settle"), ("p50", "p99"))
    return Table.of(
        results["calls"],
        title="The calls meanwhile, ms",
        columns={"way": "way", "load": _load, **{f"{c} {p}": f"{c}_{p}_ms" for c, p in calls}},
    )


BENCHMARK: Final = Benchmark(
    name="freshness",
    title="Freshness",
    question="How long does a new task wait until it starts while a deep backlog waits, beside "
    "processing page by page?",
    findings=_findings,
)
