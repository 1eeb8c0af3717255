"""Items as DynamoDB's API spells them and as lifoq holds them."""

import base64
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, Final

from lifoq.items.change import is_number

LARGEST_WHOLE: Final = 10**38
"""A whole number from here on stays a Decimal: written out, it has more digits than DynamoDB
takes."""

USUAL_DIGITS: Final = 18
"""Digits of times and counts at the most: so many are read without a Decimal in between."""


def typed(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item in DynamoDB's form, each value with its type."""
    return {str(name): typed_value(value) for name, value in item.items()}


def typed_value(value: object) -> dict[str, Any]:  # noqa: PLR0911 - one for each
    """Return DynamoDB's form of a value that lifoq writes, of numbers and strings of a cursor, and
    of whatever else is moved with them."""
    if type(value) is str:  # the usual ones first: a task's two writes have some twenty
        return {"S": value}
    if type(value) is int:
        return {"N": str(value)}
    if is_number(value):
        return {"N": str(value)}
    if isinstance(value, bytes):
        return {"B": value}
    if isinstance(value, list):
        return {"L": [typed_value(inner) for inner in value]}
    if isinstance(value, dict):
        return {"M": typed(value)}
    foreign: dict[str, Any] = _boto3s()[0](value)
    return foreign


def plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item of DynamoDB's form with plain values."""
    return {name: plain_value(value) for name, value in item.items()}


def plain_value(value: Mapping[str, Any]) -> Any:
    """int for a whole number, str, bytes, lists and dicts of them; whatever else a damaged item
    holds, as boto3 reads it, which no condition and no task accepts."""
    if "S" in value:
        return value["S"]
    if "N" in value:
        return _number(value["N"])
    if "B" in value:
        return _bytes(value["B"])
    if "L" in value:
        return [plain_value(inner) for inner in value["L"]]
    if "M" in value:
        return plain(value["M"])
    return _boto3s()[1](value if "BS" not in value else {"BS": [*map(_bytes, value["BS"])]})


@cache
def _boto3s() -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return boto3's writer and reader of values."""
    from boto3.dynamodb.types import (  # noqa: PLC0415 - seldom, and long to import
        TypeDeserializer,
        TypeSerializer,
    )

    return TypeSerializer().serialize, TypeDeserializer().deserialize


def _bytes(value: bytes | str) -> bytes:
    """Base64 in an answer's own text, and read already in one that boto3 has read."""
    return base64.b64decode(value) if isinstance(value, str) else value


def _number(text: str) -> int | Decimal:
    if len(text) <= USUAL_DIGITS and text.isdigit():
        return int(text)
    number = Decimal(text)  # boto3's reader fails where there are more than 38 digits
    whole = abs(number) < LARGEST_WHOLE and number == number.to_integral_value()
    return int(number) if whole else number
