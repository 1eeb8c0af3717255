"""``python -m benchmarks.kick``: what a lone task gains by a kick of its producer."""

import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import click
import numpy as np

from benchmarks.deployed import STAGE, Deployment, deployed
from benchmarks.kick.results import Results, Way
from benchmarks.record import recording
from lifoq import Queue
from lifoq.client.kicks import KICKS_APART

PAUSE: Final = 0.25
"""Seconds between two reads of a stream, as on AWS."""
TIMEOUT: Final = 30.0
WAYS: Final = {"the stream": False, "`kick=True`": True}


@click.command()
@click.option("--tasks", default=60, show_default=True, help="Tasks of each way.")
def main(tasks: int) -> None:
    """Put lone tasks at random moments, by turns without and with a kick. About five minutes."""
    with (
        recording("kick", "python -m benchmarks.kick") as found,
        tempfile.TemporaryDirectory() as folder,
        deployed(Path(folder), stream_pause_seconds=PAUSE) as deployment,
    ):
        queue = Queue.connect(STAGE, **deployment.cloud.arguments())
        draw = random.Random(1)
        took: dict[str, list[int]] = {way: [] for way in WAYS}
        for kick in WAYS.values():  # the first starts processes
            _lone(deployment, queue, draw, kick=kick)
        for _ in range(tasks):
            for way, kick in WAYS.items():
                took[way].append(_lone(deployment, queue, draw, kick=kick))
        found.results = Results(
            tasks=tasks,
            pause_ms=1000 * PAUSE,
            ways=[_row(way, micros) for way, micros in took.items()],
        )


def _lone(deployment: Deployment, queue: Queue, draw: random.Random, *, kick: bool) -> int:
    """Put one task to an idle queue. Returns the microseconds until its handler started."""
    while True:
        deployment.rest()
        time.sleep(KICKS_APART + draw.uniform(0, 2 * PAUSE))
        put = _now()
        task = queue.put("when.started", kick=kick)
        started = int(queue.wait(task.task_id, timeout=TIMEOUT))
        if not _swept(deployment, put):
            return started - put


def _swept(deployment: Deployment, since: int) -> bool:
    """Tell whether the sweep, which comes every minute, woke the processor itself since then."""
    return any(
        (call["caller"], call["action"]) == ("sweep", "sns:Publish")
        for call in deployment.calls(since)
    )


def _row(way: str, micros: Sequence[int]) -> Way:
    return Way(
        way=way,
        p50=round(median(micros) / 1000, 1),
        p95=round(float(np.percentile(micros, 95)) / 1000, 1),
    )


def _now() -> int:
    return time.time_ns() // 1_000


if __name__ == "__main__":
    main()
