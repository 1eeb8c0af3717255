"""Loads on the deployed queue in the local cloud: runs, kicks, log bytes per task."""

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.cost.payload import report
from benchmarks.cost.results import Runs
from benchmarks.deployed import FUNCTIONS, Deployment, durations
from lifoq import NewTask

ALONE: Final = 5
"""Tasks, one at a time."""
PACED: Final = {
    "steady, below capacity": (20, 12),
    "saturated, then drained": (200, 10),
    "steady, in batches of 5 s": (20, 12),
}
"""Tasks a second, and for how many seconds; 100 a second can be done."""
TICK: Final = 0.1
"""Seconds between two batches of the producer."""


@dataclass
class Traffic:
    """The calls that were counted in a stretch of time."""

    calls: Counter[str] = field(default_factory=Counter)
    """The number of calls by action, such as ``dynamodb:Query``."""
    logs: dict[str, str] = field(default_factory=dict)
    """The log of each function."""
    spare_kicks: int = 0

    def runs(self, name: str) -> int:
        return len(durations(self.logs[name]))

    @property
    def log_bytes(self) -> int:
        return sum(len(text.encode()) for text in self.logs.values())

    def gigabyte_seconds(self, memory: Mapping[str, int]) -> float:
        """Lambda bills whole milliseconds."""
        return sum(
            memory[name] / 1024 * math.ceil(seconds * 1000) / 1000
            for name, log in self.logs.items()
            for seconds in durations(log)
        )


@contextmanager
def reading(queue: Deployment) -> Iterator[Traffic]:
    """Holds what was counted once the block is over."""
    found, since = Traffic(), time.time_ns() // 1_000
    before, spare = {name: len(queue.log(name)) for name in FUNCTIONS}, queue.spare_kicks()
    yield found
    found.calls.update(call["action"] for call in queue.calls(since))
    found.logs.update({name: queue.log(name)[length:] for name, length in before.items()})
    found.spare_kicks = queue.spare_kicks() - spare


def memory(queue: Deployment) -> dict[str, int]:
    """Megabytes of each function, as deployed."""
    client = queue.cloud.client("lambda")
    return {
        name: client.get_function_configuration(FunctionName=function)["MemorySize"]
        for name, function in queue.names.items()
    }


def sweep(queue: Deployment) -> Traffic:
    """One, of an empty queue; its cold start is not what a minute costs."""
    queue.invoke("sweep")
    with reading(queue) as found:
        queue.invoke("sweep")
    return found


def standing(queue: Deployment) -> dict[str, float]:
    """Return what is billed by the month: the metrics that were sent so far, and the alarms by the
    metrics that each reads."""
    cloudwatch: Any = queue.cloud.client("cloudwatch")
    both = cloudwatch.describe_alarms(AlarmTypes=["MetricAlarm", "CompositeAlarm"])
    return {
        "custom metrics": len(cloudwatch.list_metrics(Namespace="lifoq")["Metrics"]),
        "alarms": sum(
            sum("MetricStat" in one for one in alarm.get("Metrics", [])) or 1
            for alarm in both["MetricAlarms"]
        ),
        "composite alarms": len(both["CompositeAlarms"]),
        "dashboard": len(cloudwatch.list_dashboards()["DashboardEntries"]),
    }


def rows(queue: Deployment) -> list[Runs]:
    _put(queue, 1)
    queue.rest()
    with reading(queue) as found:
        for _ in range(ALONE):
            _put(queue, 1)
            queue.rest()
    sizes = memory(queue)
    made = [_row("one at a time", ALONE, found, sizes)]
    for load, (rate, seconds) in PACED.items():
        if "batches" in load:
            _batch_for(queue, 5)
        put, found = _paced(queue, rate, seconds)
        made.append(_row(load, put, found, sizes))
    return made


def _paced(queue: Deployment, rate: float, seconds: float) -> tuple[int, Traffic]:
    put, begun = 0, time.monotonic()
    with reading(queue) as found:
        while (elapsed := time.monotonic() - begun) < seconds:
            due = int(elapsed * rate) - put
            _put(queue, due)
            put += due
            time.sleep(TICK)
        queue.rest()
    return put, found


def _put(queue: Deployment, number: int) -> None:
    queue.queue.put_many([NewTask(task_type="device.check", payload=report(100))] * number)


def _batch_for(queue: Deployment, seconds: int) -> None:
    """Set the batching window of the stream, which a stage sets by
    ``StreamReading.max_batching_window``."""
    client = queue.cloud.client("lambda")
    (mapping,) = client.list_event_source_mappings()["EventSourceMappings"]
    client.update_event_source_mapping(UUID=mapping["UUID"], MaximumBatchingWindowInSeconds=seconds)


def _row(load: str, tasks: int, traffic: Traffic, memory: Mapping[str, int]) -> Runs:
    trigger, processor = traffic.runs("trigger"), traffic.runs("processor")
    return Runs(
        load=load,
        tasks=tasks,
        trigger_runs=trigger,
        processor_runs=processor,
        runs_per_task=(trigger + processor) / tasks,
        gigabyte_seconds_per_task=traffic.gigabyte_seconds(memory) / tasks,
        kicks_per_task=traffic.calls["sns:Publish"] / tasks,
        spare_kicks_per_task=traffic.spare_kicks / tasks,
        log_bytes_per_task=traffic.log_bytes / tasks,
    )
