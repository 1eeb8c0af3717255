"""A queue on DynamoDB Local, filled with tasks of chosen ages faster than the library's own put
would, and what a look at it and a claim cost."""

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import boto3

from benchmarks.units import Reported
from lab.dynamodb_local import CREDENTIALS
from lifoq.basics.host import microseconds
from lifoq.items.lifetimes import seconds_up
from lifoq.items.schema import Attribute as A
from lifoq.items.schema import Status, table_definition
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.store import Candidate, Store
from lifoq.tables.table import MAX_BATCH
from lifoq.worker.lookout import larger_page
from lifoq.worker.settings import WorkerSettings

SHARE: Final = 5_000
"""Tasks that a process writes before it takes the next share."""
# Without a stream, which slows DynamoDB Local's writes down the more, the more it holds.
NO_STREAM: Final = {"StreamSpecification": {"StreamEnabled": False}}


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


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one look and the claim after it."""

    look_ms: float
    claim_ms: float
    read_units: float
    write_units: float


class Backlog:
    """A queue's table, without TTL, which would delete what has expired."""

    def __init__(self, endpoint: str, name: str) -> None:
        client: Any = boto3.client("dynamodb", endpoint_url=endpoint, **CREDENTIALS)
        client.create_table(**{**table_definition(name), **NO_STREAM})
        self._endpoint, self._name, self._units = endpoint, name, Reported(client)
        self._store = Store(DynamoTable(name=name, client=client, once=client))

    def fill(self, layer: Layer) -> None:
        write = partial(_write, self._endpoint, self._name, layer, time.time_ns() // 1_000)
        with ProcessPoolExecutor(2) as pool:
            list(pool.map(write, range(0, layer.count, SHARE)))

    def look_and_claim(self, *, newest_first: bool = True) -> Cost:
        """Claims the first live task from one end of the queue, as a processor's run does."""
        before = self._units.read_units, self._units.write_units
        began = time.perf_counter()
        row = self._first_live(newest_first=newest_first)
        looked = time.perf_counter()
        self._store.claim(row.task_id, claim_id=uuid.uuid4().hex, lease=3_600)
        claimed = time.perf_counter()
        return Cost(
            look_ms=1000 * (looked - began),
            claim_ms=1000 * (claimed - looked),
            read_units=self._units.read_units - before[0],
            write_units=self._units.write_units - before[1],
        )

    def _first_live(self, *, newest_first: bool) -> Candidate:
        start, limit = None, WorkerSettings().page
        while True:
            page = self._store.candidates(limit=limit, start=start, newest_first=newest_first)
            now = time.time() * 1e6
            for row in page.rows:
                if row.expires_at > now:
                    return row
            if page.next is None:
                raise RuntimeError(f"{self._name} has no live task left")
            start, limit = page.next, larger_page(limit)


def _write(endpoint: str, name: str, layer: Layer, now: int, first: int) -> None:
    client: Any = boto3.client("dynamodb", endpoint_url=endpoint, **CREDENTIALS)
    table = DynamoTable(name=name, client=client, once=client)
    for batch in _batches(layer, now, first):
        while batch:
            batch = table.put_batch(batch)  # noqa: PLW2901 - what was left over


def _batches(layer: Layer, now: int, first: int) -> Iterator[list[Any]]:
    last = min(first + SHARE, layer.count)
    for at in range(first, last, MAX_BATCH):
        yield [layer.item(number, now) for number in range(at, min(at + MAX_BATCH, last))]
