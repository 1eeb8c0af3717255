"""Loads on the deployed queue in the local cloud, idle and saturated."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.cost import bill
from benchmarks.cost.cloud import Deployment, Traffic, deploy
from benchmarks.cost.transitions import Row
from demo import downstream
from localcloud import LocalCloud

SIZE: Final = 100
"""Bytes of payload; functions and kicks do not depend on it."""
SLOTS: Final = 10
SERVICE_SECONDS: Final = 0.1
"""Of the downstream: as many slots as tasks are in flight, 100 tasks a second."""
ALONE: Final = 5
STEADY_RATE: Final = 20
STEADY_SECONDS: Final = 12
SATURATED_RATE: Final = 200
SATURATED_SECONDS: Final = 10
"""Twice what the downstream takes."""
BATCHING_SECONDS: Final = 5
STEADY: Final = "steady, below capacity"
SATURATED: Final = "saturated, then drained"
BATCHED: Final = f"steady, in batches of {BATCHING_SECONDS} s"
TICK: Final = 0.1
"""Seconds between two batches of the producer."""


def measure() -> dict[str, Any]:
    """A row per load; what one sweep of an empty queue is; what stands there all month."""
    with (
        tempfile.TemporaryDirectory() as directory,
        downstream.running(slots=SLOTS, service_seconds=SERVICE_SECONDS) as slow,
        LocalCloud(Path(directory)) as cloud,
    ):
        queue = deploy(cloud, slow.url)
        queue.invoke("sweep")  # its cold start is not what a minute costs
        with queue.reading() as sweep:
            queue.invoke("sweep")
        standing = queue.standing()
        queue.put(SIZE)
        queue.rest()
        return {
            "memory_megabytes": queue.memory,
            "traced": queue.traced,
            "sweep": sweep.traffic,
            "standing": standing,
            "cloud": [_row(queue, *load) for load in _loads(queue)],
        }


def _loads(queue: Deployment) -> Iterator[tuple[str, int, Traffic]]:
    yield "one at a time", ALONE, _alone(queue)
    yield STEADY, *_paced(queue, STEADY_RATE, STEADY_SECONDS)
    yield SATURATED, *_paced(queue, SATURATED_RATE, SATURATED_SECONDS)
    queue.batch_for(BATCHING_SECONDS)
    yield BATCHED, *_paced(queue, STEADY_RATE, STEADY_SECONDS)


def _alone(queue: Deployment) -> Traffic:
    with queue.reading() as found:
        for _ in range(ALONE):
            queue.put(SIZE)
            queue.rest()
    return found.traffic


def _paced(queue: Deployment, rate: float, seconds: float) -> tuple[int, Traffic]:
    put, begun = 0, time.monotonic()
    with queue.reading() as found:
        while (elapsed := time.monotonic() - begun) < seconds:
            due = int(elapsed * rate) - put
            if due:
                queue.put(SIZE, due)
                put += due
            time.sleep(TICK)
        queue.rest()
    return put, found.traffic


def _row(queue: Deployment, load: str, tasks: int, traffic: Traffic) -> Row:
    trigger, processor = (len(traffic.durations[name]) for name in ("trigger", "processor"))
    publishes = traffic.count("sns:Publish")
    return {
        "load": load,
        "tasks": tasks,
        "trigger_runs": trigger,
        "processor_runs": processor,
        "invocations_per_task": (trigger + processor) / tasks,
        "gigabyte_seconds_per_task": traffic.gigabyte_seconds(queue.memory) / tasks,
        "kicks_per_task": publishes / tasks,
        "spare_kicks_per_task": traffic.spare_kicks / tasks,
        "log_bytes_per_task": sum(traffic.log_bytes.values()) / tasks,
        "stream_reads_per_task_computed": bill.stream_reads(traffic.seconds) / tasks,
        "traces_per_task_computed": bill.traces(trigger * queue.traced, traffic.seconds) / tasks,
    }
