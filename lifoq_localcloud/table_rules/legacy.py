"""Older parameters, which moto does not heed or heeds in part, as the expressions that took their
place: ``AttributesToGet`` is a projection, ``Expected`` a condition."""

from collections.abc import Iterator
from typing import Any, Final

_COMPARED: Final = {"EQ": "=", "NE": "<>", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_CALLED: Final = {
    "NULL": "attribute_not_exists({name})",
    "NOT_NULL": "attribute_exists({name})",
    "BEGINS_WITH": "begins_with({name}, {values})",
    "CONTAINS": "contains({name}, {values})",
    "NOT_CONTAINS": "NOT contains({name}, {values})",
    "IN": "{name} IN ({values})",
}


def rewrite(request: dict[str, Any]) -> bool:
    """Turn the older parameters of a request, or of a table in a batch, into expressions.

    Return True if there was one.
    """
    changed = False
    for asked in (request, *(request.get("RequestItems") or {}).values()):
        if isinstance(asked, dict) and (attributes := asked.pop("AttributesToGet", None)):
            names = {f"#shown{place}": name for place, name in enumerate(attributes)}
            asked["ProjectionExpression"] = ", ".join(names)
            asked["ExpressionAttributeNames"] = names
            changed = True
    # The older form of an update stays moto's: it takes no expression beside it.
    if request.get("Expected") and not request.get("AttributeUpdates"):
        _rewrite_expected(request)
        changed = True
    return changed


def _rewrite_expected(request: dict[str, Any]) -> None:
    """Write what is expected of each attribute as one condition: ``#e0 = :e0v0 OR …``."""
    expected, names, values = request.pop("Expected"), {}, {}
    terms = []
    for place, (attribute, wanted) in enumerate(expected.items()):
        name = f"#e{place}"
        names[name] = attribute
        given = {f":e{place}v{n}": value for n, value in enumerate(_values(wanted))}
        values.update(given)
        terms.append(f"({_term(name, wanted, [*given])})")
    request["ConditionExpression"] = f" {request.pop('ConditionalOperator', 'AND')} ".join(terms)
    request["ExpressionAttributeNames"] = names
    if values:
        request["ExpressionAttributeValues"] = values


def _values(wanted: dict[str, Any]) -> Iterator[Any]:
    if "Value" in wanted:
        yield wanted["Value"]
    yield from wanted.get("AttributeValueList") or []


def _term(name: str, wanted: dict[str, Any], values: list[str]) -> str:
    """Return what is expected of one attribute as a part of a condition."""
    operator = wanted.get("ComparisonOperator") or ("EQ" if values else "NULL")
    if operator == "BETWEEN":
        return f"{name} BETWEEN {' AND '.join(values)}"
    if operator in _COMPARED:
        return f"{name} {_COMPARED[operator]} {values[0]}"
    return _CALLED[operator].format(name=name, values=", ".join(values))
