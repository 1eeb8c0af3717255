"""Goodput under overload: newest first, oldest first, and in between, beside theory."""

import math
from typing import Final

import altair as alt

from benchmarks.performance import charts
from benchmarks.performance.rows import Row, field, one
from benchmarks.performance.section import (
    AnyChart,
    Benchmark,
    Chart,
    Findings,
    Goal,
    Results,
    Table,
)
from benchmarks.performance.text import number, percent

DEFAULT: Final = "lifo"
NAMES: Final = {
    "lifo": "newest first (default)",
    "lifo, no deadline": "newest first, no deadline",
    "adaptive": "adaptive",
    "fifo, deadline": "oldest first, deadline",
    "fifo, bounded": "oldest first, bounded",
    "fifo, no deadline": "oldest first, no deadline",
}
WITHIN_POINTS: Final = 1.0
SATURATED: Final = 2.0


def _findings(results: Results) -> Findings:
    rows = results["goodput_by_load"]
    beside_theory = [row for row in rows if row["theory"] is not None]
    within = sum(row["within_1_percent"] for row in beside_theory)
    explained = sum(row["within_1_percent"] or row["within_ci95"] for row in beside_theory)
    lifo = one(rows, service="exponential", load=SATURATED, policy=DEFAULT)
    fifo = one(
        results["fifo_without_deadline_over_a_horizon"], service="exponential", load=SATURATED
    )
    behind = min(row["adaptive_better_by_points"] for row in results["adaptive_by_load"])
    return Findings(
        meaning=(
            f"With {number(SATURATED)} times as much work as the system behind it can do, "
            f"{percent(lifo['goodput_share_of_capacity'])} of what it can do goes to tasks that "
            "still start in time. Oldest first without a deadline, it is "
            f"{percent(fifo['goodput_share_of_capacity'])}."
        ),
        summary=(
            f"At ρ = {number(SATURATED)} the default spends "
            f"{percent(lifo['goodput_share_of_capacity'])} of the capacity on tasks that start in "
            f"time, and who is served waits {number(lifo['wait_p50_services'])} mean service times "
            f"in the median; {percent(lifo['shed_share_of_arrivals'])} of the arrivals are shed, "
            f"where no queue could shed less than {percent(lifo['shed_share_limit'])}. Oldest "
            f"first without a deadline spends {percent(fifo['goodput_share_of_capacity'])} on "
            f"tasks in time, over the first {number(fifo['horizon_services'])} service times."
        ),
        goals=(
            Goal(
                text="within 1 % of the closed form, or within the 95 % interval",
                measured=(
                    f"{within} of {len(beside_theory)} within 1 %, {explained} in all; "
                    "one such interval in twenty misses by chance"
                ),
                met=explained == len(beside_theory),
            ),
            Goal(
                text="adaptive order at most a point behind the better order at every load",
                measured=f"at worst {_points(behind)}",
                met=behind >= -WITHIN_POINTS,
            ),
        ),
        blocks=(
            _by_load(results),
            _beside_theory(results),
            _horizon(results),
            _adaptive(results),
            _adaptive_table(results),
            _storm(results),
            _storm_table(results),
            _bursts(results),
            _thresholds(results),
            _slots(results),
            _patience(results),
        ),
    )


def _by_load(results: Results) -> Chart:
    simulated = [
        {**row, "goodput": row["goodput_share_of_capacity"], "policy": NAMES[row["policy"]]}
        for row in [
            *results["goodput_by_load"],
            *(
                {**row, "policy": "fifo, no deadline", "theory": None}
                for row in results["fifo_without_deadline_over_a_horizon"]
            ),
        ]
    ]
    order = [name for name in NAMES.values() if any(row["policy"] == name for row in simulated)]
    simulated.sort(key=lambda row: order.index(row["policy"]))
    lines = charts.lines(
        simulated,
        x=charts.x("load", "load ρ", simulated),
        y=charts.share("goodput", "goodput, share of capacity"),
        color=charts.color("policy", columns=3),
    )
    return Chart(
        name="goodput-by-load",
        title="Goodput: the share of capacity that goes to tasks which start in time",
        description="Goodput over load from half of to three times the capacity, by policy, for "
        "exponential and constant service times.",
        chart=lines.properties(width=270).facet(
            column=alt.Column("service:N", title=None, sort=["exponential", "constant"])
        ),
    )


