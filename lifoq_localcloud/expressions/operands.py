"""Operands of conditions and updates alike: their names, and the datatypes that they may have."""

from typing import Any, Final

from lifoq_localcloud.expressions.grammar import UnreadableError
from lifoq_localcloud.expressions.names import Literal, Names
from lifoq_localcloud.expressions.reserved import RESERVED
from lifoq_localcloud.expressions.tree import Call, Operand, Path, Value

_KINDS: Final = frozenset({"S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"})


def check_names(operand: Operand) -> None:
    """Refuse a path with a word that DynamoDB keeps for itself."""
    if not isinstance(operand, Path):
        return
    for part in operand.parts:
        if isinstance(part, str) and part.upper() in RESERVED:
            raise UnreadableError(f"Attribute name is a reserved keyword; reserved keyword: {part}")


def resolved(operand: Path | Value, names: Names) -> Path | Literal:
    """Return an operand with its name or value put in. Raises UndefinedError."""
    return names.path(operand) if isinstance(operand, Path) else names.literal(operand.name)


def check_count(function: str, operands: tuple[Any, ...], wanted: int) -> None:
    """Refuse a function with more or fewer operands than it takes."""
    if len(operands) != wanted:
        raise UnreadableError(
            "Incorrect number of operands for operator or function; operator or function: "
            f"{function}, number of operands: {len(operands)}"
        )


def check_distinct(operator: str, operands: tuple[Any, ...]) -> None:
    """Refuse a path that is compared with itself."""
    first = operands[0]
    if isinstance(first, Path) and first in operands[1:]:
        raise UnreadableError(
            "The first operand must be distinct from the remaining operands for this operator or "
            f"function; operator: {operator}, first operand: {first}"
        )


def kinds(operand: Any) -> frozenset[str]:
    """Return the datatypes that an operand may have: one of a value, all of a path."""
    if isinstance(operand, Literal):
        return frozenset({operand.kind})
    return frozenset({"N"}) if isinstance(operand, Call) else _KINDS  # size is a number


def wrong_type(function: str, operand: Any) -> UnreadableError:
    """Return the refusal of an operand's datatype."""
    told = ",".join(sorted(kinds(operand)))
    if isinstance(operand, Path):
        told = f"{{{told}}}"
    return UnreadableError(
        "Incorrect operand type for operator or function; operator or function: "
        f"{function}, operand type: {told}"
    )
