"""Tables of the local cloud's DynamoDB in memory, and requests to them: no server, no client."""

import copy
import traceback
from dataclasses import dataclass, field
from typing import Any

from lifoq_localcloud.item_requests import answers, rules
from lifoq_localcloud.table_rules import values
from lifoq_localcloud.table_rules.keys import Schema
from lifoq_localcloud.table_rules.refused import RefusedError
from lifoq_localcloud.tables.journal import Journal
from lifoq_localcloud.tables.rows import Index, Rows


@dataclass
class StoredTable:
    """A table with its items, and with indexes: local ones where they have the table's hash key,
    else global ones. They show all attributes; one whose name ends in ``keys`` shows keys alone."""

    name: str
    key_schema: Schema
    journal: Journal = field(default_factory=Journal)

    def __post_init__(self) -> None:
        names = [*self.key_schema.key]
        self.rows = Rows(key_names=names, size=values.size)
        self.rows.index(
            Index(
                name=name,
                hash_names=(next(iter(key)),),
                range_names=tuple(key)[1:],
                local=next(iter(key)) == names[0],
                shown=frozenset((*key, *names)) if name.endswith("keys") else None,
            )
            for name, key in self.key_schema.indexes.items()
        )


class Database:
    """Tables by their names."""

    def __init__(self, **schemas: Schema) -> None:
        self.tables = {name: StoredTable(name, schema) for name, schema in schemas.items()}

    def ask(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request. Raises RefusedError."""
        asked = copy.deepcopy(request)
        expressions = rules.apply(operation, asked, self._schema)
        if operation not in answers.OPERATIONS:
            return {}
        return answers.answer(operation, asked, expressions, self.tables.get)

    def answer(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return what a client is answered: a refusal has its code as ``__type``."""
        try:
            return self.ask(operation, request)
        except RefusedError as error:
            return {**error.answer(), "__type": error.code}
        except Exception:  # noqa: BLE001 - whatever it is, a client would be told of a failure
            return {"__type": "InternalFailure", "message": traceback.format_exc()}

    def _schema(self, name: str) -> Schema | None:
        return self.tables[name].key_schema if name in self.tables else None
