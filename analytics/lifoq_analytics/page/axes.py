"""The ticks of an axis: their places, as shares of the axis from 0 to 1, and what they say."""

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lifoq_analytics.page.words import Per, duration
from lifoq_analytics.times import MICROS

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_TIME_STEPS: Final = (
    *(1, 2, 5, 10, 15, 30),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in (1, 2, 7, 14, 28, 91, 182, 364)),
)
"""Seconds between two ticks of time."""
_MOST_TIMES: Final = 10
_MOST_NUMBERS: Final = 4
_ROUNDING: Final = 0.001
_DURATIONS: Final = (
    *(0.001, 0.01, 0.1, 1, 10),
    *(_MINUTE, 10 * _MINUTE, _HOUR, 10 * _HOUR, 4 * _DAY, 40 * _DAY, 400 * _DAY),
)
"""Seconds, about a decade apart, at edges that a person would choose."""

_ROOM: Final = 3
"""A logarithmic axis goes on to so many times the greatest value: names stand above lines."""


@dataclass(frozen=True, kw_only=True)
class Tick:
    at: float
    label: str
    minor: bool = False
    """True for a tick that is left out where there is little room."""


@dataclass(frozen=True, kw_only=True)
class Time:
    """The page's one time axis, in epoch microseconds."""

    start: int
    end: int

    def at(self, micros: int) -> float:
        """Moments before and after lie on the edges."""
        return min(1.0, max(0.0, (micros - self.start) / (self.end - self.start)))

    def ticks(self) -> Sequence[Tick]:
        seconds = (self.end - self.start) / MICROS
        step = next(
            (step for step in _TIME_STEPS if seconds / step <= _MOST_TIMES),
            math.ceil(seconds / _MOST_TIMES / _DAY) * _DAY,
        )
        first = -(-self.start // (step * MICROS))
        last = self.end // (step * MICROS)
        return [
            Tick(
                at=self.at(number * step * MICROS),
                label=_clock(number * step, step),
                minor=bool((number - first) % 3),
            )
            for number in range(first, last + 1)
        ]


def _clock(seconds: int, step: int) -> str:
    time = dt.datetime.fromtimestamp(seconds, dt.UTC)
    if seconds % _DAY == 0:
        return f"{time.day} {time:%b}"
    return f"{time:%H:%M:%S}" if step < _MINUTE else f"{time:%H:%M}"


@dataclass(frozen=True, kw_only=True)
class Values:
    """A vertical axis: where a value lies, and the ticks."""

    at: Callable[[float], float]
    ticks: Sequence[Tick]


def rates(most: float, per: Per) -> Values:
    """Return an axis from nought to at least ``most`` per second, with even numbers per ``per``."""
    return _linear(_step(most * per.seconds) / per.seconds, most, per.rate)


def counts(most: int) -> Values:
    """Return an axis from nought to at least ``most``, at whole numbers."""
    return _linear(max(1, _step(most)), most, lambda value: f"{round(value):,}")


def _linear(step: float, most: float, label: Callable[[float], str]) -> Values:
    steps = max(1, math.ceil(most / step - _ROUNDING))
    return Values(
        at=lambda value: value / (steps * step),
        ticks=[Tick(at=n / steps, label=label(n * step)) for n in range(steps + 1)],
    )


def _step(most: float) -> float:
    """1, 2 or 5 times a power of ten."""
    least = (most or 1) / _MOST_NUMBERS
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * n for n in (1, 2, 5, 10) if power * n >= least * (1 - _ROUNDING))


def durations(least: float, most: float) -> Values:
    """Seconds on a logarithmic axis, since waits differ by powers of ten."""
    low = max((edge for edge in _DURATIONS if edge <= least), default=_DURATIONS[0])
    low = min(low, _below(most))
    high = max(most * _ROOM, low * 10)
    span = math.log(high / low)

    def at(seconds: float) -> float:
        return min(1.0, math.log(max(seconds, low) / low) / span)

    return Values(
        at=at,
        ticks=[
            Tick(at=at(edge), label=duration(edge)) for edge in _DURATIONS if low <= edge <= high
        ],
    )


def _below(seconds: float) -> float:
    return max((edge for edge in _DURATIONS if edge * 10 <= seconds), default=_DURATIONS[0])
