"""Expressions: the names and values that they use, and what must not stand beside them.

A rule of an operation goes by its parameters that are expressions, in DynamoDB's order.
"""

import re
from typing import Any, Final

from lifoq_localcloud.table_rules.refused import RefusedError

_CONDITION: Final = "ConditionExpression"
_EXPRESSIONS: Final = {
    "PutItem": (_CONDITION,),
    "DeleteItem": (_CONDITION,),
    "UpdateItem": ("UpdateExpression", _CONDITION),
    "GetItem": ("ProjectionExpression",),
    "Query": ("FilterExpression", "KeyConditionExpression", "ProjectionExpression"),
    "Scan": ("FilterExpression", "ProjectionExpression"),
    "Put": (_CONDITION,),
    "Delete": (_CONDITION,),
    "Update": ("UpdateExpression", _CONDITION),
    "ConditionCheck": (_CONDITION,),
    "Get": ("ProjectionExpression",),
}
"""The expressions of each operation, and of each member of a transaction."""

_LEGACY: Final = (
    "AttributesToGet",
    "AttributeUpdates",
    "ConditionalOperator",
    "Expected",
    "KeyConditions",
    "QueryFilter",
    "ScanFilter",
)
"""Parameters from before there were expressions."""

_NAMES: Final = "ExpressionAttributeNames"
_VALUES: Final = "ExpressionAttributeValues"
_USED_NAME = re.compile(r"#\w+")
_USED_VALUE = re.compile(r":\w+")
_NO_TOKEN = re.compile(r"[^\w#.,\[\]\s:-]")


def check(operation: str, request: dict[str, Any]) -> None:
    """Raise RefusedError for expressions that DynamoDB cannot read, or that leave something out."""
    if operation in {"TransactWriteItems", "TransactGetItems"}:
        for one in request["TransactItems"]:
            for member, asked in one.items():
                _check(_EXPRESSIONS.get(member, ()), asked)
    elif operation == "BatchGetItem":
        for asked in request["RequestItems"].values():
            _check(("ProjectionExpression",), asked)
    else:
        _check(_EXPRESSIONS.get(operation, ()), request)
    if operation == "Scan":
        _check_segments(request)


def _check(expressions: tuple[str, ...], request: dict[str, Any]) -> None:
    if not expressions:
        return
    given = {name: request[name] for name in expressions if request.get(name) is not None}
    _check_mixture(given, request)
    _check_use(expressions, given, request)
    for name, text in given.items():
        if not text.strip():
            raise RefusedError(f"Invalid {name}: The expression can not be empty;")
    if (projection := given.get("ProjectionExpression")) and (bad := _NO_TOKEN.search(projection)):
        near = projection[max(0, bad.start() - 1) : bad.start() + 2].strip()[:2]
        raise RefusedError(
            f'Invalid ProjectionExpression: Syntax error; token: "{bad[0]}", near: "{near}"'
        )
    _check_update_begins(given)
    _check_definitions(given, request)


def _check_update_begins(given: dict[str, str]) -> None:
    words = given.get("UpdateExpression", "SET").split()
    if words[0].upper() not in {"SET", "REMOVE", "ADD", "DELETE"}:
        near = " ".join(words[:2])
        raise RefusedError(
            f'Invalid UpdateExpression: Syntax error; token: "{words[0]}", near: "{near}"'
        )


def _check_segments(request: dict[str, Any]) -> None:
    segment, total = request.get("Segment"), request.get("TotalSegments")
    if segment is not None and total is not None and segment >= total:
        raise RefusedError(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total}"
        )


def _check_mixture(given: dict[str, str], request: dict[str, Any]) -> None:
    legacy = [name for name in _LEGACY if request.get(name) is not None]
    if legacy and given:
        raise RefusedError(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(legacy)}}} "
            f"Expression parameters: {{{', '.join(sorted(given))}}}"
        )


def _check_use(
    expressions: tuple[str, ...], given: dict[str, str], request: dict[str, Any]
) -> None:
    """Names and values are given together with an expression that can use them, or not at all."""
    names, values = request.get(_NAMES), request.get(_VALUES)
    if names is not None and not given:
        raise RefusedError(f"{_NAMES} can only be specified when using expressions")
    with_values = [name for name in expressions if name != "ProjectionExpression"]
    if values is not None and not any(name in given for name in with_values):
        verb = "are" if len(with_values) > 1 else "is"
        raise RefusedError(
            f"{_VALUES} can only be specified when using expressions: "
            f"{' and '.join(with_values)} {verb} null"
        )
    for parameter, entries in ((_NAMES, names), (_VALUES, values)):
        if entries is not None and not entries:
            raise RefusedError(f"{parameter} must not be empty")
    for parameter, entries, form in (
        (_NAMES, names, _USED_NAME),
        (_VALUES, values, _USED_VALUE),
    ):
        for key in entries or ():
            if not form.fullmatch(key):
                raise RefusedError(f'{parameter} contains invalid key: Syntax error; key: "{key}"')


def _check_definitions(given: dict[str, str], request: dict[str, Any]) -> None:
    for parameter, form, noun, place in (
        (_NAMES, _USED_NAME, "name", " in the document path"),
        (_VALUES, _USED_VALUE, "value", " in expression"),
    ):
        defined = request.get(parameter) or {}
        used: set[str] = set()
        for name, text in given.items():
            found = form.findall(text)
            used.update(found)
            for one in found:
                if one not in defined:
                    raise RefusedError(
                        f"Invalid {name}: An expression attribute {noun} used{place} is not "
                        f"defined; attribute {noun}: {one}"
                    )
        if unused := [key for key in defined if key not in used]:
            raise RefusedError(
                f"Value provided in {parameter} unused in expressions: keys: "
                f"{{{', '.join(unused)}}}"
            )
