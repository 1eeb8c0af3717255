"""The parts of an expression, as its text alone tells them."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Path:
    """A document path: ``m.#a[0]`` has the parts ``m``, ``#a`` and 0."""

    parts: tuple[str | int, ...]

    def __str__(self) -> str:
        told = (f"[{part}]" if isinstance(part, int) else part for part in self.parts)
        return f"[{', '.join(told)}]"


@dataclass(frozen=True, slots=True)
class Value:
    """A value by its placeholder, such as ``:v``."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its operands."""

    function: str
    operands: "tuple[Operand, ...]"


Operand = Path | Value | Call


@dataclass(frozen=True, slots=True)
class Operation:
    """``=``, ``<``, ``BETWEEN`` or ``IN`` with its operands."""

    operator: str
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A condition that must not hold."""

    condition: "Condition"


@dataclass(frozen=True, slots=True)
class Both:
    """Conditions joined by AND or OR."""

    operator: str
    left: "Condition"
    right: "Condition"


Condition = Call | Operation | Not | Both


@dataclass(frozen=True, slots=True)
class Sum:
    """``+`` or ``-`` with its operands: what SET may assign beside an operand."""

    operator: str
    operands: tuple[Operand, Operand]


@dataclass(frozen=True, slots=True)
class Action:
    """One part of an update: of SET, ADD, DELETE (with what) or REMOVE (without)."""

    section: str
    path: Path
    what: Operand | Sum | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """The actions of an update, and its sections in the order in which they came."""

    actions: tuple[Action, ...]
    sections: tuple[str, ...]


def atoms(condition: Condition) -> Iterator[Call | Operation]:
    """Yield the comparisons and functions of a condition, from left to right."""
    if isinstance(condition, Not):
        yield from atoms(condition.condition)
    elif isinstance(condition, Both):
        yield from atoms(condition.left)
        yield from atoms(condition.right)
    else:
        yield condition


def paths(operands: tuple[object, ...]) -> Iterator[Path]:
    """Yield each path among operands, and among theirs."""
    for operand in operands:
        if isinstance(operand, Path):
            yield operand
        elif isinstance(operand, Call | Sum):
            yield from paths(operand.operands)
