"""A queue on DynamoDB Local, filled with tasks of chosen ages faster than the library's own put
would, and what a poll of it and a claim cost."""

import time
import uuid
from dataclasses import dataclass
from typing import Any, Final

import boto3

from benchmarks.units import Reported
from lab.dynamodb_local import CREDENTIALS
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.basics.host import microseconds
from lifoq.items.lifetimes import seconds_up
from lifoq.items.schema import Attribute as A
from lifoq.items.schema import Status, table_definition
from lifoq.store.store import Store
from lifoq.store.table_protocol import MAX_BATCH
from lifoq.worker.settings import WorkerSettings

PAGE: Final = WorkerSettings().page
# Without a stream, which slows DynamoDB Local's writes down the more, the more it holds.
NO_STREAM: Final = {"StreamSpecification": {"StreamEnabled": False}}


Cost = tuple[float, float, float, float]
"""The cost of a poll and the claim after it: milliseconds of each; read units and write units."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """``count`` waiting tasks, evenly spread over the ages from ``youngest`` to ``oldest``
    (seconds), each of which expires ``lives`` seconds after it was put."""

    prefix: str
    count: int
    youngest: float
    oldest: float
    lives: float

    def item(self, number: int, now: int) -> dict[str, int | str]:
        """The ``number``-th, the youngest first, with no more than a waiting task has to have."""
        age = self.youngest + (self.oldest - self.youngest) * number / self.count
        created = now - microseconds(age)
        expires = created + microseconds(self.lives)
        return {
            A.TASK_ID: f"{self.prefix}{number}",
            A.TASK_STATUS: Status.PENDING.value,
            A.TASK_CREATED: created,
            A.ENQUEUED_AT: created,
            A.TASK_UPDATED: created,
            A.EXPIRES_AT: expires,
            A.TTL: seconds_up(expires),
            A.TASK_TYPE: "backlog",
            A.PAYLOAD: "null",
            A.ATTEMPTS: 0,
        }


class Backlog:
    """A queue's table, without TTL, which would delete what has expired."""

    def __init__(self, endpoint: str, name: str) -> None:
        client: Any = boto3.client("dynamodb", endpoint_url=endpoint, **CREDENTIALS)
        client.create_table(**{**table_definition(name), **NO_STREAM})
        self._units = Reported(client)
        self._table = DynamoTable.of_clients(name, client=client, once=client)
        self._store = Store(self._table)

    def fill(self, layer: Layer) -> None:
        now = time.time_ns() // 1_000
        for at in range(0, layer.count, MAX_BATCH):
            numbers = range(at, min(at + MAX_BATCH, layer.count))
            batch: list[Any] = [layer.item(number, now) for number in numbers]
            while batch:
                batch = self._table.put_batch(batch)  # what was left over

    def poll_and_claim(self, *, newest_first: bool = True) -> Cost:
        """Claims the first live task from one end of the queue, as a processor's run does."""
        before = self._units.read_units, self._units.write_units
        began = time.perf_counter()
        row, *_ = self._store.candidates(limit=PAGE, newest_first=newest_first).rows
        polled = time.perf_counter()
        self._store.claim(row.task_id, claim_id=uuid.uuid4().hex, lease=3_600)
        claimed = time.perf_counter()
        read, written = self._units.read_units - before[0], self._units.write_units - before[1]
        return 1000 * (polled - began), 1000 * (claimed - polled), read, written
