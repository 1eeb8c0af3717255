"""Tokens that say where a list goes on. Those of moto are numbers; it fails at any other."""

from collections.abc import Mapping
from typing import Any, Final

from lifoq_localcloud.service_rules.refused import RefusedError

_CODES: Final[Mapping[tuple[str, str], str]] = {
    ("cloudformation", "NextToken"): "ValidationError",
    ("iam", "Marker"): "ValidationError",
    ("sns", "NextToken"): "InvalidParameter",
    ("ssm", "NextToken"): "InvalidNextToken",
}
"""By service and parameter: what the service answers to a token that it has not given."""
_OTHERS: Final = {"DescribeStacks", "ListStackResources", "DescribeStackEvents", "ListStacks"}
"""Operations whose tokens are names."""


def check(service: str, operation: str, asked: dict[str, Any]) -> None:
    """Raise RefusedError for a token that no answer has had."""
    for name in ("NextToken", "Marker"):
        token, code = asked.get(name), _CODES.get((service, name))
        if code is not None and operation not in _OTHERS and token and not token.isdecimal():
            raise RefusedError(code, f"The value of {name} is not valid: {token}")
