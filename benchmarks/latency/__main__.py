"""``python -m benchmarks.latency``: from a put to its handler, hop by hop, on an idle queue."""

import tempfile
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
import numpy as np

from benchmarks.deployed import Deployment, deployed
from benchmarks.latency.results import Hop, Results
from benchmarks.record import recording
from lifoq.items.schema import DUE_INDEX, STATUS_CREATED_INDEX

HOPS: Final = {
    "put": "DynamoDB has the task, and the producer its answer",
    "stream": "the stream's reader has the record, and invokes the trigger",
    "trigger": "the trigger's runtime and handler, until its kick reaches SNS",
    "kick": "SNS hands the kick to Lambda, which invokes the processor",
    "processor": "the processor's runtime and handler, until its first query arrives",
    "due tasks": "a look at what is due, until the look at the queue arrives",
    "query": "the look at the queue, until the claim arrives",
    "claim": "the claim, until the handler starts",
}
TIMEOUT: Final = 30.0

Journey = Sequence[int]
"""Epoch microseconds: of the put, and of the end of each hop."""


@click.command()
@click.option("--warm", default=22, show_default=True, help="Tasks to processes that run already.")
@click.option("--cold", default=4, show_default=True, help="Tasks to processes that have to start.")
def main(warm: int, cold: int) -> None:
    """Put tasks, one at a time, to an idle queue on the local cloud. About a minute."""
    with (
        recording("latency", "python -m benchmarks.latency") as found,
        tempfile.TemporaryDirectory() as folder,
        deployed(Path(folder)) as queue,
    ):
        starting = [journey(queue, cold=True) for _ in range(cold)]
        running = [journey(queue, cold=False) for _ in range(warm)]
        found.results = Results(warm_tasks=warm, cold_tasks=cold, hops=hops(running, starting))


def journey(queue: Deployment, *, cold: bool) -> Journey:
    while True:
        queue.rest()
        if cold:
            for name in ("trigger", "processor"):
                queue.cloud.kill_function(queue.names[name])
        if (found := travel(queue)) is not None:
            return found


def travel(on: Deployment) -> Journey | None:
    """Put one task and follow it. None where it did not come this way: the sweep, which comes every
    minute, saw it first and woke the processor itself, or an earlier kick came late and did."""
    put = _now()
    task = on.queue.put("when.started")
    answered = _now()
    started = int(on.queue.wait(task.task_id, timeout=TIMEOUT))
    calls = on.calls(put)
    wakers = {call["caller"] for call in calls if call["action"] == "sns:Publish"}
    if "sweep" in wakers or "trigger" not in wakers:
        return None
    kicked = _first(calls, "trigger", "sns:Publish")
    triggered = min(on.begins("trigger", put))
    invoked = min(on.begins("processor", put))
    due = _first(calls, "processor", "dynamodb:Query", DUE_INDEX)
    looked = _first(calls, "processor", "dynamodb:Query", STATUS_CREATED_INDEX)
    claimed = _first(calls, "processor", "dynamodb:UpdateItem")
    return (put, answered, triggered, kicked, invoked, due, looked, claimed, started)


def hops(warm: Sequence[Journey], cold: Sequence[Journey]) -> list[Hop]:
    """The parts add up to the whole. The stream's reader may be faster than the put's answer: then
    that part is below 0."""
    columns = [
        [_millis(part) for part in zip(*map(_parts, journeys), strict=True)]
        for journeys in (warm, cold)
    ]
    named = {**HOPS, "**all**": "put to handler"}
    return [
        Hop(
            hop=hop,
            until=until,
            warm_p50=running[0],
            warm_p99=running[1],
            cold_p50=starting[0],
            cold_p99=starting[1],
        )
        for (hop, until), running, starting in zip(named.items(), *columns, strict=True)
    ]


def _parts(journey: Journey) -> list[int]:
    """Return the time of each hop, and of the whole way."""
    return [*(end - begin for begin, end in pairwise(journey)), journey[-1] - journey[0]]


def _millis(micros: Sequence[int]) -> tuple[float, float]:
    """Median and 99th percentile."""
    return round(median(micros) / 1000, 1), round(float(np.percentile(micros, 99)) / 1000, 1)


def _first(calls: Iterable[dict[str, Any]], caller: str, action: str, resource: str = "") -> int:
    return min(
        int(call["at"])
        for call in calls
        if (call["caller"], call["action"]) == (caller, action)
        and any(one.endswith(resource) for one in call["resources"])
    )


def _now() -> int:
    return time.time_ns() // 1_000


if __name__ == "__main__":
    main()
