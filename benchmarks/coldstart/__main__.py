"""``python -m benchmarks.coldstart``: what a function does before its first event."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.coldstart.results import Results, Start
from benchmarks.coldstart.sandbox import SERVICES, Sandbox, lay_out
from benchmarks.record import recording


@click.command()
@click.option("--rounds", default=5, show_default=True, help="Processes of each kind.")
def main(rounds: int) -> None:
    """Start every function's process, again and again. About 30 s."""
    with (
        recording("coldstart", "python -m benchmarks.coldstart") as found,
        tempfile.TemporaryDirectory() as folder,
    ):
        sandbox = lay_out(Path(folder))
        found.results = Results(
            zipped_mb=sandbox.package_bytes / 1_000_000,
            starts=starts(sandbox, rounds),
        )


def starts(sandbox: Sandbox, rounds: int) -> list[Start]:
    """Interleaved: each round starts every kind of process once."""
    clients: dict[tuple[str, ...], list[Any]] = {services: [] for services in SERVICES.values()}
    functions: dict[str, list[Any]] = {function: [] for function in SERVICES}
    for _ in range(rounds):
        for services, runs in clients.items():
            runs.append(sandbox.start("boto3", *services))
        for function, runs in functions.items():
            runs.append(sandbox.start(function))
    return [
        row(function, functions[function], clients[services])
        for function, services in SERVICES.items()
    ]


def row(function: str, runs: Sequence[Any], clients: Sequence[Any]) -> Start:
    taken = [run["wall_ms"] for run in runs]
    boto3 = [run["wall_ms"] for run in clients]
    return Start(
        function=function,
        start_ms=round(median(taken), 1),
        boto3_ms=round(median(boto3), 1),
        source_kb=round(runs[0]["asset_source_bytes"] / 1000),
    )


if __name__ == "__main__":
    main()
