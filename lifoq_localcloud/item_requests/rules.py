"""The rules for a request, in DynamoDB's order."""

from typing import Any

from lifoq_localcloud.expressions import requests
from lifoq_localcloud.expressions.requests import Expressions
from lifoq_localcloud.table_rules import (
    constraints,
    creation,
    keys,
    legacy,
    queries,
    resource_names,
    values,
)
from lifoq_localcloud.table_rules.keys import Schema, Schemas
from lifoq_localcloud.table_rules.refused import RefusedError, invalid


def apply(operation: str, request: dict[str, Any], schemas: Schemas) -> list[Expressions]:
    """Raise RefusedError for what DynamoDB refuses, before anything is written.

    Write numbers and bytes as DynamoDB stores them, and older parameters as expressions. Return the
    expressions of the request, or of each part of a batch or a transaction.
    """
    constraints.check(operation, request)
    creation.check(operation, request)
    resource_names.check(operation, request)
    values.check(operation, request)
    values.rewrite(operation, request)  # what is compared is as it is stored
    found = []
    for name, _, asked in values.parts(operation, request):
        requests.check_mixture(name, asked)
        legacy.rewrite(asked)
        found.append(requests.read(name, asked))
    queries.check(operation, request)
    keys.check(operation, request, schemas)
    for (_, table, _), expressions in zip(values.parts(operation, request), found, strict=True):
        if (schema := schemas(table)) is not None:
            _check_paths(expressions, schema)
    return found


def _check_paths(expressions: Expressions, schema: Schema) -> None:
    """Raise RefusedError for a path that changes a key, or leads into one."""
    for path in expressions.update.paths if expressions.update is not None else ():
        if path.parts[0] in schema.key:
            raise invalid(
                f"Cannot update attribute {path.parts[0]}. This attribute is part of the key"
            )
    of_indexes = {name for key in schema.indexes.values() for name in key}
    for path in expressions.paths():
        name = path.parts[0]
        if len(path.parts) > 1 and (name in schema.key or name in of_indexes):
            raise RefusedError(
                "Key attributes must be scalars; list random access '[]' and map lookup '.' are "
                f"not allowed: {'Key' if name in schema.key else 'IndexKey'}: {name}"
            )
