"""Where the contenders run: a queue on DynamoDB Local, and a client with the product's settings."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import boto3

from lab import dynamodb_local
from lifoq import NewTask, Queue
from lifoq.tables.dynamo import ONCE, PATIENT, DynamoTable
from lifoq.tables.store import Store
from lifoq.testing import create_table

NAME: Final = "benchmark"


@dataclass(kw_only=True)
class Spent:
    """What a block took: time, and processor time of this process."""

    seconds: float = 0.0
    client_cpu: float = 0.0

    def per_task(self, tasks: int) -> dict[str, float]:
        return {
            "tasks_per_second": round(tasks / self.seconds, 1),
            "client_cpu_ms_per_task": round(self.client_cpu / tasks * 1_000, 2),
        }


class Ground:
    def __init__(self, endpoint: str) -> None:
        def client(config: Any) -> Any:
            return boto3.client(
                "dynamodb", endpoint_url=endpoint, config=config, **dynamodb_local.CREDENTIALS
            )

        self.client = client(PATIENT)
        self.once = client(ONCE)
        """Repeats nothing, as the product's batches do not."""
        create_table(self.client, NAME)
        self.table = DynamoTable(name=NAME, client=self.client, once=self.once)
        self.queue = Queue(Store(self.table))

    def fill(self, number: int) -> list[str]:
        """Put tasks with a small payload; their ids, the newest first."""
        outcomes = self.queue.put_many(new_tasks(number))
        return [outcome.task.task_id for outcome in reversed(outcomes) if outcome.task is not None]

    @contextmanager
    def spending(self) -> Iterator[Spent]:
        """Fills what it yields when the block is over."""
        spent = Spent()
        own, clock = time.process_time(), time.perf_counter()
        yield spent
        spent.seconds = time.perf_counter() - clock
        spent.client_cpu = time.process_time() - own


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
