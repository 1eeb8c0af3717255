"""Fixtures for tests of tables, beside the table."""

import random
from string import ascii_letters, digits
from typing import Final, Protocol

import pytest

from lifoq.aws.dynamo_table import DynamoTable
from lifoq.aws.dynamo_values import typed
from lifoq.items.change import Item
from lifoq.items.lifetimes import Lifetimes
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.store.table_protocol import Table
from lifoq.testing.hosts import ManualHost


class PastTheLibrary(Protocol):
    """Does to a table what the library never does."""

    def write(self, item: Item) -> None:
        """Put an item, whatever is in it, and whatever is there."""

    def remove(self, task_id: str) -> None:
        """Delete an item, as TTL does."""


class PastDynamo:
    def __init__(self, table: DynamoTable) -> None:
        self._table = table

    def write(self, item: Item) -> None:
        self._table._calls.client.put_item(TableName=self._table.name, Item=typed(item))

    def remove(self, task_id: str) -> None:
        key = {"taskId": {"S": task_id}}
        self._table._calls.client.delete_item(TableName=self._table.name, Key=key)


class PastMemory:
    def __init__(self, table: MemoryTable) -> None:
        self.write = table.damage
        self.remove = table._remove


CHARACTERS: Final = (ascii_letters + digits + "!#$%&()*+-;<=>?@^_`{|}~").encode()
OF_BYTES: Final = bytes(CHARACTERS[n % len(CHARACTERS)] for n in range(256))
"""The character that stands for each byte."""


def noise(size: int) -> str:
    """Return text of this many bytes that can hardly be compressed."""
    return random.Random(size).randbytes(size).translate(OF_BYTES).decode()


@pytest.fixture
def host() -> ManualHost:
    return ManualHost()


@pytest.fixture
def store(table: Table, host: ManualHost) -> Store:
    return Store(table, lifetimes=Lifetimes(), host=host)
