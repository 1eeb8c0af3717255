"""``python -m benchmarks.coldstart``"""

import logging
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.coldstart import memory
from benchmarks.coldstart.sandbox import SERVICES, Sandbox, lay_out
from benchmarks.record import recording


@click.command()
@click.option("--rounds", default=5, show_default=True, help="Processes of each kind.")
def main(rounds: int) -> None:
    """Start every function's process, again and again, and put each to work once. About 30 s."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        as_deployed = lay_out(Path(folder) / "deployed")
        compiled = lay_out(Path(folder) / "compiled", compiled=True)
        with recording("coldstart", "python -m benchmarks.coldstart") as found:
            found.results = {
                "package": package(as_deployed),
                "start": starts(as_deployed, compiled, rounds),
                "memory": memory.at_work(as_deployed),
            }


def package(sandbox: Sandbox) -> list[dict[str, Any]]:
    """The whole, then its parts, the largest first."""
    sizes: Counter[str] = Counter()
    for file in sandbox.task.rglob("*"):
        top = file.relative_to(sandbox.task).parts[0].partition("-")[0].removesuffix(".py")
        sizes[top] += file.stat().st_size if file.is_file() else 0
    whole = {
        "part": "all",
        "unpacked_kb": round(sizes.total() / 1000),
        "zipped_kb": round(sandbox.package_bytes / 1000),
    }
    parts = [
        {"part": name, "unpacked_kb": round(size / 1000)} for name, size in sizes.most_common()
    ]
    return [whole, *parts]


def starts(as_deployed: Sandbox, compiled: Sandbox, rounds: int) -> list[dict[str, Any]]:
    """Interleaved: each round starts every kind of process once."""
    baselines: dict[tuple[str, ...], list[dict[str, Any]]] = {one: [] for one in SERVICES.values()}
    plain: dict[str, list[dict[str, Any]]] = {one: [] for one in SERVICES}
    quick: dict[str, list[dict[str, Any]]] = {one: [] for one in SERVICES}
    for _ in range(rounds):
        for services, runs in baselines.items():
            runs.append(as_deployed.start("boto3", *services))
        for function in SERVICES:
            plain[function].append(as_deployed.start(function))
            quick[function].append(compiled.start(function))
    return [
        row(function, baselines[services], plain[function], quick[function])
        for function, services in SERVICES.items()
    ]


def row(
    function: str,
    baseline: list[dict[str, Any]],
    plain: list[dict[str, Any]],
    quick: list[dict[str, Any]],
) -> dict[str, Any]:
    """``boto3_ms``: boto3 and a client for each service. ``own_ms``: what comes on top of it."""
    own = [one["wall_ms"] - base["wall_ms"] for one, base in zip(plain, baseline, strict=True)]
    return {
        "function": function,
        "start_ms": typical(one["wall_ms"] for one in plain),
        "start_ms_least": round(min(one["wall_ms"] for one in plain), 1),
        "start_ms_most": round(max(one["wall_ms"] for one in plain), 1),
        "boto3_ms": typical(one["wall_ms"] for one in baseline),
        "own_ms": typical(own),
        "with_bytecode_ms": typical(one["wall_ms"] for one in quick),
        "modules": plain[0]["modules"],
        "asset_source_kb": round(plain[0]["asset_source_bytes"] / 1000),
    }


def typical(values: Iterable[float]) -> float:
    return round(median(values), 1)


if __name__ == "__main__":
    main()
