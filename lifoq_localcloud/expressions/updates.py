"""Updates: held against DynamoDB's rules, and applied to an item.

All actions see the item as it was: a value is computed before anything is changed. Elements that
are set beyond a list's end are appended in their order; elements that are removed go at last.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Context, Decimal, Inexact, localcontext
from typing import Any, Final

from lifoq_localcloud.expressions import documents, grammar, projections, tree
from lifoq_localcloud.expressions.documents import Item, Value
from lifoq_localcloud.expressions.grammar import UnreadableError
from lifoq_localcloud.expressions.names import Literal, Names
from lifoq_localcloud.expressions.operands import (
    check_count,
    check_distinct,
    check_names,
    kinds,
    resolved,
    wrong_type,
)
from lifoq_localcloud.expressions.tree import Action, Call, Operand, Path, Sum
from lifoq_localcloud.table_rules import values
from lifoq_localcloud.table_rules.refused import RefusedError

_COUNT: Final = 2
"""Operands of each function of an update."""
_FUNCTIONS: Final = {"if_not_exists", "list_append"}
_OF_CONDITIONS: Final = {
    "attribute_exists",
    "attribute_not_exists",
    "attribute_type",
    "begins_with",
    "contains",
    "size",
}
_LONG_KINDS: Final = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "BOOL": "BOOLEAN",
    "NULL": "NULL",
    "L": "LIST",
    "M": "MAP",
}
_WANTED: Final = {"ADD": {"N", *documents.SETS}, "DELETE": documents.SETS}
"""The datatypes that ADD and DELETE take."""
_DIGITS: Final = Context(prec=300)
"""Enough for the sum of any two numbers that DynamoDB stores, digit by digit."""


@dataclass(frozen=True, slots=True)
class Update:
    """The actions of an update, with names and values put in."""

    actions: tuple[Action, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths that are written."""
        return tuple(action.path for action in self.actions)

    def all_paths(self) -> Iterator[Path]:
        """Yield the paths that are written, and those that are read."""
        yield from self.paths
        yield from tree.paths(tuple(action.what for action in self.actions))

    @property
    def removes_only(self) -> bool:
        """True if nothing is set: such an update makes no item."""
        return all(action.section in {"REMOVE", "DELETE"} for action in self.actions)


def read(text: str, names: Names) -> Update:
    """Return an update. Raises UnreadableError or UndefinedError."""
    found = grammar.update(text)
    for action in found.actions:
        check_names(action.path)
        if action.what is not None:
            _check_functions(action.what)
    for number, section in enumerate(found.sections):
        if section in found.sections[:number]:
            raise UnreadableError(
                f'The "{section}" section can only be used once in an update expression;'
            )
    paths = projections.apart(tuple(action.path for action in found.actions), names)
    actions = tuple(
        Action(action.section, path, _put_in(action.what, names))
        for action, path in zip(found.actions, paths, strict=True)
    )
    for action in actions:
        _check_kind(action)
    return Update(actions)


def _check_functions(what: Operand | Sum, outer: str = "") -> None:
    """Refuse unknown functions, and functions that are no operands where they stand."""
    if isinstance(what, Sum):
        for operand in what.operands:
            _check_functions(operand, what.operator)
        return
    if not isinstance(what, Call):
        check_names(what)
        return
    if what.function in _OF_CONDITIONS:
        raise UnreadableError(
            f"The function is not allowed in an update expression; function: {what.function}"
        )
    if what.function not in _FUNCTIONS:
        raise UnreadableError(f"Invalid function name; function: {what.function}")
    if outer and what.function == "list_append":
        raise UnreadableError(
            "The function is not allowed to be used this way in an expression; function: "
            f"{what.function}"
        )
    for operand in what.operands:
        _check_functions(operand, what.function)


def _put_in(what: Any, names: Names) -> Any:
    """Return what is assigned, added or deleted, with its names and values."""
    if what is None:
        return None
    if not isinstance(what, Sum | Call):
        return resolved(what, names)
    operands = tuple(_put_in(operand, names) for operand in what.operands)
    return replace(what, operands=operands)


def _check_kind(action: Action) -> None:
    """Refuse operands of a datatype that does not fit."""
    what: Any = action.what
    if action.section == "SET":
        _check_assigned(what)
    elif what is not None and what.kind not in _WANTED[action.section]:
        raise UnreadableError(
            f"Incorrect operand type for operator or function; operator: {action.section}, "
            f"operand type: {_LONG_KINDS[what.kind]}, typeSet: "
            f"ALLOWED_FOR_{action.section}_OPERAND"
        )


