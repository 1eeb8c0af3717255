"""Measures the report beside DuckDB and beside Spark with an inferred schema, on the same files.

    python benchmarks/analytics/run.py 200000 2000000

Each runs in a process of its own; memory and processor time are those of the process with its
children, sampled five times a second: the largest resident set, and all seconds used, which tell
something even on a busy machine. Results go to standard output as JSON lines.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

HERE = Path(__file__).parent
WAYS = ("with_spark", "with_duckdb", "with_inference")


def measure(way: str, folder: Path, out: Path) -> dict[str, object]:
    begun = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1]), "TZ": "UTC"}
    process = subprocess.Popen(
        [sys.executable, str(HERE / f"{way}.py"), str(folder), str(out)],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )
    most, used = 0, 0.0
    while process.poll() is None:
        resident, cpu = _usage(process.pid)
        most, used = max(most, resident), max(used, cpu)
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"{way} failed")
    answers = json.loads(process.stdout.read() if process.stdout else "")
    steps = answers.pop("steps")
    processing = sum(seconds for step, seconds in steps.items() if step != "start")
    return {
        "way": way,
        "processing_seconds": round(processing, 2),
        "wall_seconds": round(time.perf_counter() - begun, 2),
        "cpu_seconds": round(used, 2),
        "peak_mb": most // 1_000_000,
        "steps": steps,
        "answers": answers,
    }


def _usage(pid: int) -> tuple[int, float]:
    """Bytes of memory and seconds of processor time of a process with its children."""
    try:
        process = psutil.Process(pid)
        everyone = [process, *process.children(recursive=True)]
        resident = sum(each.memory_info().rss for each in everyone)
        return resident, sum(sum(each.cpu_times()[:2]) for each in everyone)
    except psutil.NoSuchProcess:  # it ended between two looks
        return 0, 0.0


def main(sizes: list[int]) -> None:
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            exports = Path(folder) / "exports"
            subprocess.run(
                [sys.executable, str(HERE / "exports.py"), str(size), str(exports)], check=True
            )
            for way in WAYS:
                load = os.getloadavg()[0]
                measured = measure(way, exports, Path(folder) / way)
                print(json.dumps({"tasks": size, "load_before": load, **measured}), flush=True)


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
