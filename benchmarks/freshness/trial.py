"""A processor behind which a backlog never ends, and new tasks that come one by one."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import boto3

from benchmarks.freshness.timed import TimedStore
from lab.dynamodb_local import CREDENTIALS
from lifoq import Context, NewTask, Queue, Registry, WorkerSettings
from lifoq.items.schema import table_definition
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.store import Store

SPACING = 0.06
"""Seconds, beyond a task's service, between two new tasks: the one before has started by then, so
that each is the newest while it waits."""

NO_STREAM = {"StreamEnabled": False}


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
    """``run`` it; then ``waits`` holds the seconds from each new task's put to its handler's start,
    and ``calls`` those of the worker's calls to the store."""

    def __init__(self, endpoint: str, name: str, load: Load, make_worker: MakeWorker) -> None:
        self._load = load
        client: Any = boto3.client("dynamodb", endpoint_url=endpoint, **CREDENTIALS)
        # Without a stream, which slows DynamoDB Local's writes down the more, the more it holds.
        client.create_table(**{**table_definition(name), "StreamSpecification": NO_STREAM})
        self._store = TimedStore(DynamoTable.connect(name, endpoint_url=endpoint, **CREDENTIALS))
        self._queue = Queue(self._store)
        self._put: dict[int, float] = {}
        self._started: dict[int, float] = {}
        settings = WorkerSettings(window=load.seconds, in_flight=load.in_flight, task_timeout=10)
        self._worker = make_worker(self._store, self._registry(), settings)
        self._queue.put_many([NewTask(task_type="old")] * load.backlog)

    def run(self) -> None:
        worker = threading.Thread(target=self._worker.run)
        worker.start()
        self._put_new_tasks()
        worker.join()

    @property
    def waits(self) -> list[float]:
        """Of those whose wait was over in time."""
        return [self._started[n] - put for n, put in self._put.items() if n in self._started]

    @property
    def calls(self) -> dict[str, list[float]]:
        return dict(self._store.seconds)

    def _registry(self) -> Registry:
        registry = Registry()

        @registry.task("old")
        def serve(_payload: Any, _context: Context) -> None:
            time.sleep(self._load.service)

        @registry.task("new")
        def serve_new(payload: int, _context: Context) -> None:
            self._started[payload] = time.perf_counter()
            time.sleep(self._load.service)

        return registry

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
