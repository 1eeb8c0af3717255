"""``python -m benchmarks.latency``"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import click

from benchmarks.latency.journey import HOPS, Journey, travel
from benchmarks.latency.stage import Stage, deployed
from benchmarks.record import recording


@click.command()
@click.option("--warm", default=22, show_default=True, help="Tasks to processes that run already.")
@click.option("--cold", default=4, show_default=True, help="Tasks to processes that have to start.")
def main(warm: int, cold: int) -> None:
    """Put tasks, one at a time, to an idle queue on the local cloud. About a minute."""
    with (
        recording("latency", "python -m benchmarks.latency") as found,
        tempfile.TemporaryDirectory() as folder,
        deployed(Path(folder)) as stage,
    ):
        journeys = {
            "cold": [journey(stage, cold=True) for _ in range(cold)],
            "warm": [journey(stage, cold=False) for _ in range(warm)],
        }
        found.results = {
            "hops": [row for kind, all_ in journeys.items() for row in hops(kind, all_)],
            "totals": [total(kind, all_) for kind, all_ in journeys.items()],
        }


def journey(stage: Stage, *, cold: bool) -> Journey:
    while True:
        stage.wait_until_idle()
        if cold:
            stage.end_processes()
        if (found := travel(stage)) is not None:
            return found


def hops(kind: str, journeys: Sequence[Journey]) -> list[dict[str, Any]]:
    parts = [one.hops_ms for one in journeys]
    return [
        {"processes": kind, "hop": name, "what": what, **summary([part[name] for part in parts])}
        for name, what in HOPS
    ]


def total(kind: str, journeys: Sequence[Journey]) -> dict[str, Any]:
    return {"processes": kind, **summary([one.total_ms for one in journeys])}


def summary(millis: Sequence[float]) -> dict[str, Any]:
    return {
        "p50_ms": round(median(millis), 1),
        "p99_ms": round(quantiles(millis, n=100, method="inclusive")[98], 1),
        "tasks": len(millis),
    }


if __name__ == "__main__":
    main()
