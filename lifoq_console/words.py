"""Numbers and times as a person would say them."""

import datetime as dt
import json
from typing import Any, Final

from lifoq.basics.times import spoken
from lifoq.errors import InvalidInput
from lifoq.items.packed import Large
from lifoq_cli import moments

NONE: Final = "–"
BEGINNING: Final = 120
"""Characters of a value in a list."""


def duration(seconds: float | None) -> str:
    return NONE if seconds is None else spoken(seconds)


def moment(microseconds: int | None) -> str:
    """Return a moment in UTC, to the millisecond."""
    if microseconds is None:
        return NONE
    time = dt.datetime.fromtimestamp(microseconds / 1e6, dt.UTC)
    return f"{time:%Y-%m-%d %H:%M:%S}.{time.microsecond // 1000:03d}"


def clock(seconds: int, *, days: bool = False) -> str:
    return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):{'%a %H:%M' if days else '%H:%M'}}"


def number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def counted(value: int, noun: str) -> str:
    """Return a number with its noun: ``1 task``, ``1,248 tasks``."""
    return f"{number(value)} {noun}{'' if value == 1 else 's'}"


def pretty(value: Any) -> str:
    """JSON that a person reads."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def beginning(value: Any) -> str:
    """Return the beginning of a value's JSON, in one line."""
    if isinstance(value, Large):
        return f"{number(value.size)} bytes, in the queue's bucket"
    text = ""
    for part in json.JSONEncoder(ensure_ascii=False).iterencode(value):
        text += part
        if len(text) > BEGINNING:
            return f"{text[:BEGINNING]}…"
    return text


def seconds(field: str, text: str) -> float | None:
    """Seconds of ``90``, ``90 s``, ``5 min``, ``2h``; None where nothing is given. InvalidInput."""
    try:
        return moments.duration(text) if text else None
    except ValueError as error:
        raise InvalidInput(field, text, "is no duration; write 90 s, 5 min, 2 h or 1 d") from error
