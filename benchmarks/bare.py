"""Ours beside the bare calls that it cannot do without, on DynamoDB Local: they take turns."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

from benchmarks.record import Row
from lab import dynamodb_local
from lifoq import NewTask, Queue
from lifoq.aws.boto3_clients import dynamodb_clients
from lifoq.aws.dynamo_calls import DynamoCalls
from lifoq.aws.dynamo_table import Calls, DynamoTable
from lifoq.aws.own_client import Endpoint, Service
from lifoq.aws.retry_policy import ATTEMPTS
from lifoq.aws.signature import Credentials
from lifoq.basics.clock import ServerClock
from lifoq.basics.host import SYSTEM
from lifoq.store.store import Store
from lifoq.testing import create_table

NAME: Final = "benchmark"

Request = Mapping[str, Any]
Way = Callable[[int], object]
"""Does so many tasks."""


class Ratio(Row):
    """Medians; processor time is this process's."""

    what: Annotated[str, ""]
    tasks_per_second: Annotated[float, "lifoq, tasks/s"]
    bare_tasks_per_second: Annotated[float, "bare, tasks/s"]
    ratio: Annotated[float, "ratio"]
    """lifoq's speed over the bare calls' in the same repeat, since machines are noisy."""
    least: float
    most: float
    cpu_ms_per_task: Annotated[float, "CPU ms a task"]
    bare_cpu_ms_per_task: Annotated[float, "bare"]


class Recorder:
    """DynamoDB's calls, each noted with its time."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.region = calls.region
        self.noted: list[tuple[str, Request, float, float]] = []
        """Operation, request, began, ended; seconds."""

    def call(self, operation: str, request: Request) -> dict[str, Any]:
        began = time.perf_counter()
        answer = self._calls.call(operation, request)
        self.noted.append((operation, request, began, time.perf_counter()))
        return answer


class Ground:
    """A queue, and clients with the product's settings."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self.client, self.once = dynamodb_clients(
            endpoint_url=endpoint, **dynamodb_local.CREDENTIALS
        )
        """The latter repeats nothing, as the product's batches do not."""
        create_table(self.client, NAME)
        self.queue = Queue(Store(DynamoTable.of_clients(NAME, client=self.client, once=self.once)))
        """The queue as producers have it: by boto3."""
        self.store = Store(self._own_table())
        """The store as lifoq's own processes have it: by lifoq's own client."""

    def recorded(self) -> tuple[Store, Recorder]:
        """``store`` once more, and what it calls."""
        clock = ServerClock()
        calls = Recorder(DynamoCalls(self._service(clock), attempts=ATTEMPTS))
        return Store(DynamoTable(name=NAME, calls=calls, once=calls, clock=clock)), calls

    def _own_table(self) -> DynamoTable:
        clock = ServerClock()
        return DynamoTable.of_service(NAME, self._service(clock), clock=clock)

    def _service(self, clock: ServerClock) -> Service:
        known = dynamodb_local.CREDENTIALS
        endpoint = Endpoint.at(self._endpoint, service="dynamodb", region=known["region_name"])
        if endpoint is None:
            raise RuntimeError(f"{self._endpoint} is no endpoint")
        mine = Credentials(known["aws_access_key_id"], known["aws_secret_access_key"], None)
        return Service(endpoint, credentials=lambda: mine, clock=clock, host=SYSTEM)

    def fill(self, number: int) -> list[str]:
        """Put tasks with a small payload; their ids, the newest first."""
        outcomes = self.queue.put_many(new_tasks(number))
        return [outcome.task.task_id for outcome in reversed(outcomes) if outcome.task is not None]

    @contextmanager
    def listening(self, operation: str) -> Iterator[list[Request]]:
        """The requests of this kind that the clients are asked to send during the block."""
        seen: list[Request] = []
        event, clients = f"provide-client-params.dynamodb.{operation}", (self.client, self.once)

        def see(params: Request, **_: Any) -> None:
            seen.append(dict(params))

        for client in clients:
            client.meta.events.register(event, see)
        yield seen
        for client in clients:
            client.meta.events.unregister(event, see)


@contextmanager
def ground() -> Iterator[Ground]:
    """A queue without tasks."""
    with (
        TemporaryDirectory(prefix="lifoq-") as folder,
        dynamodb_local.running(Path(folder) / "dynamodb.log") as endpoint,
    ):
        yield Ground(endpoint)


def new_tasks(number: int) -> list[NewTask]:
    return [NewTask(task_type="empty", payload={"number": n}) for n in range(number)]


def contest(
    what: str,
    ours: Way,
    bare: Way,
    *,
    tasks: int,
    repeats: int,
    prepare: Way = lambda _tasks: None,
) -> Ratio:
    """``prepare`` is not timed. Who is first alternates."""
    runs: dict[Way, list[tuple[float, float]]] = {ours: [], bare: []}
    for repeat in range(repeats):
        for way in (bare, ours) if repeat % 2 else (ours, bare):
            prepare(tasks)
            cpu, clock = time.process_time(), time.perf_counter()
            way(tasks)
            seconds = time.perf_counter() - clock
            runs[way].append((tasks / seconds, 1_000 * (time.process_time() - cpu) / tasks))
    return compared(what, runs[ours], runs[bare])


def compared(what: str, ours: list[tuple[float, float]], bare: list[tuple[float, float]]) -> Ratio:
    """Compare runs in pairs, each told as tasks a second and processor milliseconds per task."""
    ratios = [round(own / other, 3) for (own, _), (other, _) in zip(ours, bare, strict=True)]
    return Ratio(
        what=what,
        tasks_per_second=round(median(rate for rate, _ in ours), 1),
        bare_tasks_per_second=round(median(rate for rate, _ in bare), 1),
        ratio=median(ratios),
        least=min(ratios),
        most=max(ratios),
        cpu_ms_per_task=round(median(cpu for _, cpu in ours), 2),
        bare_cpu_ms_per_task=round(median(cpu for _, cpu in bare), 2),
    )
