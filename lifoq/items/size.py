"""Compute the size that DynamoDB takes an item or a transaction to have."""

from collections.abc import Mapping, Sequence
from typing import Any

from lifoq.basics import jsontext
from lifoq.errors import ItemTooLarge
from lifoq.items.change import Change, Item
from lifoq.items.schema import MAX_TRANSACTION_BYTES

NUMBER_BYTES = 12
"""Bytes of a time in microseconds: DynamoDB needs a byte for two digits, and one more."""
NESTING_BYTES = 3
"""Bytes of a list or a map, beside one byte for each element."""


def of(attributes: Mapping[Any, Any]) -> int:
    """Bytes of an item, names included."""
    return sum([jsontext.size(name) + _of_value(value) for name, value in attributes.items()])


def _of_value(value: object) -> int:
    if isinstance(value, str):
        return jsontext.size(value)
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, list):
        return NESTING_BYTES + sum(1 + _of_value(inner) for inner in value)
    if isinstance(value, dict):
        return NESTING_BYTES + len(value) + of(value)
    return NUMBER_BYTES


def check_transaction(change: Change, items: Sequence[Item]) -> None:
    """Raise ItemTooLarge where a change and new items are more than one transaction takes."""
    size = of(change.set) + sum(of(item) for item in items)
    if size > MAX_TRANSACTION_BYTES:
        raise ItemTooLarge(
            f"the outcome and its {len(items)} follow-ups are {size:,} bytes, a transaction takes "
            f"{MAX_TRANSACTION_BYTES:,}: put fewer or smaller follow-ups, or chain in levels"
        )
