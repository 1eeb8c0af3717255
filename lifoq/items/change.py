"""One conditional write, as a value: what must hold, and what it then changes.

The transitions of a task are such values (see ``transitions``); a table applies them atomically.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, TypeGuard

from lifoq.items.schema import Attribute, Preview, Status

Value = int | str | bytes | list[Any] | dict[str, Any]
"""Lists and dicts hold such values again."""
Item = Mapping[str, Any]
"""An item as a table returns it: attribute name to value. A damaged item can hold anything that
DynamoDB can: also Decimal for a number that is not whole, None, bool, and sets."""


def is_number(value: object) -> TypeGuard[int | Decimal]:
    """True if DynamoDB takes the value for a number: ``True`` is none."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


@dataclass(frozen=True)
class Exists:
    """Holds where the item has the attribute, or its ``preview`` the field."""

    attribute: Attribute | Preview

    def holds(self, item: Item) -> bool:
        """Return True if the item has the attribute or the field."""
        if isinstance(self.attribute, Attribute):
            return self.attribute in item
        preview = item.get(Attribute.PREVIEW)
        return isinstance(preview, dict) and self.attribute in preview


@dataclass(frozen=True)
class StatusIs:
    """Holds for an item of this status."""

    status: Status

    def holds(self, item: Item) -> bool:
        """Return True if the item has the status."""
        return item.get(Attribute.TASK_STATUS) == self.status


@dataclass(frozen=True)
class StatusIn:
    """Holds for an item of one of these statuses."""

    statuses: frozenset[Status]

    def holds(self, item: Item) -> bool:
        """Return True if the item has one of the statuses."""
        status = item.get(Attribute.TASK_STATUS)
        return isinstance(status, str) and status in self.statuses


@dataclass(frozen=True)
class Equals:
    """Holds if the attribute has this value."""

    attribute: Attribute
    value: Any
    """A ``Value``, or what a damaged item holds in its place."""

    def holds(self, item: Item) -> bool:
        """Return True if the item's value is of the same type and equal."""
        value = item.get(self.attribute)
        return type(value) is type(self.value) and value == self.value


MOST_VALUES: Final = 100
"""The most values that DynamoDB compares one attribute with at a time
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html)."""


@dataclass(frozen=True)
class OneOf:
    """``values``: at most ``MOST_VALUES``, and one at least."""

    attribute: Attribute
    values: frozenset[str]

    def holds(self, item: Item) -> bool:
        """Return True if the item's value is one of the texts."""
        value = item.get(self.attribute)
        return isinstance(value, str) and value in self.values


@dataclass(frozen=True)
class GreaterThan:
    """Holds if the attribute is a number above ``value``."""

    attribute: Attribute
    value: int

    def holds(self, item: Item) -> bool:
        """Return True if the item's number is greater."""
        value = item.get(self.attribute)
        return is_number(value) and value > self.value


@dataclass(frozen=True)
class AtMost:
    """Holds if the attribute is a number of at most ``value``."""

    attribute: Attribute
    value: int

    def holds(self, item: Item) -> bool:
        """Return True if the item's number is at most as large."""
        value = item.get(self.attribute)
        return is_number(value) and value <= self.value


@dataclass(frozen=True)
class Not:
    """The opposite of a condition. It holds as well where that could not be decided: for want of
    the attribute, or of a number in it."""

    condition: AtMost | Exists | OneOf

    def holds(self, item: Item) -> bool:
        """Return True if the condition does not hold for the item."""
        return not self.condition.holds(item)


Condition = Exists | StatusIs | StatusIn | Equals | OneOf | GreaterThan | AtMost | Not
Alternatives = tuple[tuple[Condition, ...], ...]
"""Holds where all conditions of one of them hold."""


@dataclass(frozen=True, kw_only=True)
class Put:
    """A new item, written where its id is free, or where one of ``over`` holds for the item that
    has it: then that one is gone."""

    item: Item
    over: Alternatives = ()


@dataclass(frozen=True, kw_only=True)
class Change:
    """An update of one existing item, applied only where every condition in ``when`` holds."""

    when: tuple[Condition, ...]
    set: Mapping[Attribute, Value]
    creates: bool = False
    """True if the change makes the item where there is none."""
    set_once: Mapping[Attribute, Value] = field(default_factory=dict)
    """Set only where the item does not have the attribute yet."""
    increment: Attribute | None = None
    """Raised by one, from ``increment_from`` where the item does not have it yet."""
    increment_from: int = 0
    remove: tuple[Attribute, ...] = ()


class ConditionFailed(Exception):
    """The conditions did not hold; the table hands back what is there instead (None: nothing)."""

    def __init__(self, item: Item | None) -> None:
        self.item = item
        super().__init__("a condition of the write did not hold")


class TransactionRefused(Exception):
    """A transaction wrote nothing: its update's conditions did not hold, or ids were in use."""

    def __init__(
        self, *, current: Item | None, update_refused: bool, taken_ids: frozenset[str]
    ) -> None:
        self.current = current
        self.update_refused = update_refused
        self.taken_ids = taken_ids
        super().__init__("the transaction was refused")


class UnfitAttribute(Exception):
    """The item holds an attribute of a type that the change cannot work with."""
