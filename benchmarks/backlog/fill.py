"""Fills a queue's table with tasks of chosen ages, faster than the library's own put would."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import boto3

from lab.dynamodb_local import CREDENTIALS
from lifoq.basics.host import microseconds
from lifoq.items.lifetimes import seconds_up
from lifoq.items.schema import Attribute as A
from lifoq.items.schema import Status
from lifoq.tables.dynamo import DynamoTable

BATCH: Final = 25
SHARE: Final = 5_000
"""Tasks that a process writes before it takes the next share."""


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


def fill(endpoint: str, table_name: str, layers: Sequence[Layer], *, processes: int = 2) -> None:
    now = time.time_ns() // 1_000
    shares = [
        (endpoint, table_name, layer, at, now)
        for layer in layers
        for at in range(0, layer.count, SHARE)
    ]
    with ProcessPoolExecutor(processes) as pool:
        for _ in pool.map(_write, *zip(*shares, strict=True)):
            pass


def _write(endpoint: str, table_name: str, layer: Layer, first: int, now: int) -> None:
    client: Any = boto3.client("dynamodb", endpoint_url=endpoint, **CREDENTIALS)
    table = DynamoTable(name=table_name, client=client, once=client)
    for batch in _batches(layer, first, now):
        while batch:
            batch = table.put_batch(batch)  # noqa: PLW2901 - what was left over


def _batches(layer: Layer, first: int, now: int) -> Iterator[list[Any]]:
    last = min(first + SHARE, layer.count)
    for at in range(first, last, BATCH):
        yield [layer.item(number, now) for number in range(at, min(at + BATCH, last))]
