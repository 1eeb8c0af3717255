"""``python -m benchmarks.analytics``: the report, DuckDB and plain Spark SQL on the same files.

Each runs in a process of its own; memory and processor time are those of the process with its
children, sampled five times a second: the largest resident set, and all seconds used, which tell
something even on a busy machine.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
import psutil

from benchmarks.analytics.results import Results, Run
from benchmarks.record import recording

ROOT: Final = Path(__file__).parents[2]
WAYS: Final = {"the report": "with_spark", "DuckDB": "with_duckdb", "Spark SQL": "with_sql"}
USUAL: Final = (2_000, 200_000, 2_000_000)
"""The first measures the start: processes, packages, and the first use of each piece of code."""


@click.command()
@click.argument("sizes", nargs=-1, type=click.IntRange(min=1), metavar="[TASKS]...")
@click.option("--variant", help="Keep the results apart, in results-VARIANT.json.")
def main(sizes: Sequence[int], variant: str | None) -> None:
    """Measure with exports of TASKS... tasks each (2000, 200000 and 2000000, unless given)."""
    options = [*map(str, sizes), *(["--variant", variant] if variant else [])]
    command = " ".join(["python -m benchmarks.analytics", *options])
    with recording("analytics", command, variant=variant) as found:
        found.results = Results(runs=[run for size in sizes or USUAL for run in compare(size)])


def compare(size: int) -> list[Run]:
    runs, answers = [], []
    with tempfile.TemporaryDirectory() as folder:
        exports = Path(folder) / "exports"
        subprocess.run(_command("exports", size, exports), check=True, cwd=ROOT)
        for way, module in WAYS.items():
            load = round(os.getloadavg()[0], 2)
            measured = measure(_command(module, exports, Path(folder) / module))
            answers.append(measured.pop("answers"))
            runs.append(Run(tasks=size, way=way, load_before=load, **measured))
            click.echo(runs[-1])
    for way, found in zip(WAYS, answers, strict=True):
        if found != answers[0]:
            raise SystemExit(f"of {size} tasks the report says {answers[0]}, and {way} {found}")
    return runs


def measure(command: list[str]) -> dict[str, Any]:
    """Run a command, and return what it tells and what it took."""
    begun, most, used = time.perf_counter(), 0, 0.0
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "TZ": "UTC"}, cwd=ROOT, text=True
    )
    while process.poll() is None:
        resident, cpu = _usage(process.pid)
        most, used = max(most, resident), max(used, cpu)
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    return {
        "wall_seconds": round(time.perf_counter() - begun, 2),
        "cpu_seconds": round(used, 2),
        "peak_mb": most // 1_000_000,
        **json.loads(process.stdout.read() if process.stdout else ""),
    }


def _command(module: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", f"benchmarks.analytics.{module}", *map(str, arguments)]


def _usage(pid: int) -> tuple[int, float]:
    """Bytes of memory and seconds of processor time of a process with its children."""
    try:
        process = psutil.Process(pid)
        everyone = [process, *process.children(recursive=True)]
        resident = sum(each.memory_info().rss for each in everyone)
        return resident, sum(sum(each.cpu_times()[:2]) for each in everyone)
    except psutil.NoSuchProcess:  # it ended between two looks
        return 0, 0.0


if __name__ == "__main__":
    main()
