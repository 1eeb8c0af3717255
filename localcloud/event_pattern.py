"""EventBridge's event patterns, as event source mappings use them to filter records.

https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html
"""

from collections.abc import Mapping
from typing import Any

_ABSENT = object()


class UnsupportedPatternError(ValueError):
    """A pattern that this cloud cannot judge."""


def matches(pattern: Mapping[str, Any], event: Any) -> bool:
    """Whether every field of the pattern finds what it asks for in the event."""
    for name, wanted in pattern.items():
        if name == "$or":
            if not any(matches(one, event) for one in wanted):
                return False
            continue
        value = event.get(name, _ABSENT) if isinstance(event, Mapping) else _ABSENT
        if isinstance(wanted, Mapping):
            # A field that is not there can still satisfy {"exists": false} further down.
            if not matches(wanted, {} if value is _ABSENT else value):
                return False
        elif not any(_accepts(rule, value) for rule in wanted):
            return False
    return True


def _accepts(rule: Any, value: Any) -> bool:
    if isinstance(value, list):
        return any(_accepts(rule, one) for one in value)
    if not isinstance(rule, Mapping):
        return value is not _ABSENT and type(value) is type(rule) and bool(value == rule)
    ((operator, operand),) = rule.items()
    if operator == "exists":
        is_leaf = value is not _ABSENT and not isinstance(value, Mapping)
        return is_leaf == bool(operand)
    if value is _ABSENT:
        return False
    if operator not in _COMPARISONS:
        raise UnsupportedPatternError(f"The event pattern's operator {operator} is not supported.")
    return bool(_COMPARISONS[operator](operand, value))


def _anything_but(operand: Any, value: Any) -> bool:
    if isinstance(operand, Mapping):
        return not _accepts(operand, value)
    return value not in (operand if isinstance(operand, list) else [operand])


def _equals_ignoring_case(operand: Any, value: Any) -> bool:
    return isinstance(value, str) and value.lower() == operand.lower()


def _numeric(operand: list[Any], value: Any) -> bool:
    if not isinstance(value, int | float):
        return False
    pairs = zip(operand[::2], operand[1::2], strict=True)
    return all(_NUMERIC[sign](value, bound) for sign, bound in pairs)


_NUMERIC = {
    "=": lambda value, bound: value == bound,
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
}
_COMPARISONS = {
    "prefix": lambda operand, value: isinstance(value, str) and value.startswith(operand),
    "suffix": lambda operand, value: isinstance(value, str) and value.endswith(operand),
    "equals-ignore-case": _equals_ignoring_case,
    "anything-but": _anything_but,
    "numeric": _numeric,
}
