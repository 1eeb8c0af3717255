"""``python -m benchmarks.cost``: count what a task costs, and price it."""

import tempfile
from pathlib import Path

import click

from benchmarks.cost import bill, cloud, loads, transitions
from benchmarks.cost.results import Results
from benchmarks.deployed import deployed
from benchmarks.record import recording


@click.command()
def main() -> None:
    """Count write and read units, runs, GB-seconds and kicks per task, and what they cost.

    Takes about three minutes.
    """
    with (
        recording("cost", "python -m benchmarks.cost") as found,
        tempfile.TemporaryDirectory() as folder,
    ):
        units = loads.rows()
        with deployed(Path(folder)) as queue:
            sweep, memory = cloud.sweep(queue), cloud.memory(queue)
            month = bill.month(
                queries=sweep.calls["dynamodb:Query"],
                gigabyte_seconds=sweep.gigabyte_seconds(memory),
                log_bytes=sweep.log_bytes,
                standing=cloud.standing(queue),
            )
            runs = cloud.rows(queue)
        found.results = Results(
            transitions=transitions.rows(),
            units=units,
            runs=runs,
            per_million=bill.per_million(units, runs),
            month=month,
            sqs_in_batches=bill.sqs(batch=10),
            sqs_one_at_a_time=bill.sqs(batch=1),
        )


if __name__ == "__main__":
    main()
