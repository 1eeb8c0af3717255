"""Clients of queues in memory, on a clock of the test's own."""

from collections.abc import Iterable

import pytest

from lifoq import Cells, Queue
from lifoq.basics.host import SYSTEM, Host
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost

NAMES = ("north", "south", "west")


@pytest.fixture
def queue(store: Store, host: ManualHost) -> Queue:
    return Queue(store, host=host)


def cells_named(names: Iterable[str], host: Host = SYSTEM) -> Cells:
    stores = [Store(MemoryTable(name), host=host) for name in names]
    return Cells([Queue(store, host=host) for store in stores], host=host)


@pytest.fixture
def cells(host: ManualHost) -> Cells:
    return cells_named(NAMES, host)


def succeed(queue: Queue, task_id: str, result: str = '"done"') -> None:
    queue.store.succeed(queue.store.claim(task_id, claim_id="c", lease=30), result)
