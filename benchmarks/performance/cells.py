"""Cells: what one queue can take, and what several side by side do to order, loss and cost."""

from typing import Final

import altair as alt

from benchmarks.performance import charts
from benchmarks.performance.rows import field, one
from benchmarks.performance.section import Benchmark, Chart, Findings, Results, Table
from benchmarks.performance.text import number, percent, seconds

BUSY: Final = 2.0
NEAR: Final = 0.95
"""Loads at which the page compares: far above capacity, and just below it."""


ONE_PARTITION: Final = (
    "DynamoDB may keep all statuses of a young table's index in one partition, until it splits it: "
    "the last column."
)


def _findings(results: Results) -> Findings:
    ceiling = results["ceiling_by_way"][0]
    four = one(results["inversions_by_load"], cells=4, load=BUSY)
    near = one(results["inversions_by_load"], cells=4, load=NEAR)
    return Findings(
        meaning=(
            f"One queue takes about {number(ceiling['tasks_per_second'])} tasks a second; beyond "
            "that, several are one."
        ),
        summary=(
            f"One queue takes {number(ceiling['tasks_per_second'])} tasks/s that succeed at the "
            f"first attempt: {_listed(ceiling['busiest'])} each take {ceiling['pending_writes']} "
            "index writes per task, out of the 1,000 that a partition takes in a second. Several "
            "queues (cells) lift that, and each is newest-first in itself. Across four of them at "
            f"ρ = {number(BUSY)}, {percent(four['inversions_share'])} of the starts are "
            "inversions: a newer task waits in another cell, newer by "
            f"{seconds(four['newer_by_p50_seconds'])} in the median and by "
            f"{seconds(four['newer_by_p95_seconds'])} at p95. Four cells at ρ = {number(NEAR)} "
            f"serve {percent(near['served_share'])} of the tasks in time, where one queue as large "
            f"as all of them would serve {percent(near['one_queue_served_share'])}."
        ),
        blocks=(
            _ceilings(results),
            ONE_PARTITION,
            _under_load(results),
            _cells_needed(results),
            _assumptions(results),
            _inversions(results),
            _newer_by(results),
            _routings(results),
            _deadlines(results),
            _sizes(results),
            _outages(results),
            _beside_the_queue(results),
            _processors(results),
            _dollars(results),
        ),
    )


def _ceilings(results: Results) -> Table:
    return Table.of(
        results["ceiling_by_way"],
        title="Index writes of one task, and the tasks per second that fill the busiest key",
        columns={
            "a task that": "way",
            "PENDING": "pending_writes",
            "TAKEN": "taken_writes",
            "DELAYED": "delayed_writes",
            "FAILURE": "failure_writes",
            "tasks/s": "tasks_per_second",
            "in one partition": "tasks_per_second_if_in_one_partition",
        },
    )


def _under_load(results: Results) -> Table:
    return Table.of(
        results["ceiling_by_load"],
        title="The same in overload: a task that is shed is written into the index only once",
        columns={
            "ρ": "load",
            "arrivals/s that one queue takes": "arrivals_per_second",
            "of them served/s": "served_per_second",
        },
    )


def _cells_needed(results: Results) -> Table:
    return Table.of(
        results["cells_needed"],
        title=f"Cells for a load, each filled to {percent(results['headroom'])} of its ceiling",
        columns={
            "tasks/s": "tasks_per_second",
            "cells": "cells",
            "cells, a tenth of the tasks retried once": "cells_if_a_tenth_is_retried",
        },
    )


def _assumptions(results: Results) -> str:
    simulated = results["simulated"]
    return (
        "The ceilings are arithmetic on counted writes and documented limits; nothing here ran on "
        f"AWS. What follows is simulated: {number(simulated['service_seconds'])} s of work per "
        f"task (exponential), a deadline of {number(simulated['deadline_seconds'])} s, Poisson "
        "arrivals, ten tasks at a time per cell unless said otherwise."
    )


def _inversions(results: Results) -> Chart:
    return Chart(
        name="cells-inversions",
        title="How often a task starts while a newer one waits in another cell",
        description="Share of starts that are inversions, over load, for 2 to 16 cells.",
        chart=_by_load(results).encode(
            y=charts.share("inversions_share", "inversions, share of starts")
        ),
    )


def _newer_by(results: Results) -> Chart:
    return Chart(
        name="cells-newer-by",
        title="By how much that task is newer, p95",
        description="How much newer the waiting task is at an inversion, 95th percentile, over "
        "load, for 2 to 16 cells.",
        chart=_by_load(results).encode(
            y=alt.Y("newer_by_p95_seconds:Q", title="newer by, p95, seconds")
        ),
    )


