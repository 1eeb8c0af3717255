"""Tokens that say where a list goes on. Those of moto are numbers; it fails at any other."""

from collections.abc import Mapping
from typing import Any, Final

from moto.cloudformation.models import cloudformation_backends

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.service_rules.refused import RefusedError

_CODES: Final[Mapping[tuple[str, str], str]] = {
    ("cloudformation", "NextToken"): "ValidationError",
    ("iam", "Marker"): "ValidationError",
    ("sns", "NextToken"): "InvalidParameter",
    ("ssm", "NextToken"): "InvalidNextToken",
}
"""Codes of a service for a token that it has not given, by service and parameter."""
_BY_NAME: Final = {"ListStackResources", "DescribeStackEvents", "ListStacks"}
"""Operations whose tokens moto takes as they are."""


def check(service: str, operation: str, asked: dict[str, Any]) -> None:
    """Raise RefusedError for a token that no answer has had."""
    for name in ("NextToken", "Marker"):
        token, code = asked.get(name), _CODES.get((service, name))
        if code is not None and token and not _known(operation, token):
            raise RefusedError(code, f"The value of {name} is not valid: {token}")


def _known(operation: str, token: str) -> bool:
    if operation == "DescribeStacks":  # a page begins behind a stack
        stacks = cloudformation_backends[ACCOUNT][REGION].stacks.values()
        return any(one.stack_id == token for one in list(stacks))
    return operation in _BY_NAME or token.isdecimal()
