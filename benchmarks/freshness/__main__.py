"""``python -m benchmarks.freshness``: new tasks on top of a deep backlog."""

import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from benchmarks.freshness.barrier import PageBarrier
from benchmarks.freshness.results import Results, Waits
from benchmarks.freshness.trial import Load, MakeWorker, Trial
from benchmarks.record import recording
from lab.dynamodb_local import running
from lifoq import Processor

LOADS: Final = ((1, 0.1), (4, 0.2), (10, 0.5))
"""Tasks in flight, seconds of service."""
WORKERS: Final[Mapping[str, MakeWorker]] = {"lifoq": Processor, "page by page": PageBarrier}


@click.command()
@click.option("--new-tasks", default=25, show_default=True, help="Put under each load.")
def main(new_tasks: int) -> None:
    """Put new tasks on top of a deep backlog, and see when they start. About 45 s."""
    with (
        recording("freshness", "python -m benchmarks.freshness") as found,
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "dynamodb.log") as endpoint,
    ):
        loads = [
            Load(in_flight=in_flight, service=service, new_tasks=new_tasks)
            for in_flight, service in LOADS
        ]
        found.results = Results(waits=[row for load in loads for row in run(endpoint, load)])


def run(endpoint: str, load: Load) -> list[Waits]:
    """Both ways at the same time, each on a table of its own: what disturbs one disturbs both."""
    trials = {
        way: Trial(endpoint, f"{load.in_flight}-{make_worker.__name__}", load, make_worker)
        for way, make_worker in WORKERS.items()
    }
    threads = [threading.Thread(target=trial.run) for trial in trials.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [trial.waits(way) for way, trial in trials.items()]


if __name__ == "__main__":
    main()
