"""A table, as far as requests for its items know it."""

from collections.abc import Callable
from typing import Protocol

from lifoq_localcloud.table_rules.keys import Schema
from lifoq_localcloud.table_rules.refused import RefusedError
from lifoq_localcloud.tables.journal import Journal
from lifoq_localcloud.tables.rows import Rows


class StoredTable(Protocol):
    """A table with its items."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def rows(self) -> Rows:
        """Its items."""

    @property
    def journal(self) -> Journal:
        """The record of its writes."""

    @property
    def key_schema(self) -> Schema:
        """Its key attributes, and those of its indexes."""


Tables = Callable[[str], StoredTable | None]
"""A table by its name or ARN; None where there is none."""


def found(tables: Tables, name: str) -> StoredTable:
    """Return a table. Raises RefusedError where there is none."""
    table = tables(name)
    if table is None:
        raise RefusedError("Requested resource not found", code="ResourceNotFoundException")
    return table
