"""Cost: what a task takes in units and runs, and what that costs."""

from typing import Any, Final

import altair as alt

from benchmarks.performance import charts
from benchmarks.performance.section import Benchmark, Chart, Findings, Goal, Results, Table
from benchmarks.performance.text import number

SHOWN_WORKLOADS: Final = ("one at a time", "backlog", "shed")
"""Those that were run with every size of payload."""


GROUPS: Final = {
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
"""What the bill's lines are summed up to in the chart."""


def _findings(results: Results) -> Findings:
    smallest = min(row["payload_bytes"] for row in results["table"])
    dollars = {
        scenario: number(_sum(results, scenario, smallest))
        for scenario in _scenarios(results["per_million"])
    }
    month = sum(row["usd"] for row in results["month_of_nothing"])
    return Findings(
        meaning=(
            "A million tasks cost "
            + ", ".join(f"{usd} dollars ({scenario})" for scenario, usd in dollars.items())
            + f"; a month without any costs {number(month)}."
        ),
        summary=(
            "A million tasks with small payloads cost "
            + ", ".join(f"{usd} dollars ({scenario})" for scenario, usd in dollars.items())
            + f"; a month in which nothing happens costs {number(month)} dollars. Units, runs and "
            "requests are counted, prices are list prices."
        ),
        goals=[
            Goal(
                text=f"at most {number(goal['limit'])} {goal['goal']}",
                measured=number(goal["counted"]),
                met=goal["met"],
            )
            for goal in results["goals"]
        ],
        blocks=(
            _bill(results, smallest),
            _workloads(results, smallest),
            _by_size(results),
            _transitions(results),
            _cloud(results),
            _month(results),
            _alternatives(results),
        ),
    )


def _scenarios(rows: Any) -> list[str]:
    return list(dict.fromkeys(row["scenario"] for row in rows))


def _sum(results: Results, scenario: str, size: int) -> float:
    return sum(
        float(row["usd"])
        for row in results["per_million"]
        if (row["scenario"], row["payload_bytes"]) == (scenario, size)
    )


def _bill(results: Results, size: int) -> Chart:
    sums: dict[tuple[str, str], float] = {}
    for row in results["per_million"]:
        if row["payload_bytes"] == size:
            key = row["scenario"], GROUPS[row["what"]]
            sums[key] = sums.get(key, 0.0) + row["usd"]
    rows = [{"load": load, "for": group, "usd": usd} for (load, group), usd in sums.items()]
    return Chart(
        name="cost-per-million",
        title=f"A million tasks with payloads of {size} bytes",
        description="Dollars of a million tasks by what they pay for: tasks that come one at a "
        "time, a backlog, and tasks that are shed.",
        chart=charts.bars(
            rows, bar="load", value="usd", part="for", title="dollars per million tasks"
        ),
    )


def _workloads(results: Results, size: int) -> Table:
    return Table.of(
        [row for row in results["table"] if row["payload_bytes"] == size],
        title=f"Counted on DynamoDB Local, payloads of {size} bytes, per task",
        columns={
            "load": "workload",
            "tasks": "tasks",
            "write units": "write_units_per_task",
            "per success": "write_units_per_success",
            "read units": "read_units_per_task",
            "queries": "queries_per_task",
            "refused writes": "refused_writes_per_task",
            "retries": "retries_per_task",
        },
    )


def _by_size(results: Results) -> Chart:
    rows = [row for row in results["table"] if row["workload"] in SHOWN_WORKLOADS]
    return Chart(
        name="cost-by-size",
        title="Write units by the size of the payload",
        description="Write units per task over the size of the payload in bytes.",
        chart=charts.lines(
            rows,
            x=charts.x("payload_bytes", "payload, bytes", rows, log=True),
            y=alt.Y("write_units_per_task:Q", title="write units per task"),
            color=charts.color("workload"),
        ),
    )


def _transitions(results: Results) -> Table:
    sizes = sorted({row["payload_bytes"] for row in results["transitions"]})
    units: dict[tuple[str, str], dict[int, float]] = {}
    for row in results["transitions"]:
        way = units.setdefault((row["transition"], row["way"]), {})
        way[row["payload_bytes"]] = row["write_units"]
    return Table(
        title="Write units of each transition, by the size of the payload in bytes",
        columns=("transition", "way", *(f"{size:,}" for size in sizes)),
        rows=[(*names, *(by_size.get(size) for size in sizes)) for names, by_size in units.items()],
    )


def _cloud(results: Results) -> Table:
    return Table.of(
        results["cloud"],
        title="Counted on the local cloud, per task",
        columns={
            "load": "load",
            "tasks": "tasks",
            "trigger runs": "trigger_runs",
            "processor runs": "processor_runs",
            "runs per task": "invocations_per_task",
            "GB-seconds": "gigabyte_seconds_per_task",
            "kicks": "kicks_per_task",
            "of them spare": "spare_kicks_per_task",
        },
    )


def _month(results: Results) -> Table:
    rows = results["month_of_nothing"]
    together = {"what": "together", "quantity": None, "unit": ""}
    return Table.of(
        [*rows, {**together, "usd": sum(row["usd"] for row in rows)}],
        title="A month in which nothing happens",
        columns={"what": "what", "quantity": "quantity", "unit": "unit", "dollars": "usd"},
    )


def _alternatives(results: Results) -> Table:
    return Table.of(
        results["alternatives"],
        title="Beside others: computed from what is documented of them, not measured",
        columns={"who": "who", "load": "load", "dollars per million tasks": "usd_per_million"},
    )


BENCHMARK: Final = Benchmark(
    name="cost",
    title="Cost",
    question="How many write units, read units and runs does a task take, and what does it cost?",
    findings=_findings,
)