def _check_assigned(what: Any) -> None:
    if isinstance(what, Sum):
        _check_kinds(what.operator, what.operands, "N")
    elif isinstance(what, Call):
        check_count(what.function, what.operands, _COUNT)
        if what.function == "list_append":
            _check_kinds("list_append", what.operands, "L")
        elif not isinstance(what.operands[0], Path):
            raise UnreadableError(
                "Operator or function requires a document path; operator or function: "
                f"{what.function}"
            )
        else:
            check_distinct(what.function, what.operands)
    for operand in what.operands if isinstance(what, Sum | Call) else ():
        _check_assigned(operand)


def _check_kinds(operator: str, operands: tuple[Any, ...], wanted: str) -> None:
    for operand in operands:
        if isinstance(operand, Literal) and wanted not in kinds(operand):
            raise wrong_type(operator, operand)


# ── Applied ──


def apply(update: Update, item: Item) -> Item:
    """Return the item as it is afterwards. Raises RefusedError for what does not fit the item."""
    changed = copy.deepcopy(item)
    changes = [_Change(action, _new_value(action, item)) for action in update.actions]
    removed: list[_Change] = []
    # Elements beyond a list's end are appended from the lowest index to the highest.
    for change in sorted(changes, key=_place):
        if change.value is None:
            removed.append(change)
        else:
            _set(changed, change)
    # From the highest index to the lowest: those before it stay where they are.
    for change in sorted(removed, key=_place, reverse=True):
        _remove(changed, change.action.path, item)
    return changed


@dataclass(frozen=True, slots=True)
class _Change:
    """An action, and the value that it leaves at its path; None if it leaves none."""

    action: Action
    value: Value | None


def _place(change: _Change) -> tuple[Any, ...]:
    """Return the path's parts: two paths have names, or indexes, where they differ."""
    return change.action.path.parts


def _new_value(action: Action, item: Item) -> Value | None:
    _parent(item, action.path)
    what: Any = action.what
    old = documents.at(item, action.path)
    match action.section:
        case "SET":
            return _computed(what, item)
        case "ADD":
            return what.value if old is None else _added(old, what.value)
        case "DELETE":
            return None if old is None else _without(old, what.value)
    return None


def _computed(what: Any, item: Item) -> Value:
    """Return the value that SET assigns."""
    if isinstance(what, Literal):
        return what.value
    if isinstance(what, Path):
        found = documents.at(item, what)
        if found is None:
            raise RefusedError(
                "The provided expression refers to an attribute that does not exist in the item"
            )
        return found
    if isinstance(what, Call) and what.function == "if_not_exists":
        path, other = what.operands
        # DynamoDB computes the other value also where it is not needed, and refuses what it lacks.
        otherwise = _computed(other, item)
        found = documents.at(item, path)  # type: ignore[arg-type] # checked to be a path
        return otherwise if found is None else found
    kind = "L" if isinstance(what, Call) else "N"
    first, second = (_of_kind(kind, _computed(operand, item)) for operand in what.operands)
    return {"L": [*first, *second]} if kind == "L" else _sum(first, second, what.operator)


def _of_kind(kind: str, value: Value) -> Any:
    if kind not in value:
        raise RefusedError("An operand in the update expression has an incorrect data type")
    return value[kind]


def _sum(one: str, other: str, operator: str) -> Value:
    with localcontext(_DIGITS) as context:
        context.traps[Inexact] = True
        found = Decimal(one) + Decimal(other) if operator == "+" else Decimal(one) - Decimal(other)
    return {"N": values.as_stored(str(found))}


def _added(old: Value, more: Value) -> Value:
    kind = documents.kind_of(more)
    mine, theirs = _of_kind(kind, old), more[kind]
    if kind == "N":
        return _sum(mine, theirs, "+")
    return {kind: [*mine, *(one for one in theirs if one not in mine)]}


def _without(old: Value, less: Value) -> Value | None:
    """Return a set without some members; None for a set that would be empty."""
    kind = documents.kind_of(less)
    left = [one for one in _of_kind(kind, old) if one not in less[kind]]
    return {kind: left} if left else None


def _parent(item: Item, path: Path) -> Value:
    """Return the map or the list that a path's last part is in."""
    found = documents.at(item, Path(path.parts[:-1]))
    wanted = "L" if isinstance(path.parts[-1], int) else "M"
    if found is None or wanted not in found:
        raise RefusedError(
            "The document path provided in the update expression is invalid for update"
        )
    return found


def _set(item: Item, change: _Change) -> None:
    parent = _parent(item, change.action.path)
    last = change.action.path.parts[-1]
    value = copy.deepcopy(change.value)
    if isinstance(last, int):
        parent["L"][last : last + 1] = [value]  # at the end, where the index lies beyond it
    else:
        parent["M"][last] = value


def _remove(item: Item, path: Path, before: Item) -> None:
    """Take away what was there before; an element that was appended stays."""
    if documents.at(before, path) is None:
        return
    parent, last = _parent(item, path), path.parts[-1]
    if isinstance(last, int):
        del parent["L"][last]
    else:
        del parent["M"][last]
