"""Results on disk: ``results.json`` beside each benchmark, with what one must know to repeat it."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psutil
from pydantic import BaseModel, ConfigDict
from pydantic_core import to_jsonable_python

from lab import dynamodb_local
from lifoq.aws.dynamo_table import DynamoTable

HERE: Final = Path(__file__).parent
PACKAGES: Final = ("boto3", "moto", "pyspark")
WRITTEN: Final = (
    ":(exclude,top)benchmarks/*/results*.json",
    ":(exclude,top)docs/performance.md",
    ":(exclude,top)docs/charts",
)


class Row(BaseModel):
    """One row of results: ``Results`` of a benchmark's ``results.py``, or a row in it. A field that
    a table shows is ``Annotated`` with its heading, and with its form if it needs one."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass
class Recording:
    results: Any = None


@contextmanager
def recording(name: str, command: str, *, variant: str | None = None) -> Iterator[Recording]:
    """Time the block, and write ``benchmarks/<name>/results.json`` once it has gone through.

    ``command`` repeats it. ``variant`` names a run that takes too long for every day: its results
    stand beside the others, in ``results-<variant>.json``. An exception leaves the results of the
    last run as they are.
    """
    began, clock, load = datetime.now(UTC), time.perf_counter(), os.getloadavg()[0]
    found, client = Recording(), _client()
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
            "client": client,
        },
        "seconds": round(time.perf_counter() - clock, 1),
        "results": to_jsonable_python(found.results),
    }
    file = HERE / name / (f"results-{variant}.json" if variant else "results.json")
    file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    print(f"{file} is written; `python -m benchmarks.performance` shows it.")


def load(file: Path) -> dict[str, Any]:
    """The results of a run, with everything beside them."""
    document: dict[str, Any] = json.loads(file.read_text())
    return document


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


def _client() -> str:
    """Tell who calls DynamoDB Local in the processes of ``lifoq work`` on this machine: boto3 takes
    twice the processor time."""
    told = {"endpoint_url": "http://localhost:8000", **dynamodb_local.CREDENTIALS}
    _, reason = DynamoTable.connect("any", **told).in_worker()
    return "lifoq's own" if reason is None else f"boto3: {reason}"


def _processor() -> str:
    with Path("/proc/cpuinfo").open() as lines:
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
