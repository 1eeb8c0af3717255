"""Numbers that a caller gives: each is checked where it comes in, and refused with a sentence.

Compared, never converted: NaN fails every comparison, and an integer of 400 digits has no float.
"""

from datetime import timedelta
from typing import Any, Final

from lifoq.errors import InvalidInput

LONGEST: Final = timedelta(days=3650).total_seconds()
"""Seconds. A duration beyond this is a mistake in the unit."""
MOST: Final = 1_000_000
"""A count or a rate beyond this is a mistake."""


def check_seconds(field: str, value: Any, *, zero: bool = False) -> None:
    """A duration that is given as a number of seconds, above 0 or, with ``zero``, from 0 on."""
    least = "from 0 on" if zero else "above 0"
    long_enough = _is_number(value) and (value >= 0 if zero else value > 0)
    if not long_enough or value > LONGEST:
        problem = f"must be a number of seconds {least}, ten years at the most"
        raise InvalidInput(field, value, problem)


def check_rate(field: str, value: Any) -> None:
    """Check a rate: a number of starts per second, at least one in the longest duration.
    InvalidInput names ``field``."""
    if not _is_number(value) or not 1 / LONGEST <= value <= MOST:
        problem = (
            f"must be a number per second above 0, at most {MOST:,}, at least once in ten years"
        )
        raise InvalidInput(field, value, problem)


def check_count(field: str, value: Any, *, least: int = 1) -> None:
    """Check a whole number from ``least`` on. InvalidInput names ``field``."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST:
        raise InvalidInput(field, value, f"must be a whole number from {least} to {MOST:,}")


def seconds(field: str, value: Any, *, zero: bool = False) -> float:
    """The seconds of a duration that may also be a timedelta."""
    number = value.total_seconds() if isinstance(value, timedelta) else value
    if not _is_number(number):
        raise InvalidInput(field, value, "must be a number of seconds or a timedelta")
    check_seconds(field, number, zero=zero)
    return float(number)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
