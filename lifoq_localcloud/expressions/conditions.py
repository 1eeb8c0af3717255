"""Conditions and filters: held against DynamoDB's rules for functions and operands, and evaluated.

``read`` returns a condition whose names and values are put in; ``holds`` asks it of an item.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from lifoq_localcloud.expressions import documents, grammar, tree
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
from lifoq_localcloud.expressions.tree import (
    Both,
    Call,
    Condition,
    Not,
    Operand,
    Operation,
    Path,
    atoms,
)
from lifoq_localcloud.tables.order import sort_value

_COUNTS: Final = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}
"""The operands of each function."""
_OF_UPDATES: Final = {"if_not_exists", "list_append"}
_TYPES: Final = ("N", "BS", "L", "B", "NULL", "M", "S", "SS", "NS", "BOOL")
_NO_SIZE: Final = {"N", "BOOL", "NULL"}
_STARTS: Final = {"S", "B"}
_MOST_CHOICES: Final = 100


def read(text: str, names: Names) -> Condition:
    """Return a condition. Raises UnreadableError or UndefinedError."""
    condition = grammar.condition(text)
    _check_functions(condition)
    return _put_in(condition, names)


def holds(condition: Any, item: Item) -> bool:
    """Return True if the condition holds for an item. An item that is not there is empty."""
    if isinstance(condition, Both):
        left = holds(condition.left, item)
        if left == (condition.operator == "OR"):
            return left
        return holds(condition.right, item)
    if isinstance(condition, Not):
        return not holds(condition.condition, item)
    operands = [_value(operand, item) for operand in condition.operands]
    if isinstance(condition, Call):
        return _FUNCTIONS[condition.function](*operands)
    return compared(condition.operator, operands)


def compared(operator: str, values: list[Value | None]) -> bool:
    """Return True if a comparison holds. A value that is not there is equal to nothing."""
    first, others = values[0], values[1:]
    if operator == "<>":
        return first is None or others[0] is None or not documents.same(first, others[0])
    if first is None:
        return False
    if operator in {"=", "IN"}:
        return any(one is not None and documents.same(first, one) for one in others)
    if operator == "BETWEEN":
        low, high = others
        return _ordered(">=", first, low) and _ordered("<=", first, high)
    return _ordered(operator, first, others[0])


def paths(condition: Condition) -> Iterator[Path]:
    """Yield each path of a condition."""
    for atom in atoms(condition):
        yield from tree.paths(atom.operands)


def _ordered(operator: str, one: Value, other: Value | None) -> bool:
    if other is None or documents.kind_of(one) != documents.kind_of(other):
        return False
    if documents.kind_of(one) not in documents.ORDERED:
        return False
    mine, theirs = sort_value(one), sort_value(other)
    match operator:
        case "<":
            return bool(mine < theirs)
        case "<=":
            return bool(mine <= theirs)
        case ">":
            return bool(mine > theirs)
    return bool(mine >= theirs)


def _value(operand: Any, item: Item) -> Value | None:
    if isinstance(operand, Literal):
        return operand.value
    if isinstance(operand, Path):
        return documents.at(item, operand)
    of = _value(operand.operands[0], item)  # size alone is an operand
    size = None if of is None else documents.size(of)
    return None if size is None else {"N": str(size)}


_FUNCTIONS: Final[dict[str, Callable[..., bool]]] = {
    "attribute_exists": lambda value: value is not None,
    "attribute_not_exists": lambda value: value is None,
    "attribute_type": lambda value, kind: value is not None and kind["S"] in value,
    "begins_with": lambda value, start: (
        value is not None and start is not None and documents.begins_with(value, start)
    ),
    "contains": lambda value, part: (
        value is not None and part is not None and documents.contains(value, part)
    ),
}
"""The functions, each of its operands' values, of which any may be None."""


# ── Rules that need the text alone ──


def _check_functions(condition: Condition) -> None:
    """Refuse unknown functions, functions that are no conditions or no operands, and words that
    are no names."""
    if isinstance(condition, Call) and condition.function == "size":
        raise _misused("size")
    if isinstance(condition, Not):
        _check_functions(condition.condition)
    elif isinstance(condition, Both):
        for one in (condition.left, condition.right):
            _check_functions(one)
    elif isinstance(condition, Call):
        _check_call(condition)
    else:
        _check_operands(condition.operands)


