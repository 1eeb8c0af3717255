"""``python -m benchmarks.reports``: what to replace saves, and what it costs."""

import tempfile
from pathlib import Path
from typing import Any, Final

import boto3
import click

from benchmarks.cost.meter import Meter
from benchmarks.record import recording
from benchmarks.reports import large, storm
from lab import dynamodb_local
from lifoq.tables.store import Store
from lifoq.testing import create_table

MAX_UNITS: Final = 10.0
"""Of a task with 4 KB of JSON."""


@click.command()
def main() -> None:
    """Each device reports ten times while it waits: useful checks, and their write units. And what
    a task with a large payload takes.

    Takes about a minute.
    """
    with (
        recording("reports", "python -m benchmarks.reports") as found,
        tempfile.TemporaryDirectory() as directory,
        dynamodb_local.running(Path(directory) / "dynamodb.log") as endpoint,
    ):
        client: dict[str, Any] = {"endpoint_url": endpoint, **dynamodb_local.CREDENTIALS}

        def bench(name: str) -> tuple[Store, Meter]:
            create_table(boto3.client("dynamodb", **client), name)
            meter = Meter()
            return Store(meter.table(name, **client)), meter

        found.results = {
            "devices": storm.DEVICES,
            "reports_per_device": storm.REPORTS,
            "reports_per_second": storm.PUTS_PER_SECOND,
            "checks_per_second_at_the_most": storm.CAPACITY,
            "storm": [
                {"policy": told, **storm.run(*bench(f"storm-{number}"), if_exists)}
                for number, (told, if_exists) in enumerate(storm.POLICIES)
            ],
            "large": list(large.rows(*bench("large"))),
            "goal_write_units": MAX_UNITS,
        }


if __name__ == "__main__":
    main()
