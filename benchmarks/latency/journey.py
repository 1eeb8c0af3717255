"""The way of one task from its put to its handler, by the moments that were recorded on it."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.latency.stage import Stage
from lifoq.items.schema import DUE_INDEX, STATUS_CREATED_INDEX

HOPS: Final = (
    ("put", "DynamoDB has the task, and the producer its answer"),
    ("stream", "the stream's reader has the record, and invokes the trigger"),
    ("trigger", "the trigger's runtime and handler, until its kick reaches SNS"),
    ("kick", "SNS hands the kick to Lambda, which invokes the processor"),
    ("processor", "the processor's runtime and handler, until its first query arrives"),
    ("due tasks", "a look at what is due, until the look at the queue arrives"),
    ("query", "the look at the queue, until the claim arrives"),
    ("claim", "the claim, until the handler starts"),
)
TIMEOUT: Final = 30.0


@dataclass(frozen=True)
class Journey:
    """Epoch microseconds: of the put, and of the end of each hop."""

    moments: tuple[int, ...]

    @property
    def hops_ms(self) -> dict[str, float]:
        """The parts add up to the whole. The stream's reader may be faster than the put's answer:
        then that part is below 0."""
        pairs = zip(HOPS, self.moments, self.moments[1:], strict=False)
        return {name: (end - begin) / 1000 for (name, _), begin, end in pairs}

    @property
    def total_ms(self) -> float:
        return (self.moments[-1] - self.moments[0]) / 1000


def travel(stage: Stage) -> Journey | None:
    """Put one task and follow it. None where it did not come this way: the sweep, which comes every
    minute, saw it first and woke the processor itself, or an earlier kick came late and did."""
    put = _now()
    task = stage.queue.put("latency.new")
    answered = _now()
    started = int(stage.queue.wait(task.task_id, timeout=TIMEOUT))
    calls = stage.calls(put)
    wakers = {call["caller"] for call in calls if call["action"] == "sns:Publish"}
    if stage.sweep in wakers or stage.trigger not in wakers:
        return None
    kicked = _first(calls, stage.trigger, "sns:Publish")
    triggered = min(stage.starts(stage.trigger, put))
    invoked = min(stage.starts(stage.processor, put))
    due = _first(calls, stage.processor, "dynamodb:Query", DUE_INDEX)
    looked = _first(calls, stage.processor, "dynamodb:Query", STATUS_CREATED_INDEX)
    claimed = _first(calls, stage.processor, "dynamodb:UpdateItem")
    moments = (put, answered, triggered, kicked, invoked, due, looked, claimed, started)
    return Journey(moments)


def _first(calls: Iterable[dict[str, Any]], caller: str, action: str, resource: str = "") -> int:
    return min(
        int(call["at"])
        for call in calls
        if (call["caller"], call["action"]) == (caller, action)
        and any(one.endswith(resource) for one in call["resources"])
    )


def _now() -> int:
    return time.time_ns() // 1_000