def _check_call(call: Call) -> None:
    if call.function in _OF_UPDATES:
        raise UnreadableError(
            f"The function is not allowed in a condition expression; function: {call.function}"
        )
    if call.function not in _COUNTS:
        raise UnreadableError(f"Invalid function name; function: {call.function}")
    _check_operands(call.operands)


def _check_operands(operands: tuple[Operand, ...]) -> None:
    for operand in operands:
        if not isinstance(operand, Call):
            check_names(operand)
            continue
        if operand.function in _COUNTS and operand.function != "size":
            raise _misused(operand.function)
        _check_call(operand)


def _misused(function: str) -> UnreadableError:
    return UnreadableError(
        f"The function is not allowed to be used this way in an expression; function: {function}"
    )


# ── Rules that need names and values ──


def _put_in(condition: Condition, names: Names) -> Condition:
    if isinstance(condition, Not):
        return Not(_put_in(condition.condition, names))
    if isinstance(condition, Both):
        left, right = (_put_in(one, names) for one in (condition.left, condition.right))
        return Both(condition.operator, left, right)
    if isinstance(condition, Call):
        return _call(condition, names)
    operands: tuple[Any, ...] = _operands(condition.operands, names)
    if condition.operator == "BETWEEN":
        _check_kinds("BETWEEN", operands, documents.ORDERED)
    check_distinct(condition.operator, operands)
    if condition.operator == "BETWEEN":
        _check_bounds(*operands[1:])
    elif condition.operator == "IN":
        if len(operands) - 1 > _MOST_CHOICES:
            told = f"number of operands: {len(operands) - 1}"
            raise UnreadableError(f"The IN operator is provided with too many operands; {told}")
    elif condition.operator not in {"=", "<>"}:
        _check_kinds(condition.operator, operands, documents.ORDERED)
    return Operation(condition.operator, operands)


def _operands(operands: tuple[Operand, ...], names: Names) -> tuple[Any, ...]:
    return tuple(
        _call(operand, names) if isinstance(operand, Call) else resolved(operand, names)
        for operand in operands
    )


def _call(call: Call, names: Names) -> Call:
    operands = _operands(call.operands, names)
    check_count(call.function, operands, _COUNTS[call.function])
    check_distinct(call.function, operands)
    first = operands[0]
    match call.function:
        case "attribute_exists" | "attribute_not_exists":
            if not isinstance(first, Path):
                raise UnreadableError(
                    "Operator or function requires a document path; operator or function: "
                    f"{call.function}"
                )
        case "size":
            if kinds(first) & _NO_SIZE == kinds(first):
                raise wrong_type("size", first)
        case "begins_with":
            _check_kinds("begins_with", operands, _STARTS)
        case "attribute_type":
            _check_type_name(operands[1])
    return Call(call.function, operands)


def _check_type_name(operand: Any) -> None:
    if not isinstance(operand, Literal) or operand.kind != "S":
        raise wrong_type("attribute_type", operand)
    if operand.value["S"] not in _TYPES:
        raise UnreadableError(
            f"Invalid attribute type name found; type: {operand.value['S']}, valid types: "
            f"{{{','.join(_TYPES)}}}"
        )


def _check_kinds(operator: str, operands: tuple[Any, ...], wanted: set[str]) -> None:
    for operand in operands:
        if not kinds(operand) & wanted:
            raise wrong_type(operator, operand)


def _check_bounds(low: Any, high: Any) -> None:
    if not isinstance(low, Literal) or not isinstance(high, Literal):
        return
    bounds = f"lower bound operand: {low}, upper bound operand: {high}"
    if low.kind != high.kind:
        raise UnreadableError(
            "The BETWEEN operator requires same data type for lower and upper bounds; " + bounds
        )
    if sort_value(low.value) > sort_value(high.value):
        raise UnreadableError(
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
            + bounds
        )
