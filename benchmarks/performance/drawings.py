"""The charts of the page, each by its name: a function of the results that it shows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import altair as alt

from benchmarks.capacity.results import Change, Found
from benchmarks.capacity.trial import BIT
from benchmarks.cost.results import Line
from benchmarks.freshness.results import Waits
from benchmarks.goodput.results import Outcome
from benchmarks.model_answers.results import Outcome as Answered
from benchmarks.performance import charts
from benchmarks.performance.charts import AnyChart

PAID_FOR: Final = {
    "write units": "writes",
    "read units": "reads",
    "storage": "storage",
    "point-in-time recovery": "storage",
    "function runs": "functions",
    "function time": "functions",
    "kicks": "kicks",
    "SQS requests": "kicks",
    "logs": "logs",
}
"""The groups into which the bill's lines are summed up."""


def goodput_by_load(outcomes: Sequence[Outcome]) -> AnyChart:
    orders = {
        "newest first": "newest first",
        "adaptive, threshold 9.9": "adaptive",
        "oldest first, best deadline": "oldest first, best deadline",
        "oldest first": "oldest first, deadline of 10",
        "oldest first, no deadline": "oldest first, no deadline",
    }
    laws = {"equal": "all wait for 10 services", "exponential": "exponential patience, mean 10"}
    rows = [
        {"load": o.load, "share": min(1, o.in_time), "order": orders[name], "law": laws[o.patience]}
        for name in orders
        for o in outcomes
        if o.order == name and o.patience in laws
    ]
    lines = charts.lines(
        rows,
        x=charts.x("load", "load ρ", [{"load": tick} for tick in (0.5, 1, 1.5, 2, 2.5, 3)]),
        y=charts.share("share", "in time, share of arrivals"),
        color=charts.color("order"),
    )
    return lines.properties(width=290).facet(column=alt.Column("law:N", title=None, sort=None))


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


def cost_per_million(lines: Sequence[Line]) -> AnyChart:
    sums: dict[tuple[str, str], float] = {}
    for line in lines:
        key = line.load, PAID_FOR[line.what]
        sums[key] = sums.get(key, 0.0) + line.usd
    rows = [{"load": load, "for": group, "usd": usd} for (load, group), usd in sums.items()]
    title = "dollars per million tasks"
    return charts.bars(rows, bar="load", value="usd", part="for", title=title)


def capacity_changes(changes: Sequence[Change]) -> AnyChart:
    rows = [
        {"time": BIT * i, "limit": limit, "change": f"{each.change}, {each.times}"}
        for each in changes
        for i, limit in enumerate(each.limits)
    ]
    return _over_time(rows, x="time", y="limit", color="change", title="mean services")


def capacity_live(found: Sequence[Found]) -> AnyChart:
    rows = [{"seconds": row.seconds, "tasks": row.tasks, "of": row.type} for row in found]
    rows += [{"seconds": row.seconds, "tasks": row.threads, "of": "threads"} for row in found]
    return _over_time(rows, x="seconds", y="tasks", color="of", title="seconds")


def model_answers(outcomes: Sequence[Answered]) -> AnyChart:
    shown = {"in_time": "users with an answer in time", "for_nobody": "tokens burnt for nobody"}
    rows = [
        {"load": one.load, "share": getattr(one, share), "way": one.way, "what": what}
        for share, what in shown.items()
        for one in outcomes
    ]
    ticks = [{"load": load} for load in (0.5, 1, 1.5, 2, 3)]
    lines = charts.lines(
        rows,
        x=charts.x("load", "load, as a multiple of what the API can do", ticks),
        y=charts.share("share", "share"),
        color=charts.color("way"),
    )
    column = alt.Column("what:N", title=None, sort=list(shown.values()))
    return lines.properties(width=290).facet(column=column)


def _over_time(
    rows: Sequence[Mapping[str, Any]], *, x: str, y: str, color: str, title: str
) -> AnyChart:
    chart: alt.Chart = alt.Chart(charts.values(rows)).mark_line()
    lines: alt.Chart = chart.encode(
        x=alt.X(f"{x}:Q", title=title),
        y=alt.Y(f"{y}:Q", title="tasks at a time"),
        color=charts.color(color),
    )
    return lines.properties(width=charts.WIDTH)


DRAWINGS: Final[Mapping[str, Callable[[Any], AnyChart]]] = {
    "goodput-by-load": goodput_by_load,
    "freshness-waits": freshness_waits,
    "cost-per-million": cost_per_million,
    "capacity-changes": capacity_changes,
    "capacity-live": capacity_live,
    "model-answers": model_answers,
}
