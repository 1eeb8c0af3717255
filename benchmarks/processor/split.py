"""Where a task's time goes: a table that takes the time of each call."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks.processor.contenders import Request, Writes, nothing, settings, work_off
from benchmarks.processor.ground import Ground
from lifoq import Processor, Registry
from lifoq.items.change import Change, Item
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.store import Store

Row = dict[str, Any]


class Watch:
    """Sums up seconds by part, over all threads."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.times: dict[str, int] = defaultdict(int)
        self._here = threading.local()
        self._lock = threading.Lock()

    def time(self, part: str, call: Callable[[], Any], *, since: str | None = None) -> Any:
        """Time a call as ``part``; and as ``since`` what passed since the thread's last one."""
        began = time.perf_counter()
        try:
            return call()
        finally:
            ended = time.perf_counter()
            self._add(part, ended - began)
            if since is not None:
                self._add(since, began - self._here.ended)
            self._here.ended = ended

    def _add(self, part: str, seconds: float) -> None:
        with self._lock:
            self.seconds[part] += seconds
            self.times[part] += 1


class WatchedTable(DynamoTable):
    def __init__(self, ground: Ground, watch: Watch) -> None:
        super().__init__(name=ground.table.name, client=ground.client, once=ground.once)
        self._watch = watch

    def query(self, *arguments: Any, **named: Any) -> Any:
        look = partial(super().query, *arguments, **named)
        return self._watch.time("query", look)

    def update_and_get(self, task_id: str, change: Change) -> Item:
        claim = partial(super().update_and_get, task_id, change)
        found: Item = self._watch.time("claim", claim)
        return found

    def update(self, task_id: str, change: Change) -> None:
        settle = partial(super().update, task_id, change)
        self._watch.time("settle", settle, since="handler back → settle sent")


def time_split(ground: Ground, *, tasks: int, in_flight: int) -> list[Row]:
    """Work off ``tasks`` tasks; what each part took, per task."""
    ground.fill(tasks)
    watch, registry = Watch(), Registry()

    @registry.task("empty")
    def empty(payload: Any, context: Any) -> None:
        watch.time("handler", lambda: nothing(payload, context), since="claimed → handler starts")

    store = Store(WatchedTable(ground, watch))
    Processor(store, registry, settings(in_flight)).run()
    return [
        {
            "in_flight": in_flight,
            "part": part,
            "ms_per_task": round(seconds / tasks * 1_000, 3),
            "times_per_task": round(watch.times[part] / tasks, 2),
        }
        for part, seconds in watch.seconds.items()
    ]


def call_costs(ground: Ground, writes: Writes, *, tasks: int) -> list[Row]:
    """What a call costs in one thread: as the bare client's, and through the store, which renders
    the request and reads the answer."""
    store, client = ground.queue.store, ground.client

    def send(request: Request, task_id: str) -> None:
        client.update_item(**{**request, "Key": {"taskId": {"S": task_id}}})

    ids = ground.fill(tasks)
    rows = [
        _cost("claim", "bare client", ids, lambda task_id: send(writes.claim, task_id)),
        _cost("settle", "bare client", ids, lambda task_id: send(writes.settle, task_id)),
    ]
    ids, claimed = ground.fill(tasks), []

    def claim(task_id: str) -> None:
        claimed.append(store.claim(task_id, claim_id=task_id, lease=30))

    rows += [
        _cost("claim", "store", ids, claim),
        _cost("settle", "store", claimed, lambda task: store.succeed(task, "null")),
    ]
    ground.fill(tasks)
    rows.append(_cost("look at ten", "store", ids, lambda _: store.candidates(limit=10)))
    work_off(ground, in_flight=4)
    return rows


def _cost(call: str, through: str, arguments: Sequence[Any], do: Callable[[Any], object]) -> Row:
    cpu, clock = time.thread_time(), time.perf_counter()
    for argument in arguments:
        do(argument)
    number = len(arguments)
    return {
        "call": call,
        "through": through,
        "client_cpu_ms": round((time.thread_time() - cpu) / number * 1_000, 3),
        "ms": round((time.perf_counter() - clock) / number * 1_000, 3),
    }