def _beside_theory(results: Results) -> Table:
    return Table.of(
        [
            row
            for row in results["goodput_by_load"]
            if row["policy"] == DEFAULT and row["service"] == "exponential"
        ],
        title="Newest first (the default) beside theory, exponential service times",
        columns={
            "ρ": "load",
            "goodput": field("goodput_share_of_capacity", percent),
            "theory": field("theory", percent),
            "difference, %": "difference_percent",
            "shed": field("shed_share_of_arrivals", percent),
            "least that must be shed": field("shed_share_limit", percent),
            "wait p50, services": "wait_p50_services",
            "wait p95, services": "wait_p95_services",
        },
    )


def _horizon(results: Results) -> Table:
    horizon = results["fifo_without_deadline_over_a_horizon"][0]["horizon_services"]
    return Table.of(
        results["fifo_without_deadline_over_a_horizon"],
        title=(
            "Oldest first without a deadline: tasks in time, over the first "
            f"{number(horizon)} service times of an overload"
        ),
        columns={
            "service": "service",
            "ρ": "load",
            "in time": field("in_time_share_of_arrivals", percent),
            "± (95 %)": field("ci95", percent),
            "theory": field("theory", percent),
            "as an even flow": field("theory_even_flow", percent),
        },
    )


def _adaptive(results: Results) -> Chart:
    rows = [
        {
            "load": row["load"],
            "share": row[f"{key}_in_time_share_of_arrivals"],
            "order": name,
            "deadline": _deadline(results, row["deadline_services"]),
        }
        for key, name in (("lifo", "newest first"), ("fifo", "oldest first"), ("adaptive",) * 2)
        for row in results["adaptive_by_load"]
        if row["service"] == "constant"
    ]
    return Chart(
        name="goodput-adaptive",
        title="Adaptive order beside the other two, constant service times",
        description="Share of tasks that start in time over load, for newest first, oldest first "
        "and adaptive order, with a queue that knows its clients' patience and one that does not.",
        chart=charts.lines(
            rows,
            x=charts.x("load", "load ρ", rows),
            y=charts.share("share", "in time, share of arrivals"),
            color=charts.color("order"),
        )
        .properties(width=270)
        .facet(column=alt.Column("deadline:N", title=None, sort=None)),
    )


def _deadline(results: Results, services: float) -> str:
    patience = results["setting"][0]["patience_services"]
    if services == patience:
        return "deadline = patience"
    return f"deadline = {number(services / patience)} × patience"


def _adaptive_table(results: Results) -> Table:
    return Table.of(
        results["adaptive_by_load"],
        title="Tasks in time, and how far adaptive order is from the better of the other two",
        columns={
            "service": "service",
            "queue's deadline": lambda row: _deadline(results, row["deadline_services"]),
            "ρ": "load",
            "newest first": field("lifo_in_time_share_of_arrivals", percent),
            "oldest first": field("fifo_in_time_share_of_arrivals", percent),
            "adaptive": field("adaptive_in_time_share_of_arrivals", percent),
            "adaptive better by": field("adaptive_better_by_points", _points),
            "± (95 %)": field("ci95_points", _points),
        },
    )


def _points(value: float) -> str:
    rounded = round(value, 2) + 0.0  # no negative nothing
    return f"{rounded:g} points"


