"""Quantities times prices. The prices are data: ``prices.json``, each with its date and source."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.cost.results import Line, Runs, Units

_DATA: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("prices.json").read_text())
PRICES: Final[dict[str, dict[str, Any]]] = {price["name"]: price for price in _DATA["prices"]}
MILLION: Final = 1_000_000
GIGABYTE: Final = 10**9
MONTH_SECONDS: Final = 730 * 3600
RETENTION_MONTHS: Final = 7 * 86_400 / MONTH_SECONDS
"""The months for which a success is kept, by default."""
STREAM_READS: Final = 4
"""A second and shard, by Lambda, whether there is something or not
(https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html)."""
RUNS_OF: Final = {"one at a time": "one at a time", "backlog": "saturated, then drained"}
"""The loads of which units (in virtual time) and runs (on the local cloud) make a bill together."""


def usd(name: str, quantity: float) -> float:
    """Dollars of a quantity, in the unit of its price."""
    price = PRICES[name]
    return float(price["usd"] / price["per"] * quantity)


def lines(load: str, quantities: Mapping[str, float]) -> list[Line]:
    return [
        Line(
            load=load,
            what=what,
            quantity=quantity,
            unit=PRICES[what]["unit"],
            usd=usd(what, quantity),
        )
        for what, quantity in quantities.items()
    ]


def per_million(units: Sequence[Units], runs: Sequence[Runs]) -> list[Line]:
    by_load = {row.load: row for row in runs}
    found = []
    for row in units:
        if row.load == "shed":
            found += lines(row.load, {"write units": row.write_units * MILLION})
        if row.load in RUNS_OF:
            found += lines(row.load, _quantities(row, by_load[RUNS_OF[row.load]]))
    return found


def _quantities(units: Units, runs: Runs) -> dict[str, float]:
    """Return what a million tasks take, by the name of the price."""
    gigabyte_months = units.stored_bytes / GIGABYTE * RETENTION_MONTHS
    per_task = {
        "write units": units.write_units,
        "read units": units.read_units,
        "storage": gigabyte_months,
        "point-in-time recovery": gigabyte_months,
        "function runs": runs.runs_per_task,
        "function time": runs.gigabyte_seconds_per_task,
        "kicks": runs.kicks_per_task,
        "SQS requests": runs.spare_kicks_per_task,
        "logs": runs.log_bytes_per_task / GIGABYTE,
    }
    return {what: quantity * MILLION for what, quantity in per_task.items()}


def month(
    *, queries: int, gigabyte_seconds: float, log_bytes: int, standing: Mapping[str, float]
) -> list[Line]:
    """The bill of a queue in which nothing happens: what a sweep takes, each minute, and what
    stands there."""
    minutes = MONTH_SECONDS / 60
    return lines(
        "a month without a task",
        {
            "read units": 0.5 * queries * minutes,  # the least: each finds nothing
            "stream reads": STREAM_READS * MONTH_SECONDS,
            "function runs": minutes,
            "function time": gigabyte_seconds * minutes,
            "schedule": minutes,
            "logs": log_bytes * minutes / GIGABYTE,
            **standing,
        },
    )


def sqs(*, batch: int) -> float:
    """Return the cost of a million small tasks of 0.1 s with SQS and a function of 512 MB, whose
    handlers work side by side. It is computed from documented request counts, not measured."""
    return (
        usd("SQS requests", 3 * MILLION / batch)  # sent, received, deleted
        + usd("function runs", MILLION / batch)
        + usd("function time", MILLION / batch * 0.1 * 512 / 1024)
    )