def _by_load(results: Results) -> alt.Chart:
    rows = [{**row, "cells": f"{row['cells']} cells"} for row in results["inversions_by_load"]]
    return charts.lines(
        rows,
        x=charts.x("load", "load ρ: arrivals / capacity", rows),
        color=charts.color("cells"),
    )


def _routings(results: Results) -> Table:
    rows = results["inversions_by_routing"]
    near = [row for row in rows if row["load"] == NEAR]
    busy = [row for row in rows if row["load"] == BUSY]
    return Table(
        title="How producers choose one of four cells",
        columns=(
            "routing",
            "busiest cell's share",
            f"served in time, ρ = {number(NEAR)}",
            f"inversions, ρ = {number(NEAR)}",
            f"inversions, ρ = {number(BUSY)}",
            f"newer by, p95, ρ = {number(BUSY)}",
        ),
        rows=[
            (
                low["routing"],
                percent(low["busiest_cell_share"]),
                percent(low["served_share"]),
                percent(low["inversions_share"]),
                percent(high["inversions_share"]),
                seconds(high["newer_by_p95_seconds"]),
            )
            for low, high in zip(near, busy, strict=True)
        ],
    )


def _deadlines(results: Results) -> Chart:
    rows = [
        {
            "deadline": row["deadline_seconds"],
            "served": row[key],
            "queues": name,
        }
        for row in results["served_by_deadline"]
        if row["load"] == NEAR
        for key, name in (
            ("one_queue_served_share", "one queue as large"),
            ("served_share", "four cells"),
        )
    ]
    return Chart(
        name="cells-deadlines",
        title=f"Served in time at ρ = {number(NEAR)}, by the deadline",
        description="Share of tasks that start before their deadline, over the length of the "
        "deadline, for four cells and for one queue as large as all of them.",
        chart=charts.lines(
            rows,
            x=charts.x("deadline", "deadline, seconds", rows, log=True),
            y=charts.share("served", "served in time", scale=alt.Scale(zero=False)),
            color=charts.color("queues"),
        ),
    )


def _sizes(results: Results) -> Table:
    return Table.of(
        results["inversions_by_size"],
        title="The size of each of four cells",
        columns={
            "tasks at a time per cell": "slots_per_cell",
            "ρ": "load",
            "inversions": field("inversions_share", percent),
            "newer by, p95": field("newer_by_p95_seconds", seconds),
            "served in time": field("served_share", percent),
            "one queue as large": field("one_queue_served_share", percent),
        },
    )


def _outages(results: Results) -> Table:
    simulated = results["simulated"]
    return Table.of(
        results["outages"],
        title=(
            f"One cell does nothing for {number(simulated['outage_seconds'])} s, "
            f"at ρ = {number(simulated['outage_load'])}"
        ),
        columns={
            "cells": "cells",
            "shed meanwhile": field("shed_share", percent),
            "shed in the other cells": lambda row: (
                percent(row["shed_share_in_other_cells"]) if row["cells"] > 1 else None
            ),
            "its tasks' wait afterwards, p95": field("wait_p95_seconds_after", seconds),
            "everybody's wait before, p95": field("wait_p95_seconds_before", seconds),
        },
    )


def _beside_the_queue(results: Results) -> Table:
    return Table.of(
        results["beside_the_queue"],
        title="The simulation beside the queue's own code in virtual time, on the same work",
        columns={
            "tasks at a time per cell": "slots_per_cell",
            "ρ": "load",
            "tasks that start at the same moment": field("same_share", percent),
            "served: simulated": field("simulated_served_share", percent),
            "served: queue": field("queue_served_share", percent),
            "inversions: simulated": field("simulated_inversions_share", percent),
            "inversions: queue": field("queue_inversions_share", percent),
        },
    )


def _processors(results: Results) -> Table:
    return _by_cells(
        results,
        "processors_running",
        "Processors that run on average; each stays up to a second beyond its last task",
    )


def _dollars(results: Results) -> Table:
    return _by_cells(
        results,
        "usd_per_month",
        "Dollars a month for these processors and for what stands there without a task",
    )


def _by_cells(results: Results, key: str, title: str) -> Table:
    rows = results["costs_by_cells"]
    cells = list(dict.fromkeys(row["cells"] for row in rows))
    return Table(
        title=title,
        columns=("tasks/s in all", *(f"{n} cell{'s' * (n > 1)}" for n in cells)),
        rows=[
            (load, *(row[key] for row in rows if row["tasks_per_second"] == load))
            for load in dict.fromkeys(row["tasks_per_second"] for row in rows)
        ],
    )


def _listed(names: list[str]) -> str:
    return " and ".join(names)


BENCHMARK: Final = Benchmark(
    name="cells",
    title="Cells: beyond one queue",
    question="How much can one queue take, and what do several side by side do to order, to what "
    "is served in time, to cost and to outages?",
    findings=_findings,
)
