"""The charts of the page, each by its name: a function of the results that it shows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import altair as alt

from benchmarks.freshness.results import Waits
from benchmarks.goodput.results import Choice, Outcome
from benchmarks.goodput.results import Results as Goodput
from benchmarks.performance import charts
from benchmarks.performance.charts import AnyChart

Results = Mapping[str, Any]
"""``results`` of a ``results.json``."""

WAYS: Final = {"with_spark": "the report", "with_duckdb": "DuckDB"}
PAID_FOR: Final = {
    "write units": "writes",
    "read units": "reads",
    "stream reads": "reads",
    "storage": "storage",
    "point-in-time recovery": "storage",
    "function runs": "functions",
    "function time": "functions",
    "kicks": "kicks",
    "SQS requests": "kicks",
    "logs": "logs, traces",
    "traces": "logs, traces",
}
"""What the bill's lines are summed up to."""


def goodput_by_load(outcomes: Sequence[Outcome]) -> AnyChart:
    rows = charts.plain(outcomes)
    return charts.lines(
        rows,
        x=charts.x("load", "load ρ", rows),
        y=charts.share("goodput", "goodput, share of capacity"),
        color=charts.color("policy", columns=2),
    )


def goodput_adaptive(choices: Sequence[Choice]) -> AnyChart:
    rows = [
        {
            "load": choice.load,
            "share": getattr(choice, order.split()[0]),
            "order": order,
            "deadline": f"deadline: {choice.deadline:g} services, patience: 10",
        }
        for order in ("newest first", "oldest first", "adaptive")
        for choice in choices
    ]
    lines = charts.lines(
        rows,
        x=charts.x("load", "load ρ", rows),
        y=charts.share("share", "in time, share of arrivals"),
        color=charts.color("order"),
    )
    return lines.properties(width=270).facet(column=alt.Column("deadline:N", title=None, sort=None))


def goodput_storm(results: Goodput) -> AnyChart:
    rows = [
        {"from": place * results.bucket, "goodput": goodput, "policy": storm.policy}
        for storm in results.storms
        for place, goodput in enumerate(storm.goodput)
    ]
    burst = [{"from": results.burst_begins, "to": results.burst_ends}]
    band: alt.Chart = alt.Chart(charts.values(burst)).mark_rect(color=charts.INK, opacity=0.15)
    lines: alt.Chart = alt.Chart(charts.values(rows)).mark_line()
    both: AnyChart = alt.layer(
        band.encode(x="from:Q", x2="to:Q"),
        lines.encode(
            x=alt.X("from:Q", title="time, mean service times", axis=alt.Axis(grid=False)),
            y=charts.share("goodput", "goodput, share of capacity"),
            color=charts.color("policy", columns=3),
        ),
    )
    return both


def freshness_waits(waits: Sequence[Waits]) -> AnyChart:
    rows = charts.plain(waits)
    x = alt.X("load:N", title="tasks in flight × service", sort=None, axis=alt.Axis(labelAngle=0))
    place: Any = {"x": x, "xOffset": alt.XOffset("way:N", sort=None)}
    longest = alt.Y("longest_ms:Q", title="milliseconds")
    base: alt.Chart = alt.Chart(charts.values(rows))
    layers: AnyChart = alt.layer(
        base.mark_bar(opacity=0.45).encode(y=longest, color=charts.color("way"), **place),
        base.mark_bar().encode(y="p50_ms:Q", color=charts.color("way"), **place),
        base.mark_tick(color=charts.INK, thickness=2, size=60).encode(y="bound_ms:Q", **place),
    )
    return layers.properties(width=charts.WIDTH)


def latency_warm(results: Results) -> AnyChart:
    return _hops(results, "warm")


def latency_cold(results: Results) -> AnyChart:
    return _hops(results, "cold")


def _hops(results: Results, state: str) -> AnyChart:
    rows = [
        {"state": state, "hop": row["hop"], "ms": max(0.0, row["p50_ms"])}
        for row in results["hops"]
        if row["processes"] == state
    ]
    return charts.bars(rows, bar="state", value="ms", part="hop", title="milliseconds")


def coldstart_parts(results: Results) -> AnyChart:
    rows = [
        {"function": row["function"], "part": part, "ms": row[key]}
        for row in results["start"]
        for part, key in (("boto3 and its clients", "boto3_ms"), ("own", "own_ms"))
    ]
    title = "milliseconds, median"
    return charts.bars(rows, bar="function", value="ms", part="part", title=title)


def cost_per_million(results: Results) -> AnyChart:
    smallest = min(row["payload_bytes"] for row in results["table"])
    sums: dict[tuple[str, str], float] = {}
    for row in results["per_million"]:
        if row["payload_bytes"] == smallest:
            key = row["scenario"], PAID_FOR[row["what"]]
            sums[key] = sums.get(key, 0.0) + row["usd"]
    rows = [{"load": load, "for": group, "usd": usd} for (load, group), usd in sums.items()]
    title = "dollars per million tasks"
    return charts.bars(rows, bar="load", value="usd", part="for", title=title)


def cost_by_size(results: Results) -> AnyChart:
    run_with_every_size = ("one at a time", "backlog", "shed")
    rows = [row for row in results["table"] if row["workload"] in run_with_every_size]
    return charts.lines(
        rows,
        x=charts.x("payload_bytes", "payload, bytes", rows, log=True),
        y=alt.Y("write_units_per_task:Q", title="write units per task"),
        color=charts.color("workload"),
    )


def analytics_time(results: Results) -> AnyChart:
    rows = [
        {"tasks": run["tasks"], "seconds": run["processing_seconds"], "way": name}
        for way, name in WAYS.items()
        for run in (*results["runs"], *(results["large"] or {"runs": ()})["runs"])
        if run["way"] == way
    ]
    seconds = alt.Y(
        "seconds:Q",
        title="seconds (logarithmic)",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(format="~g"),
    )
    x = charts.x("tasks", "tasks", rows, log=True)
    return charts.lines(rows, x=x, y=seconds, color=charts.color("way"))


_ALL: Final[Sequence[Callable[[Any], AnyChart]]] = (
    goodput_by_load,
    goodput_adaptive,
    goodput_storm,
    freshness_waits,
    latency_warm,
    latency_cold,
    coldstart_parts,
    cost_per_million,
    cost_by_size,
    analytics_time,
)
DRAWINGS: Final = {drawing.__name__.replace("_", "-"): drawing for drawing in _ALL}
