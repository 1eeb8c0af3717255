"""Durations as a person would say them, and moments as machines read them."""

from datetime import UTC, datetime, timedelta
from typing import Final

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_UNITS: Final = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (1, "s"))
_BARE: Final = 10
"""The number of a unit from which on the next smaller unit is left out."""
_ROUNDED: Final = ((1, _BARE * _MINUTE), (_MINUTE, _BARE * _HOUR), (_HOUR, _BARE * _DAY))
"""Steps in seconds to which a duration is rounded, each with the duration up to which it is
used."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
"""The last moment that ``datetime`` knows, in epoch microseconds."""


def spoken(seconds: float) -> str:
    """``85 ms``, ``4.2 s``, ``3 min 20 s``: at most two units, and no more digits than matter."""
    milliseconds = round(seconds * 1_000)
    if milliseconds < 1_000:  # noqa: PLR2004 - a second
        return f"{'under 1' if seconds and not milliseconds else milliseconds} ms"
    if round(seconds, 1) < _BARE:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    smallest = next((part for part, most in _ROUNDED if round(seconds) < most), _DAY)
    rest = round(seconds / smallest) * smallest
    found = []
    for unit, name in _UNITS:
        wholes, rest = divmod(rest, unit)
        if wholes:
            found.append((wholes, name))
    shown = found[:1] if found[0][0] >= _BARE else found
    return " ".join(f"{wholes:,} {name}" for wholes, name in shown)


def iso(micros: int) -> str:
    """``2026-11-20T09:30:00.000000Z``, of epoch microseconds: texts sort as times do. A time beyond
    the calendar (of a damaged item) is its last moment."""
    whole = min(micros, _LAST)
    return f"{_EPOCH + timedelta(microseconds=whole):%Y-%m-%dT%H:%M:%S.%f}Z"
