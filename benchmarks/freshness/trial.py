"""A processor behind which a backlog never ends, and new tasks that come one by one."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, Protocol

import boto3
import numpy as np

from benchmarks.freshness.results import Waits
from lab.dynamodb_local import CREDENTIALS
from lifoq import Context, NewTask, Queue, Registry, WorkerSettings
from lifoq.items.schema import table_definition
from lifoq.items.task import Task
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.store import Candidates, Store

SPACING: Final = 0.06
"""Seconds, beyond a task's service, between two new tasks: the one before has started by then, so
that each is the newest while it waits."""
# Without a stream, which slows DynamoDB Local's writes down the more, the more it holds.
NO_STREAM: Final = {"StreamSpecification": {"StreamEnabled": False}}


class Worker(Protocol):
    def run(self) -> Any: ...


MakeWorker = Callable[[Store, Registry, WorkerSettings], Worker]


@dataclass(frozen=True, kw_only=True)
class Load:
    """``in_flight`` tasks at a time, each of ``service`` seconds, and some ``new_tasks``."""

    in_flight: int
    service: float
    new_tasks: int

    @property
    def seconds(self) -> float:
        return self.new_tasks * (1.5 * self.service + SPACING) + 3 * self.service

    @property
    def backlog(self) -> int:
        """More than can be worked off."""
        return 100 + round(1.2 * self.in_flight * self.seconds / self.service)


class Trial:
    def __init__(self, endpoint: str, name: str, load: Load, make_worker: MakeWorker) -> None:
        self._load = load
        client: Any = boto3.client("dynamodb", endpoint_url=endpoint, **CREDENTIALS)
        client.create_table(**{**table_definition(name), **NO_STREAM})
        self._store = _Timed(DynamoTable.connect(name, endpoint_url=endpoint, **CREDENTIALS))
        self._queue = Queue(self._store)
        self._put: dict[int, float] = {}
        self._started: dict[int, float] = {}
        registry = Registry()
        registry.task("old")(lambda _payload, _context: time.sleep(load.service))
        registry.task("new")(self._serve)
        settings = WorkerSettings(window=load.seconds, in_flight=load.in_flight, task_timeout=10)
        self._worker = make_worker(self._store, registry, settings)
        self._queue.put_many([NewTask(task_type="old")] * load.backlog)

    def run(self) -> None:
        worker = threading.Thread(target=self._worker.run)
        worker.start()
        self._put_new_tasks()
        worker.join()

    def waits(self, way: str) -> Waits:
        """Of those whose wait was over in time."""
        waits = [self._started[n] - put for n, put in self._put.items() if n in self._started]
        bound = self._load.service + sum(map(_p99, self._store.seconds.values()))
        return Waits(
            way=way,
            load=f"{self._load.in_flight} × {1000 * self._load.service:g} ms",
            p50_ms=_millis(median(waits)),
            p99_ms=_millis(_p99(waits)),
            longest_ms=_millis(max(waits)),
            bound_ms=_millis(bound),
            within_bound=sum(wait <= bound for wait in waits),
            new_tasks=len(waits),
        )

    def _serve(self, payload: int, _context: Context) -> None:
        self._started[payload] = time.perf_counter()
        time.sleep(self._load.service)

    def _put_new_tasks(self) -> None:
        draw = random.Random(self._load.in_flight)
        until = time.perf_counter() + self._load.seconds
        number = 0
        while True:
            time.sleep(self._load.service * draw.uniform(1, 2) + SPACING)
            if time.perf_counter() > until - 2 * self._load.service - SPACING:
                return
            self._queue.put("new", number)
            self._put[number] = time.perf_counter()
            number += 1


class _Timed(Store):
    """``seconds`` of each call of a worker, by name."""

    def __init__(self, table: DynamoTable) -> None:
        super().__init__(table)
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def candidates(self, **options: Any) -> Candidates:
        with self._timed("query"):
            return super().candidates(**options)

    def claim(self, task_id: str, **terms: Any) -> Task:
        with self._timed("claim"):
            return super().claim(task_id, **terms)

    def succeed(self, task: Task, result: str, follow_ups: Sequence[NewTask] = ()) -> None:
        with self._timed("settle"):
            super().succeed(task, result, follow_ups)

    @contextmanager
    def _timed(self, call: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[call].append(time.perf_counter() - began)


def _p99(values: Sequence[float]) -> float:
    return float(np.percentile(values, 99))


def _millis(seconds: float) -> float:
    return round(1000 * seconds, 1)
