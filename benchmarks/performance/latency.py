"""Latency of an idle queue: from the put to the handler's start, hop by hop."""

from typing import Any, Final

from benchmarks.performance import charts
from benchmarks.performance.section import Benchmark, Chart, Findings, Results, Table
from benchmarks.performance.text import number

STATES: Final = ("warm", "cold")


def _findings(results: Results) -> Findings:
    totals = {row["processes"]: row for row in results["totals"]}
    return Findings(
        meaning=(
            f"On an idle queue a task starts {number(totals['warm']['p50_ms'])} ms after its put "
            "here; on AWS expect some 125 ms more, since Lambda looks at a stream four times a "
            "second."
        ),
        summary="On an idle local cloud a handler starts "
        + ", and ".join(
            f"{number(totals[state]['p50_ms'])} ms (p50) and {number(totals[state]['p99_ms'])} ms "
            f"(p99) after the put where processes are {state}"
            for state in STATES
        )
        + ". These are the local cloud's figures, not AWS's: there, Lambda reads a stream four "
        "times a second, which adds 125 ms on average, and a cold function has a sandbox to start.",
        blocks=(*(_hops(results, state) for state in STATES), _table(results)),
    )


def _hops(results: Results, state: str) -> Chart:
    rows = [
        {"state": state, "hop": row["hop"], "ms": max(0.0, row["p50_ms"])}
        for row in _of(results, state)
    ]
    return Chart(
        name=f"latency-{state}",
        title=f"The way of a task to its handler, hop by hop, p50, processes {state}",
        description=f"Milliseconds of each hop from the put to the handler's start, {state}.",
        chart=charts.bars(rows, bar="state", value="ms", part="hop", title="milliseconds"),
    )


def _table(results: Results) -> Table:
    cold = {row["hop"]: row for row in _of(results, "cold")}
    totals = {row["processes"]: row for row in results["totals"]}
    pairs = [(row["hop"], row["what"], row, cold[row["hop"]]) for row in _of(results, "warm")]
    return Table(
        title=(
            f"Milliseconds, of {totals['warm']['tasks']} tasks with warm processes and "
            f"{totals['cold']['tasks']} with cold ones"
        ),
        columns=("hop", "until", "warm p50", "warm p99", "cold p50", "cold p99"),
        rows=[
            (hop, what, *(state[key] for state in rows for key in ("p50_ms", "p99_ms")))
            for hop, what, *rows in (
                *pairs,
                ("**all**", "put to handler", totals["warm"], totals["cold"]),
            )
        ],
    )


def _of(results: Results, state: str) -> list[dict[str, Any]]:
    return [row for row in results["hops"] if row["processes"] == state]


BENCHMARK: Final = Benchmark(
    name="latency",
    title="Latency",
    question="How long does it take from the put to the handler's start when the queue is idle, "
    "and where does that time go?",
    findings=_findings,
)
