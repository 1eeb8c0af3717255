"""The rules for a request, in DynamoDB's order."""

from typing import Any

from lifoq_localcloud.table_rules import (
    constraints,
    creation,
    expressions,
    keys,
    legacy,
    queries,
    resource_names,
    values,
)
from lifoq_localcloud.table_rules.keys import Schemas


def apply(operation: str, request: dict[str, Any], schemas: Schemas) -> bool:
    """Raise RefusedError for what DynamoDB refuses, before anything is written.

    Write numbers as DynamoDB stores them, and older parameters as moto understands them. Return
    True if the request has changed.
    """
    constraints.check(operation, request)
    creation.check(operation, request)
    resource_names.check(operation, request)
    values.check(operation, request)
    expressions.check(operation, request)
    changed = values.rewrite(operation, request)  # keys are compared as they are stored
    keys.check(operation, request, schemas)
    queries.check(operation, request, schemas)
    return legacy.rewrite(request) or changed
