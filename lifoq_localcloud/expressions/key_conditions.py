"""Key conditions: one partition, and bounds within it."""

from dataclasses import dataclass
from typing import Any, Final

from lifoq_localcloud.expressions.documents import Value
from lifoq_localcloud.expressions.names import Literal
from lifoq_localcloud.expressions.tree import Both, Call, Condition, Not, Operation, Path
from lifoq_localcloud.table_rules.refused import RefusedError

_MIRRORED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """The condition on one key attribute. ``operator``: a comparator, BETWEEN or begins_with."""

    name: str
    operator: str
    values: tuple[Value, ...]


def read(condition: Condition) -> dict[str, KeyCondition]:
    """Return the conditions by their attributes. Raises RefusedError."""
    found: dict[str, KeyCondition] = {}
    for atom in _joined(condition):
        one = _key_condition(atom)
        if one.name in found:
            raise RefusedError("KeyConditionExpressions must only contain one condition per key")
        found[one.name] = one
    return found


def _joined(condition: Any) -> list[Call | Operation]:
    if isinstance(condition, Both) and condition.operator == "AND":
        return [*_joined(condition.left), *_joined(condition.right)]
    if isinstance(condition, Not | Both):
        operator = "NOT" if isinstance(condition, Not) else condition.operator
        raise RefusedError(f"Invalid operator used in KeyConditionExpression: {operator}")
    return [condition]


def _key_condition(atom: Call | Operation) -> KeyCondition:
    operator = atom.function if isinstance(atom, Call) else atom.operator
    if operator in {"IN", "<>"} or (isinstance(atom, Call) and operator != "begins_with"):
        raise RefusedError(f"Invalid operator used in KeyConditionExpression: {operator}")
    operands: tuple[Any, ...] = atom.operands
    if operator not in _MIRRORED and isinstance(operands[0], Literal):
        raise RefusedError(
            f"Invalid condition in KeyConditionExpression: {operator} operator must have the key "
            "attribute as its first operand"
        )
    path = _only_path(operands)
    if not isinstance(operands[0], Path):
        operator = _MIRRORED[operator]
    values = tuple(one.value for one in operands if isinstance(one, Literal))
    return KeyCondition(str(path.parts[0]), operator, values)


def _only_path(operands: tuple[Any, ...]) -> Path:
    found: Path | None = None
    for one in operands:
        if isinstance(one, Call):
            raise RefusedError("KeyConditionExpressions cannot contain nested operations")
        if not isinstance(one, Path):
            continue
        if found is not None:
            raise RefusedError(
                "Invalid condition in KeyConditionExpression: Multiple attribute names used in one "
                "condition"
            )
        if len(one.parts) > 1:
            raise RefusedError(
                "KeyConditionExpressions cannot have conditions on nested attributes"
            )
        found = one
    if found is None:
        raise RefusedError(
            "Invalid condition in KeyConditionExpression: No key attribute specified"
        )
    return found
