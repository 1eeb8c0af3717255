"""``python -m benchmarks.freshness``"""

import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import click

from benchmarks.freshness.barrier import PageBarrier
from benchmarks.freshness.trial import Load, MakeWorker, Trial
from benchmarks.record import recording
from lab.dynamodb_local import running
from lifoq import Processor

LOADS: Final = ((1, 0.1), (4, 0.2), (10, 0.5))
"""Tasks in flight, seconds of service."""
WORKERS: Final[Mapping[str, MakeWorker]] = {
    "on free capacity (lifoq)": Processor,
    "page by page": PageBarrier,
}


@click.command()
@click.option("--new-tasks", default=25, show_default=True, help="Put under each load.")
def main(new_tasks: int) -> None:
    """Put new tasks on top of a deep backlog, and see when they start. About 45 s."""
    with (
        recording("freshness", "python -m benchmarks.freshness") as found,
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "dynamodb.log") as endpoint,
    ):
        found.results = {"waits": [], "calls": []}
        for in_flight, service in LOADS:
            load = Load(in_flight=in_flight, service=service, new_tasks=new_tasks)
            for way, trial in run(endpoint, load).items():
                found.results["waits"].append(waits(way, load, trial))
                found.results["calls"].append(calls(way, load, trial))


def run(endpoint: str, load: Load) -> dict[str, Trial]:
    """Both ways at the same time, each on a table of its own: what disturbs one disturbs both."""
    name = f"{load.in_flight}-{round(1000 * load.service)}-"
    trials = {
        way: Trial(endpoint, f"{name}{make_worker.__name__}", load, make_worker)
        for way, make_worker in WORKERS.items()
    }
    threads = [threading.Thread(target=trial.run) for trial in trials.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return trials


def waits(way: str, load: Load, trial: Trial) -> dict[str, Any]:
    """``bound_ms``: one service, and a settle, a query and a claim, each at its 99th percentile."""
    bound = load.service + sum(p99(trial.calls[call]) for call in ("settle", "query", "claim"))
    return {
        "way": way,
        "in_flight": load.in_flight,
        "service_ms": round(1000 * load.service),
        "p50_ms": millis(median(trial.waits)),
        "p99_ms": millis(p99(trial.waits)),
        "max_ms": millis(max(trial.waits)),
        "bound_ms": millis(bound),
        "within_bound": sum(wait <= bound for wait in trial.waits),
        "new_tasks": len(trial.waits),
        "backlog_at_first": load.backlog,
    }


def calls(way: str, load: Load, trial: Trial) -> dict[str, Any]:
    measured = {
        f"{call}_{name}_ms": millis(value)
        for call, seconds in trial.calls.items()
        for name, value in (("p50", median(seconds)), ("p99", p99(seconds)))
    }
    return {
        "way": way,
        "in_flight": load.in_flight,
        "service_ms": round(1000 * load.service),
        **measured,
    }


def p99(values: Sequence[float]) -> float:
    return quantiles(values, n=100, method="inclusive")[98]


def millis(seconds: float) -> float:
    return round(1000 * seconds, 1)


if __name__ == "__main__":
    main()
