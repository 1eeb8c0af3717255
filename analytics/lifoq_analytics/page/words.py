"""Numbers and times as a person would say them: 85 ms, 4 min, 46 %.

A number and its unit stay on one line.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lifoq.basics.times import spoken
from lifoq_analytics import times
from lifoq_analytics.times import MICROS

NONE: Final = "–"

_GAP: Final = "\N{NO-BREAK SPACE}"
_BARE: Final = 10
"""Per cent, from which on no tenths are told."""
_ALL: Final = 100
"""Per cent."""
_HUNDREDTH: Final = 0.01


def duration(seconds: float | None) -> str:
    """Return a duration in at most two units, and no more digits than matter."""
    if seconds is None:
        return NONE
    return spoken(seconds).replace(" ", _GAP)


def count(number: int) -> str:
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """``1 task``, ``2 tasks``."""
    return _with(f"{number:,}", noun if number == 1 else f"{noun}s")


def share(part: float | None) -> str:
    """Two digits, more beside nought and one: what is not all is never called 100 %."""
    if part is None:
        return NONE
    percent = _ALL * part
    if percent in (0, _ALL):
        return _with(f"{percent:.0f}", "%")
    if percent < _HUNDREDTH:
        return _with("under 0.01", "%")
    if percent > _ALL - _HUNDREDTH:
        return _with("over 99.99", "%")
    digits = 0 if percent >= _BARE else 1
    while float(f"{percent:.{digits}f}") in (0, _ALL):
        digits += 1
    return _with(f"{percent:.{digits}f}".removesuffix(".0"), "%")


@dataclass(frozen=True, kw_only=True)
class Per:
    """The time that rates are told for."""

    seconds: int
    name: str
    short: str

    def number(self, per_second: float) -> str:
        return number(per_second * self.seconds)

    def rate(self, per_second: float | None) -> str:
        return NONE if per_second is None else f"{self.number(per_second)}/{self.short}"


_PERS: Final = (
    Per(seconds=1, name="second", short="s"),
    Per(seconds=60, name="minute", short="min"),
    Per(seconds=3_600, name="hour", short="h"),
)


def per(most: float) -> Per:
    """The shortest time in which something happens at this rate; for nought, a second."""
    return next((each for each in _PERS if most * each.seconds >= 1), _PERS[-1 if most else 0])


def number(value: float) -> str:
    """Three digits, or all of a large one."""
    return f"{value:,.0f}" if abs(value) >= _ALL else f"{value:.3g}"


def moment(iso: str) -> str:
    """Return a moment to the second, with its day."""
    return f"{_time(iso):%Y-%m-%d %H:%M:%S}"


def clock(iso: str) -> str:
    return f"{_time(iso):%H:%M:%S}"


def teller(window: Mapping[str, str]) -> Callable[[str], str]:
    """Return the function that tells moments of a window: without the day if all are of one."""
    return clock if window["from"][:10] == window["to"][:10] else _short


def _short(iso: str) -> str:
    time = _time(iso)
    return f"{time.day} {time:%b %H:%M:%S}"


def period(start: str, end: str) -> str:
    """Return the begin and the end of a period, in plain words, and how long it is."""
    first, last = _time(start), _time(end)
    if start == end:
        return f"{_day(first)}, {first:%H:%M:%S} UTC"
    long = duration((times.from_iso(end) - times.from_iso(start)) / MICROS)
    if first.date() == last.date():
        return f"{_day(first)}, {first:%H:%M:%S} to {last:%H:%M:%S} UTC ({long})"
    return f"{_day(first)}, {first:%H:%M} to {_day(last)}, {last:%H:%M} UTC ({long})"


def _with(number: str, unit: str) -> str:
    return f"{number}{_GAP}{unit}"


def _day(time: dt.datetime) -> str:
    return f"{time.day} {time:%B %Y}"


def _time(iso: str) -> dt.datetime:
    return dt.datetime.fromisoformat(iso)
