"""Which task types are a worker's own; the others it passes over, for workers that know them."""

from dataclasses import dataclass
from typing import Final

from lifoq.errors import InvalidInput
from lifoq.items.change import Condition, Not, OneOf
from lifoq.items.schema import Attribute

MOST: Final = 100
"""Types that one query can name
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html)."""


@dataclass(frozen=True, kw_only=True)
class Types:
    """By default all types. Raises InvalidInput."""

    only: frozenset[str] | None = None
    elsewhere: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name, types in (("only", self.only or ()), ("elsewhere", self.elsewhere)):
            if len(types) > MOST:
                problem = f"are {len(types)} task types, {MOST} at the most; use another queue"
                raise InvalidInput(name, sorted(types), problem)

    def has(self, task_type: str) -> bool:
        """Whether a task of this type is one of its own."""
        return (self.only is None or task_type in self.only) and task_type not in self.elsewhere

    @property
    def where(self) -> tuple[Condition, ...]:
        """What holds for rows of its own tasks."""
        own = () if self.only is None else (OneOf(Attribute.TASK_TYPE, self.only),)
        others = OneOf(Attribute.TASK_TYPE, self.elsewhere)
        return (*own, Not(others)) if self.elsewhere else own