def _storm(results: Results) -> Chart:
    setting = results["setting"][0]
    rows = [{**row, "policy": _policy(row)} for row in results["storm_over_time"]]
    burst = charts.values(
        [
            {
                "from": setting["storm_burst_begins_services"],
                "to": setting["storm_burst_ends_services"],
            }
        ]
    )
    band: alt.Chart = alt.Chart(burst).mark_rect(color=charts.INK, opacity=0.15)
    lines: alt.Chart = alt.Chart(charts.values(rows)).mark_line()
    both: AnyChart = alt.layer(
        band.encode(x="from:Q", x2="to:Q"),
        lines.encode(
            x=alt.X("from_services:Q", title="time, mean service times", axis=alt.Axis(grid=False)),
            y=charts.share("goodput_share_of_capacity", "goodput, share of capacity"),
            color=charts.color("policy", columns=3),
        ),
    )
    return Chart(
        name="goodput-storm",
        title=(
            "A retry storm: clients that got no answer in time ask again, up to "
            f"{setting['storm_repeats']} times. In the shaded stretch "
            f"ρ = {number(setting['storm_burst_load'])}, else {number(setting['storm_calm_load'])}"
        ),
        description="Goodput over time through a burst, by policy: which ones come back after it.",
        chart=both,
    )


def _policy(row: Row) -> str:
    deadline = row["deadline_services"]
    name = NAMES[row["policy"]].removesuffix(" (default)")
    if deadline is None or math.isinf(deadline):
        return name
    return f"{name.removesuffix(', deadline')}, deadline {number(deadline)}"


def _storm_table(results: Results) -> Table:
    return Table.of(
        results["storm_summary"],
        title="The same in figures",
        columns={
            "policy": _policy,
            "goodput before": field("goodput_before", percent),
            "goodput in the burst": field("goodput_during", percent),
            "goodput in the last half": field("goodput_in_last_half", percent),
            "requests answered in the last half": field(
                "served_share_of_requests_in_last_half", percent
            ),
            "recovered after, services": lambda row: (
                "never"
                if row["recovered_after_services"] is None
                else row["recovered_after_services"]
            ),
        },
    )


def _bursts(results: Results) -> Table:
    return Table.of(
        results["bursts"],
        title="Bursts: tasks in time at a load that is bearable on average",
        columns={
            "service": "service",
            "ρ on average": "load",
            "policy": _policy,
            "in time": field("in_time_share_of_arrivals", percent),
            "± (95 %)": field("ci95", percent),
            "wait p50, services": "wait_p50_services",
        },
    )


def _thresholds(results: Results) -> Table:
    return Table.of(
        results["adaptive_by_threshold"],
        title="The adaptive order's threshold, constant service times",
        columns={
            "threshold, share of the patience": "threshold_share_of_patience",
            "queue's deadline": lambda row: _deadline(results, row["deadline_services"]),
            "ρ": "load",
            "in time": field("in_time_share_of_arrivals", percent),
            "± (95 %)": field("ci95", percent),
            "wait p50, services": "wait_p50_services",
        },
    )


def _slots(results: Results) -> Table:
    return Table.of(
        results["several_slots"],
        title="Several tasks at a time: newest first without a deadline, exponential service times",
        columns={
            "tasks at a time": "slots",
            "ρ": "load",
            "goodput": field("goodput_share_of_capacity", percent),
            "± (95 %)": field("ci95", percent),
            "theory": field("theory", percent),
            "difference, %": "difference_percent",
        },
    )


def _patience(results: Results) -> Table:
    rows = results["near_saturation_by_patience"]
    return Table.of(
        rows,
        title=(
            f"Theory near saturation (ρ = {number(rows[0]['load'])}, {rows[0]['service']} service "
            "times): tasks in time, by the clients' patience"
        ),
        columns={
            "patience, services": "patience_services",
            "newest first": field("lifo_in_time_share", percent),
            "newest first, deadline": field("lifo_deadline_in_time_share", percent),
            "oldest first": field("fifo_in_time_share", percent),
            "oldest first, deadline": field("fifo_deadline_in_time_share", percent),
        },
    )


BENCHMARK: Final = Benchmark(
    name="goodput",
    title="Goodput under overload",
    question="What share of the capacity goes to tasks that start in time, whatever the load? The "
    "real processor and store under a virtual clock, beside theory and other orders.",
    findings=_findings,
)
