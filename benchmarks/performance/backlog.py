"""Backlog depth: what a claim costs with more and more tasks waiting behind it."""

from typing import Any, Final

import altair as alt

from benchmarks.performance import charts
from benchmarks.performance.section import Benchmark, Chart, Findings, Goal, Results, Table
from benchmarks.performance.text import number, span

FLAT: Final = 1.5
"""Times the smallest depth's, below which noise is the likelier reason."""

MILLION: Final = 1_000_000
NOT_SO_DEEP: Final = (
    "A million waiting tasks take too long to be put for every run, and were not in this one: "
    "`python -m benchmarks.backlog --deepest 1000000 --expired 100000`."
)


def _findings(results: Results) -> Findings:
    rows = results["depth"]
    deepest = max(row["waiting"] for row in rows)
    at_deepest = [row["ratio"] for row in rows if row["waiting"] == deepest]
    units = {(row["read_units"], row["write_units"]) for row in rows}
    return Findings(
        summary=(
            f"A look at the queue and a claim take {span(at_deepest)} times as long with "
            f"{deepest:,} tasks waiting as with {min(row['waiting'] for row in rows):,}, with and "
            f"without a mountain of {max(row['expired'] for row in rows):,} expired ones."
        ),
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
            _chart(results),
            _table(results),
            _exception(results),
            *((NOT_SO_DEEP,) if deepest < MILLION else ()),
        ),
    )


def _kind(row: dict[str, Any]) -> str:
    return (
        f"{row['end']} first, {row['expired']:,} expired"
        if row["expired"]
        else (f"{row['end']} first")
    )


def _chart(results: Results) -> Chart:
    rows = [{**row, "kind": _kind(row)} for row in results["depth"]]
    lines: alt.Chart = alt.Chart(charts.values(rows)).mark_line(point=True)
    return Chart(
        name="backlog-depth",
        title="Look and claim, as a multiple of the time at the smallest depth",
        description="Time of a look and a claim over the number of waiting tasks, relative to the "
        "smallest number.",
        chart=lines.encode(
            x=charts.x("waiting", "tasks waiting", rows, log=True),
            y=alt.Y("ratio:Q", title="times as long", scale=alt.Scale(zero=True)),
            color=charts.color("kind"),
        ),
    )


def _table(results: Results) -> Table:
    return Table(
        title="Medians and 99th percentiles, ms",
        columns=(
            "order",
            "waiting",
            "look",
            "look p99",
            "claim",
            "claim p99",
            "read units",
            "write units",
            "times as long",
        ),
        rows=[
            (
                _kind(row),
                row["waiting"],
                row["look_ms"],
                row["look_p99_ms"],
                row["claim_ms"],
                row["claim_p99_ms"],
                row["read_units"],
                row["write_units"],
                row["ratio"],
            )
            for row in results["depth"]
        ],
    )


def _exception(results: Results) -> Table:
    return Table(
        title=(
            "The exception: expired tasks at the newest end, whose own deadlines were shorter than "
            "the queue's, so that no bound excludes them"
        ),
        columns=("expired at the newest end", "look, ms", "claim, ms", "read units", "write units"),
        rows=[
            (
                row["expired"],
                row["look_ms"],
                row["claim_ms"],
                row["read_units"],
                row["write_units"],
            )
            for row in results["expired_at_the_newest_end"]
        ],
    )


BENCHMARK: Final = Benchmark(
    name="backlog",
    title="Backlog depth",
    question="Does a claim cost more when more tasks wait, or when a mountain of expired ones lies "
    "behind them?",
    findings=_findings,
)
