"""The expressions of a request, or of one part of a batch or a transaction, read all at once."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from lifoq_localcloud.expressions import conditions, key_conditions, projections, updates
from lifoq_localcloud.expressions.grammar import UnreadableError
from lifoq_localcloud.expressions.key_conditions import KeyCondition
from lifoq_localcloud.expressions.names import Names, UndefinedError
from lifoq_localcloud.expressions.projections import Paths
from lifoq_localcloud.expressions.tree import Condition, Path
from lifoq_localcloud.expressions.updates import Update
from lifoq_localcloud.table_rules.refused import RefusedError

_CONDITION: Final = "ConditionExpression"
_EXPRESSIONS: Final = {
    "PutItem": (_CONDITION,),
    "DeleteItem": (_CONDITION,),
    "UpdateItem": ("UpdateExpression", _CONDITION),
    "GetItem": ("ProjectionExpression",),
    "BatchGetItem": ("ProjectionExpression",),
    "Query": ("FilterExpression", "KeyConditionExpression", "ProjectionExpression"),
    "Scan": ("FilterExpression", "ProjectionExpression"),
    "Put": (_CONDITION,),
    "Delete": (_CONDITION,),
    "Update": ("UpdateExpression", _CONDITION),
    "ConditionCheck": (_CONDITION,),
    "Get": ("ProjectionExpression",),
}
"""The expressions of each operation, and of each member of a transaction, in DynamoDB's order."""

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
_FORMS: Final = {_NAMES: re.compile(r"#[A-Za-z0-9_]+"), _VALUES: re.compile(r":[A-Za-z0-9_]+")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expressions:
    """The expressions of a request; None where there is none."""

    condition: Condition | None = None
    update: Update | None = None
    projection: Paths | None = None
    filter: Condition | None = None
    key: dict[str, KeyCondition] | None = None

    def paths(self) -> Iterator[Path]:
        """Yield each path, of all but the key condition, which has none."""
        for condition in (self.condition, self.filter):
            if condition is not None:
                yield from conditions.paths(condition)
        yield from self.projection or ()
        if self.update is not None:
            yield from self.update.all_paths()


def read(operation: str, request: dict[str, Any]) -> Expressions:
    """Return the expressions of a request. Raises RefusedError for what DynamoDB cannot read."""
    expressions = _EXPRESSIONS.get(operation, ())
    given = _given(operation, request)
    _check_use(expressions, given, request)
    if not given:
        return Expressions()
    takes_values = expressions != ("ProjectionExpression",)
    names = Names(request.get(_NAMES), request.get(_VALUES) if takes_values else None)
    found = {name: _read(name, text, names) for name, text in given.items()}
    names.check_used()
    key: Condition | None = found.get("KeyConditionExpression")
    return Expressions(
        condition=found.get(_CONDITION),
        update=found.get("UpdateExpression"),
        projection=found.get("ProjectionExpression"),
        filter=found.get("FilterExpression"),
        key=None if key is None else key_conditions.read(key),
    )


def _read(name: str, text: str, names: Names) -> Any:
    try:
        return _READERS.get(name, conditions.read)(text, names)
    except (UnreadableError, UndefinedError) as error:
        raise RefusedError(f"Invalid {name}: {error}") from error


_READERS: Final[dict[str, Callable[[str, Names], Any]]] = {
    "UpdateExpression": updates.read,
    "ProjectionExpression": projections.read,
}
"""The readers of the expressions that are no conditions."""


def _given(operation: str, request: dict[str, Any]) -> dict[str, str]:
    """Return the expressions of a request by the names of their parameters."""
    names = _EXPRESSIONS.get(operation, ())
    return {name: request[name] for name in names if request.get(name) is not None}


def check_mixture(operation: str, request: dict[str, Any]) -> None:
    """Raise RefusedError where expressions stand beside the parameters that they replaced."""
    given = _given(operation, request)
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
    if with_values and values is not None and not any(name in given for name in with_values):
        verb = "are" if len(with_values) > 1 else "is"
        raise RefusedError(
            f"{_VALUES} can only be specified when using expressions: "
            f"{' and '.join(with_values)} {verb} null"
        )
    for parameter, entries in ((_NAMES, names), (_VALUES, values if with_values else None)):
        if entries is not None and not entries:
            raise RefusedError(f"{parameter} must not be empty")
        for key in entries or ():
            if not _FORMS[parameter].fullmatch(key):
                raise RefusedError(f'{parameter} contains invalid key: Syntax error; key: "{key}"')
