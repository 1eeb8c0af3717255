"""Results on disk: ``results.json`` beside each benchmark, with what one must know to repeat it."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psutil

HERE: Final = Path(__file__).parent
PACKAGES: Final = ("boto3", "moto", "pyspark")
WRITTEN: Final = (
    ":(exclude,top)benchmarks/*/results*.json",
    ":(exclude,top)docs/performance.md",
    ":(exclude,top)docs/charts",
)


@dataclass(kw_only=True)
class Recording:
    """What a benchmark finds; ``results`` is its own, JSON throughout."""

    results: dict[str, Any] = field(default_factory=dict)


@contextmanager
def recording(name: str, command: str, *, variant: str | None = None) -> Iterator[Recording]:
    """Time the block, and write ``benchmarks/<name>/results.json`` once it has gone through.

    ``command`` repeats it. ``variant`` names a run that takes too long for every day: its results
    stand beside the others, in ``results-<variant>.json``. An exception leaves the results of the
    last run as they are.
    """
    began, clock, load = datetime.now(UTC), time.perf_counter(), os.getloadavg()[0]
    found = Recording()
    yield found
    document = {
        "benchmark": name,
        "command": command,
        "date": began.date().isoformat(),
        "commit": _commit(),
        "machine": {
            "cores": os.cpu_count(),
            "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
            "processor": _processor(),
            "load_before": round(load, 2),
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
        "seconds": round(time.perf_counter() - clock, 1),
        "results": found.results,
    }
    file = path(name, variant)
    file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    print(f"{file} is written; `python -m benchmarks.performance` shows it.")


def read(name: str, variant: str | None = None) -> dict[str, Any]:
    """The last recorded results of a benchmark, with everything beside them."""
    document: dict[str, Any] = json.loads(path(name, variant).read_text())
    return document


def path(name: str, variant: str | None = None) -> Path:
    return HERE / name / ("results.json" if variant is None else f"results-{variant}.json")


def _commit() -> str:
    """The commit that was measured, marked where files differ from it; what benchmarks write does
    not count, or the first of them would mark all others."""
    if not (commit := _git("rev-parse", "--short", "HEAD").stdout.strip()):
        return "unknown"
    unchanged = _git("diff", "--quiet", "HEAD", "--", ":/", *WRITTEN).returncode == 0
    return commit if unchanged else f"{commit}+changes"


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)


def _processor() -> str:
    with Path("/proc/cpuinfo").open() as lines:
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
