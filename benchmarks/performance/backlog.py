"""Backlog depth: what a claim costs with more and more tasks waiting behind it."""

from typing import Final

import altair as alt

from benchmarks.performance import charts
from benchmarks.performance.rows import Row, Rows
from benchmarks.performance.section import Benchmark, Chart, Findings, Goal, Results, Table
from benchmarks.performance.text import number, span

FLAT: Final = 1.5
"""Times the smallest depth's, below which noise is the likelier reason."""

DEEP: Final = "deep"
DEEPEST: Final = 1_000_000


def _findings(results: Results) -> Findings:
    runs: list[Rows] = [run["depth"] for run in (results, results[DEEP]) if run]
    rows = [row for run in runs for row in run]
    units = {(row["read_units"], row["write_units"]) for row in rows}
    return Findings(
        meaning=(
            f"A backlog costs nothing: with {_most(runs[-1], 'waiting'):,} tasks waiting, a claim "
            "takes as long, and as many units, as with a thousand."
        ),
        summary=_summary(runs[-1]),
        goals=(
            Goal(
                text="the same units at every depth",
                measured="; ".join(
                    f"{number(read)} read and {number(write)} write units"
                    for read, write in sorted(units)
                ),
                met=len(units) == 1,
            ),
            Goal(
                text=f"flat: at most {number(FLAT)} times as long at any depth",
                measured=span([row["ratio"] for row in rows]),
                met=max(row["ratio"] for row in rows) <= FLAT,
            ),
        ),
        blocks=(
            _chart(runs[-1]),
            *(_table(run) for run in runs),
            _exception(results),
            *(() if results[DEEP] else (f"{DEEPEST:,} tasks waiting: not run.",)),
        ),
    )


def _summary(rows: Rows) -> str:
    deepest = _most(rows, "waiting")
    at_deepest = [row["ratio"] for row in rows if row["waiting"] == deepest]
    return (
        f"A look at the queue and a claim take {span(at_deepest)} times as long with {deepest:,} "
        f"tasks waiting as with {min(row['waiting'] for row in rows):,}, with and without a "
        f"mountain of {_most(rows, 'expired'):,} expired ones."
    )


def _most(rows: Rows, column: str) -> int:
    return max(int(row[column]) for row in rows)


def _kind(row: Row) -> str:
    return (
        f"{row['end']} first, {row['expired']:,} expired"
        if row["expired"]
        else (f"{row['end']} first")
    )


def _chart(measured: Rows) -> Chart:
    rows = [{**row, "kind": _kind(row)} for row in measured]
    return Chart(
        name="backlog-depth",
        title="Look and claim, as a multiple of the time at the smallest depth",
        description="Time of a look and a claim over the number of waiting tasks, relative to the "
        "smallest number.",
        chart=charts.lines(
            rows,
            x=charts.x("waiting", "tasks waiting", rows, log=True),
            y=alt.Y("ratio:Q", title="times as long", scale=alt.Scale(zero=True)),
            color=charts.color("kind"),
        ),
    )


def _table(rows: Rows) -> Table:
    return Table.of(
        rows,
        title=f"Up to {_most(rows, 'waiting'):,} waiting: medians and 99th percentiles, ms",
        columns={
            "order": _kind,
            "waiting": "waiting",
            "look": "look_ms",
            "look p99": "look_p99_ms",
            "claim": "claim_ms",
            "claim p99": "claim_p99_ms",
            "read units": "read_units",
            "write units": "write_units",
            "times as long": "ratio",
        },
    )


def _exception(results: Results) -> Table:
    return Table.of(
        results["expired_at_the_newest_end"],
        title=(
            "The exception: expired tasks at the newest end, whose own deadlines were shorter than "
            "the queue's, so that no bound excludes them"
        ),
        columns={
            "expired at the newest end": "expired",
            "look, ms": "look_ms",
            "claim, ms": "claim_ms",
            "read units": "read_units",
            "write units": "write_units",
        },
    )


BENCHMARK: Final = Benchmark(
    name="backlog",
    title="Backlog depth",
    question="Does a claim cost more when more tasks wait, or when a mountain of expired ones lies "
    "behind them?",
    findings=_findings,
    variant=DEEP,
)
