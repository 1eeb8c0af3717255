"""Older parameters, from before expressions, as the expressions that took their place.

``AttributesToGet`` is a projection, ``Expected`` a condition; ``QueryFilter`` and ``ScanFilter``
are filters; ``KeyConditions`` is a key condition, ``AttributeUpdates`` an update.
"""

from collections.abc import Iterator
from typing import Any, Final

from lifoq_localcloud.table_rules.refused import RefusedError, invalid
from lifoq_localcloud.tables.order import sort_value

_COMPARED: Final = {"EQ": "=", "NE": "<>", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_CALLED: Final = {
    "NULL": "attribute_not_exists({name})",
    "NOT_NULL": "attribute_exists({name})",
    "BEGINS_WITH": "begins_with({name}, {values})",
    "CONTAINS": "contains({name}, {values})",
    "NOT_CONTAINS": "NOT contains({name}, {values})",
    "IN": "{name} IN ({values})",
}
_COUNTS: Final = {"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2}
"""Numbers of values that operators take; IN takes any number, and others take one."""
_SETS: Final = ("SS", "NS", "BS")
_SCALARS: Final = ("S", "N", "B")
_KINDS: Final = {
    "LE": _SCALARS,
    "LT": _SCALARS,
    "GE": _SCALARS,
    "GT": _SCALARS,
    "BETWEEN": _SCALARS,
    "IN": _SCALARS,
    "CONTAINS": _SCALARS,
    "NOT_CONTAINS": _SCALARS,
    "BEGINS_WITH": ("S", "B"),
}
"""The datatypes that an operator compares; the others compare all."""
_CONDITIONS: Final = {
    "Expected": "ConditionExpression",
    "QueryFilter": "FilterExpression",
    "ScanFilter": "FilterExpression",
    "KeyConditions": "KeyConditionExpression",
}
_ADDABLE: Final = ("N", "L", *_SETS)


class _Written:
    """The expressions of one request as they are written, with their names and values."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def name(self, attribute: str) -> str:
        """Return a placeholder for an attribute."""
        placeholder = f"#n{len(self.names)}"
        self.names[placeholder] = attribute
        return placeholder

    def value(self, value: Any) -> str:
        """Return a placeholder for a value."""
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder


def rewrite(asked: dict[str, Any]) -> None:
    """Turn the older parameters of a request, or of a table in a batch, into expressions.

    Raises RefusedError for those that are wrong.
    """
    written = _Written()
    joined = asked.pop("ConditionalOperator", None)
    if joined is not None:
        _check_joined(asked)
    if (attributes := asked.pop("AttributesToGet", None)) is not None:
        asked["ProjectionExpression"] = _projection(attributes, written)
    for parameter, expression in _CONDITIONS.items():
        if expected := asked.pop(parameter, None):
            operator = " AND " if parameter == "KeyConditions" else f" {joined or 'AND'} "
            terms = [
                f"({_term(parameter, name, wanted, written)})" for name, wanted in expected.items()
            ]
            asked[expression] = operator.join(terms)
    if changed := asked.pop("AttributeUpdates", None):
        asked["UpdateExpression"] = _update(changed, written)
    if written.names:
        asked["ExpressionAttributeNames"] = written.names
    if written.values:
        asked["ExpressionAttributeValues"] = written.values


def _check_joined(asked: dict[str, Any]) -> None:
    filters = [name for name in ("Expected", "QueryFilter", "ScanFilter") if asked.get(name)]
    if not filters:
        raise RefusedError("ConditionalOperator cannot be used without Filter or Expected")
    if len(asked[filters[0]]) == 1:
        raise RefusedError(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )


def _projection(attributes: list[str], written: _Written) -> str:
    for place, name in enumerate(attributes):
        if name in attributes[:place]:
            raise invalid(f"Duplicate value in attribute name: {name}")
    return ", ".join(map(written.name, attributes))


def _term(parameter: str, attribute: str, wanted: dict[str, Any], written: _Written) -> str:
    """Return what is expected of one attribute as a part of a condition."""
    given = [*_values(wanted)]
    operator = wanted.get("ComparisonOperator")
    if operator is None:
        _check_plain(attribute, wanted)
        operator = "EQ" if given else "NULL"
    else:
        _check_term(attribute, wanted, operator, given, parameter)
    name, values = written.name(attribute), [*map(written.value, given)]
    if operator == "BETWEEN":
        return f"{name} BETWEEN {' AND '.join(values)}"
    if operator in _COMPARED:
        return f"{name} {_COMPARED[operator]} {values[0]}"
    return _CALLED[operator].format(name=name, values=", ".join(values))


def _values(wanted: dict[str, Any]) -> Iterator[Any]:
    if wanted.get("Value") is not None:
        yield wanted["Value"]
    yield from wanted.get("AttributeValueList") or []


def _check_plain(attribute: str, wanted: dict[str, Any]) -> None:
    """Refuse what does not fit together where there is no operator."""
    exists, has_value = wanted.get("Exists"), wanted.get("Value") is not None
    if wanted.get("AttributeValueList") is not None:
        raise invalid(
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: "
            f"{attribute}"
        )
    if exists is not False and not has_value:
        told = "null" if exists is None else "true"
        raise invalid(f"Value must be provided when Exists is {told} for Attribute: {attribute}")
    if exists is False and has_value:
        raise invalid(f"Value cannot be used when Exists is false for Attribute: {attribute}")


def _check_term(
    attribute: str, wanted: dict[str, Any], operator: str, given: list[Any], parameter: str
) -> None:
    """Refuse an operator with the wrong number or datatype of values."""
    if wanted.get("Exists") is not None:
        raise invalid(
            f"Exists and ComparisonOperator cannot be used together for Attribute: {attribute}"
        )
    if wanted.get("Value") is not None and wanted.get("AttributeValueList") is not None:
        raise invalid(
            f"Value and AttributeValueList cannot be used together for Attribute: {attribute}"
        )
    count = _COUNTS.get(operator, 1)
    if parameter == "Expected" and count and not given:
        raise invalid(
            f"Value or AttributeValueList must be used with ComparisonOperator: {operator} for "
            f"Attribute: {attribute}"
        )
    if len(given) != count and not (operator == "IN" and given):
        raise invalid(f"Invalid number of argument(s) for the {operator} ComparisonOperator")
    kinds = [next(iter(value)) for value in given]
    if len(set(kinds)) > 1:
        raise invalid("AttributeValues inside AttributeValueList must be of same type")
    if kinds and kinds[0] not in _KINDS.get(operator, kinds):
        raise invalid(
            f"ComparisonOperator {operator} is not valid for {kinds[0]} AttributeValue type"
        )
    if operator == "BETWEEN" and sort_value(given[0]) > sort_value(given[1]):
        raise RefusedError(
            "The BETWEEN condition was provided a range where the lower bound is greater than the "
            "upper bound"
        )


def _update(changed: dict[str, Any], written: _Written) -> str:
    """Return an update with a section for each kind of action."""
    sections: dict[str, list[str]] = {}
    for attribute, wanted in changed.items():
        value, action = wanted.get("Value"), wanted.get("Action") or "PUT"
        name = written.name(attribute)
        if value is None:
            if action != "DELETE":
                raise invalid("Only DELETE action is allowed when no attribute value is specified")
            sections.setdefault("REMOVE", []).append(name)
            continue
        _check_action(action, next(iter(value)))
        given = written.value(value)
        if action == "PUT":
            sections.setdefault("SET", []).append(f"{name} = {given}")
        elif action == "ADD" and "L" in value:
            old = f"if_not_exists({name}, {written.value({'L': []})})"
            sections.setdefault("SET", []).append(f"{name} = list_append({old}, {given})")
        else:
            sections.setdefault(action, []).append(f"{name} {given}")
    return " ".join(f"{section} {', '.join(parts)}" for section, parts in sections.items())


def _check_action(action: str, kind: str) -> None:
    if action == "DELETE" and kind not in _SETS:
        raise invalid(f"DELETE action with value is not supported for the type {kind}")
    if action == "ADD" and kind not in _ADDABLE:
        raise invalid(f"ADD action is not supported for the type {kind}")
