"""ARNs of tables: of DynamoDB's form, and of this account."""

import re
from typing import Any, Final

from lifoq_localcloud.basics.account import ACCOUNT
from lifoq_localcloud.table_rules.refused import RefusedError

_ARN: Final = re.compile(r"arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:(?P<account>\d{12}):.+")


def check(operation: str, request: dict[str, Any]) -> None:
    """Raise RefusedError for a ``ResourceArn`` that is none, or that belongs to somebody else."""
    name = request.get("ResourceArn")
    if not isinstance(name, str):
        return
    found = _ARN.fullmatch(name)
    if found is None:
        raise RefusedError(f"Invalid TableArn: {name}")
    if found["account"] != ACCOUNT:
        raise RefusedError(
            f"User: arn:aws:iam::{ACCOUNT}:root is not authorized to perform: "
            f"dynamodb:{operation} on resource: {name}",
            code="AccessDeniedException",
        )
