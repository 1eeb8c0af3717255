"""``python -m benchmarks.cost``: count what a task costs, and price it."""

from collections.abc import Sequence
from typing import Any, Final

import click

from benchmarks.cost import alternatives, bill, engine, loads
from benchmarks.cost.cloud import Traffic
from benchmarks.cost.transitions import Row
from benchmarks.record import recording

SIZES: Final = (100, 1024, 4096, 16384)
MAX_UNITS: Final = 7.0
MAX_UNITS_SATURATED: Final = 7.5
MAX_INVOCATIONS: Final = 0.05

SCENARIOS: Final = {
    "one at a time": "one at a time",
    "backlog": loads.SATURATED,
}
"""Whose writes (on DynamoDB Local) and whose runs (on the local cloud) make a bill together."""


@click.command()
@click.option(
    "--sizes",
    default=",".join(map(str, SIZES)),
    show_default=True,
    help="Bytes of JSON of the payloads, with commas between them.",
)
def main(sizes: str) -> None:
    """Count write and read units, runs, GB-seconds and kicks per task, and what they cost.

    Takes about three minutes.
    """
    with recording("cost", "python -m benchmarks.cost") as found:
        counted = engine.measure(tuple(map(int, sizes.split(","))))
        cloud = loads.measure()
        memory: dict[str, int] = cloud["memory_megabytes"]
        month = _month_of_nothing(cloud["sweep"], memory, cloud["standing"], traced=cloud["traced"])
        found.results = {
            "goals": _goals(counted["table"], cloud["cloud"]),
            **counted,
            "cloud": cloud["cloud"],
            "per_million": _per_million(counted["table"], cloud["cloud"]),
            "month_of_nothing": month,
            "alternatives": alternatives.rows(
                memory_megabytes=memory["processor"], service_seconds=loads.SERVICE_SECONDS
            ),
            "alternative_month_of_nothing_usd": alternatives.idle_month(),
        }


def _goals(table: Sequence[Row], cloud: Sequence[Row]) -> list[Row]:
    def units(workload: str) -> float:
        """Of the smallest payload, which fits 1 KB with everything."""
        row = next(row for row in table if row["workload"] == workload)
        return float(row["write_units_per_success"])

    def invocations(load: str) -> float:
        return next(float(r["invocations_per_task"]) for r in cloud if r["load"] == load)

    rows = (
        ("write units, one at a time", MAX_UNITS, units("one at a time")),
        ("write units, backlog", MAX_UNITS_SATURATED, units("backlog")),
        ("write units, slow downstream", MAX_UNITS_SATURATED, units("overload")),
        ("write units, downstream that refuses", MAX_UNITS_SATURATED, units("refusals")),
        ("invocations, steady load", MAX_INVOCATIONS, invocations(loads.STEADY)),
        ("invocations, steady load in batches", MAX_INVOCATIONS, invocations(loads.BATCHED)),
        ("invocations, saturated", MAX_INVOCATIONS, invocations(loads.SATURATED)),
    )
    return [
        {"goal": goal, "limit": limit, "counted": value, "met": value <= limit}
        for goal, limit, value in rows
    ]


def _per_million(table: Sequence[Row], cloud: Sequence[Row]) -> list[Row]:
    """Dollars of a million tasks, line by line."""
    rows = []
    for scenario, load in SCENARIOS.items():
        runs = next(row for row in cloud if row["load"] == load)
        for row in table:
            if row["workload"] == scenario:
                rows += [
                    {"scenario": scenario, "payload_bytes": row["payload_bytes"], **line}
                    for line in bill.lines(_quantities(row, runs))
                ]
    for row in table:
        if row["workload"] == "shed":
            units = {"write units": row["write_units_per_task"] * bill.MILLION}
            rows += [
                {"scenario": "shed", "payload_bytes": row["payload_bytes"], **line}
                for line in bill.lines(units)
            ]
    return rows


def _quantities(units: Row, runs: Row) -> dict[str, float]:
    """Of a million tasks, by the name of the price."""
    gigabyte_months = units["stored_bytes_per_task"] / bill.GIGABYTE * bill.RETENTION_MONTHS
    per_task = {
        "write units": units["write_units_per_task"],
        "read units": units["read_units_per_task"],
        "stream reads": runs["stream_reads_per_task_computed"],
        "storage": gigabyte_months,
        "point-in-time recovery": gigabyte_months,
        "function runs": runs["invocations_per_task"],
        "function time": runs["gigabyte_seconds_per_task"],
        "kicks": runs["kicks_per_task"],
        "SQS requests": runs["spare_kicks_per_task"],
        "logs": runs["log_bytes_per_task"] / bill.GIGABYTE,
        "traces": runs["traces_per_task_computed"],
    }
    return {name: quantity * bill.MILLION for name, quantity in per_task.items()}


def _month_of_nothing(
    sweep: Traffic, memory: dict[str, int], standing: dict[str, float], *, traced: bool
) -> list[Row]:
    """A month of sweeps over an empty queue, and what stands there."""
    minutes = bill.MONTH_SECONDS / 60
    # The least that a query takes, as each of a sweep's finds nothing in an empty queue.
    read_units = 0.5 * sweep.count("dynamodb:Query")
    quantities: dict[str, Any] = {
        "read units": read_units * minutes,
        "stream reads": bill.stream_reads(bill.MONTH_SECONDS),
        "function runs": minutes,
        "function time": sweep.gigabyte_seconds(memory) * minutes,
        "schedule": minutes,
        "logs": sum(sweep.log_bytes.values()) * minutes / bill.GIGABYTE,
        "traces": minutes * traced,
        **standing,
    }
    return bill.lines(quantities)


if __name__ == "__main__":
    main()
