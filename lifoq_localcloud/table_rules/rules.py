"""The rules for a request, in DynamoDB's order."""

from typing import Any

from lifoq_localcloud.table_rules import constraints, creation, expressions, keys, queries, values
from lifoq_localcloud.table_rules.keys import Schemas


def check(operation: str, request: dict[str, Any], schemas: Schemas) -> None:
    """Raise RefusedError for what DynamoDB refuses, before anything is written."""
    constraints.check(operation, request)
    creation.check(operation, request)
    values.check(operation, request)
    expressions.check(operation, request)
    keys.check(operation, request, schemas)
    queries.check(operation, request, schemas)
