"""Three charts on one time axis: tasks that ended, tasks that wait, and for how long.

Text stands beside the drawing, so that it keeps its size on any screen; colors come from the style
sheet, where each means one thing.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lifoq.health.statistics import CAP
from lifoq_console import words
from lifoq_console.traffic import RANGES, Traffic
from lifoq_console.type_history import TypeHistory

WIDTH: Final = 600
HEIGHT: Final = 60
_TICKS: Final = 4
_DURATIONS: Final = (2, 10, 20, 60, 120, 240, 600, 1_200, 3_600, 7_200, 14_400, 28_800, 86_400)
"""Seconds that can be read off the upper edge, and half of them off the middle."""
_BARS: Final = 24
"""The bars of a sparkline."""
Values = Sequence[float | None]


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One shape: what it shows (a class of the style sheet) and its path, as SVG writes it."""

    shows: str
    path: str
    filled: bool


@dataclass(frozen=True, kw_only=True)
class Chart:
    title: str
    marks: tuple[Mark, ...]
    most: float
    top: float
    """The value at the upper edge."""
    series: tuple[tuple[str, Values], ...]
    """The series, each by a word that is a class of the style sheet as well."""
    traffic: Traffic | TypeHistory
    is_duration: bool = False
    """True if values are seconds; else they are tasks."""

    bound: float = math.inf
    """The value at which counting ends: there may be more."""

    def said(self, value: float) -> str:
        return words.duration(value) if self.is_duration else words.number(value)

    def told(self, value: float) -> str:
        """Return a value in words that say where it is a bound."""
        return f"{'at least ' if value >= self.bound else ''}{self.said(value)}"

    @property
    def ticks(self) -> list[str]:
        """Along the time axis."""
        starts = self.traffic.starts
        return [self._clock(starts[at * (len(starts) - 1) // _TICKS]) for at in range(_TICKS + 1)]

    @property
    def tips(self) -> Iterator[tuple[str, str]]:
        """Yield, for each part that has values, the path of its whole height, and its values in
        words."""
        step = WIDTH / len(self.traffic.starts)
        for at, start in enumerate(self.traffic.starts):
            known = [
                f"{name} {self.told(value)}"
                for name, values in self.series
                if (value := values[at]) is not None
            ]
            if known:
                path = f"M{at * step:g} 0h{step:g}V{HEIGHT}h-{step:g}z"
                yield path, f"{self._clock(start)} UTC: {', '.join(known)}"

    def _clock(self, seconds: int) -> str:
        return words.clock(seconds, days=self.traffic.step > RANGES["6h"].step)


def charts(traffic: Traffic) -> list[Chart]:
    traffic = traffic.to_show()
    ended = (("done", traffic.done), ("failed", traffic.failed), ("shed", traffic.shed))
    sums = [sum(values[at] or 0 for _, values in ended) for at in range(len(traffic.starts))]
    most, waiting, oldest = (
        max([1.0, *_known(values)]) for values in (sums, traffic.waiting, traffic.oldest)
    )
    top, room, longest = _top(most), _top(waiting), _longest(oldest)
    return [
        Chart(
            title=_ended(traffic.step),
            marks=tuple(_stacked(ended, top)),
            most=most,
            top=top,
            series=ended,
            traffic=traffic,
        ),
        Chart(
            title="Waiting",
            marks=(Mark(shows="waiting", path=_steps(traffic.waiting, room), filled=True),),
            most=waiting,
            top=room,
            series=(("waiting", traffic.waiting),),
            traffic=traffic,
            bound=CAP,
        ),
        Chart(
            title="Age of what waits",
            marks=(
                Mark(shows="oldest", path=_line(traffic.oldest, longest), filled=False),
                Mark(shows="newest", path=_line(traffic.newest, longest), filled=False),
            ),
            most=oldest,
            top=longest,
            series=(("newest", traffic.newest), ("oldest", traffic.oldest)),
            traffic=traffic,
            is_duration=True,
        ),
    ]


def charts_of_type(history: TypeHistory) -> list[Chart]:
    """Return the charts of one task type: what ended, waits, and runs."""
    history = history.to_show()
    ended, parts = tuple(history.ended.items()), range(len(history.starts))
    most = max([1.0, *(sum(values[at] or 0 for _, values in ended) for at in parts)])
    top = _top(most)
    drawn = Chart(
        title=_ended(history.step),
        marks=tuple(_stacked(ended, top)),
        most=most,
        top=top,
        series=ended,
        traffic=history,
    )
    spreads = (("Wait for the first attempt", history.waits), ("Run", history.runs))
    return [
        drawn,
        *(
            _spread(title, series, history)
            for title, series in spreads
            if any(_known(values) for values in series.values())
        ),
    ]


def _ended(step: int) -> str:
    """Return the title of a chart whose parts stand for so many seconds each."""
    return f"Ended, per {words.duration(step).removeprefix('1 ')}"


def _spread(title: str, series: Mapping[str, Values], history: TypeHistory) -> Chart:
    most = max([1.0, *(value for values in series.values() for value in _known(values))])
    top = _longest(most)
    return Chart(
        title=title,
        marks=tuple(
            Mark(shows=name, path=_line(values, top), filled=False)
            for name, values in series.items()
        ),
        most=most,
        top=top,
        series=tuple(series.items()),
        traffic=history,
        is_duration=True,
    )


def _top(most: float) -> float:
    """At least that, and even."""
    power = 10.0 ** max(0, math.ceil(math.log10(most)) - 1)
    return next(power * number for number in (2, 4, 6, 8, 10) if power * number >= most)


def _longest(seconds: float) -> float:
    return next((edge for edge in _DURATIONS if edge >= seconds), seconds)


def spark(times: Sequence[int], *, first: int, now: int) -> str:
    """The path of so many failures over time, from ``first`` to ``now``, in WIDTH by HEIGHT."""
    width = max(1, now - first) / _BARS
    counts = Counter(min(_BARS - 1, int((at - first) / width)) for at in times)
    most, step = max(counts.values()), WIDTH / _BARS
    return "".join(
        f"M{at * step:g} {HEIGHT}V{_y(number, most):.1f}h{step - 2:g}V{HEIGHT}z"
        for at, number in sorted(counts.items())
    )


def _stacked(layers: Sequence[tuple[str, Values]], most: float) -> Iterator[Mark]:
    parts = len(layers[0][1])
    floor, step = [0.0] * parts, WIDTH / parts
    for name, values in layers:
        top = [below + (value or 0) for below, value in zip(floor, values, strict=True)]
        path = "".join(
            f"M{at * step:g} {_y(below, most):.1f}v{_y(high, most) - _y(below, most):.1f}"
            f"h{step - 1:g}V{_y(below, most):.1f}z"
            for at, (below, high) in enumerate(zip(floor, top, strict=True))
            if high > below
        )
        yield Mark(shows=name, path=path, filled=True)
        floor = top


def _steps(values: Values, most: float) -> str:
    step = WIDTH / len(values)
    return "".join(
        f"M{at * step:g} {HEIGHT}V{_y(value, most):.1f}h{step:g}V{HEIGHT}z"
        for at, value in enumerate(values)
        if value
    )


def _line(values: Values, most: float) -> str:
    """Broken where there is no value; a value alone is a dash as wide as its minute."""
    path, drawn, step = "", False, WIDTH / len(values)
    for at, value in enumerate(values):
        if value is not None:
            path += f"{'L' if drawn else 'M'}{at * step:g} {_y(value, most):.1f}h{step:g}"
        drawn = value is not None
    return path


def _y(value: float, most: float) -> float:
    return HEIGHT - HEIGHT * value / most


def _known(values: Values) -> list[float]:
    return [value for value in values if value is not None]
