"""What tests of tables stand on, beside the table."""

import random
from base64 import b85encode
from typing import Protocol

import pytest

from lifoq.items.change import Item
from lifoq.items.lifetimes import Lifetimes
from lifoq.tables.store import Store
from lifoq.tables.table import Table
from lifoq.testing.hosts import ManualHost


class PastTheLibrary(Protocol):
    """Does to a table what the library never does."""

    def write(self, item: Item) -> None:
        """Put an item, whatever is in it, and whatever is there."""

    def remove(self, task_id: str) -> None:
        """Delete an item, as TTL does."""


def noise(size: int) -> str:
    """So many bytes of text that can hardly be compressed."""
    return b85encode(random.Random(size).randbytes(size)).decode()[:size]


@pytest.fixture
def host() -> ManualHost:
    return ManualHost()


@pytest.fixture
def store(table: Table, host: ManualHost) -> Store:
    return Store(table, lifetimes=Lifetimes(), host=host)
