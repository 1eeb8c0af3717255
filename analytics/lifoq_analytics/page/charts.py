"""The charts over time, as shapes: what the page draws without a library.

A plot is an SVG of 1000 by 100 units that is stretched to the room there is; lines keep their
width, and all text stands beside it as text. All plots have the same time axis.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from lifoq_analytics import times
from lifoq_analytics.page import axes, words
from lifoq_analytics.page.axes import Tick, Time, Values

Point = Mapping[str, Any]
Place = tuple[float, float]
"""A point of a plot, as shares of its width and its height."""

_WIDTH: Final = 1000
_HEIGHT: Final = 100
_OVERLOADED: Final = 0.1
"""A stretch is one of overload when at least this share of its arrivals was shed, then or later."""
_UNIFORM: Final = 1.1
"""Deadlines that differ by less are one: they are whole seconds, rounded up."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    kind: str
    """``line``, ``area``, ``band`` or ``dots``."""
    color: str
    """The meaning of the shape: the name of a colour of the page."""
    path: str


@dataclass(frozen=True, kw_only=True)
class Level:
    """A horizontal line across a plot, with its name."""

    at: float
    color: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Key:
    kind: str
    color: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Plot:
    title: str
    caption: str
    description: str
    """The chart in words, for who hears the page."""
    keys: Sequence[Key]
    ticks: Sequence[Tick]
    shapes: Sequence[Shape]
    levels: Sequence[Level]


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """The begin and the end of a stretch, as shares of the time axis."""

    at: float
    to: float
    label: str = ""

    @property
    def width(self) -> float:
        return self.to - self.at


class Plots:
    """Draws on one time axis."""

    def __init__(self, time: Time, points: Sequence[Point], waits: Sequence[Point]) -> None:
        self._time = time
        self._points = points
        known = {wait["time"]: wait for wait in waits}
        self._waits = [known.get(point["time"], {}) for point in points]
        self._begins = [time.at(times.from_iso(point["time"])) for point in points]
        self._ends = [time.at(times.from_iso(point["until"])) for point in points]

    def patience(self, *, deadlines: Mapping[str, float | None], alarm: float | None) -> Plot:
        """Plot how long the served tasks waited, and how long the oldest waiting one had waited."""
        medians = [wait.get("p50") for wait in self._waits]
        longest = [wait.get("p99") for wait in self._waits]
        oldest = [point["oldest_waiting_seconds"] for point in self._points]
        levels = _levels(deadlines, alarm)
        drawn = [*_known(medians), *_known(longest), *_known(oldest)]
        values = axes.durations(
            min((seconds for seconds in drawn if seconds), default=1.0),
            max([*drawn, *(seconds for seconds, _, _ in levels)], default=1.0),
        )
        middles = [(begin + end) / 2 for begin, end in zip(self._begins, self._ends, strict=True)]
        return Plot(
            title="How long the served waited, and how long the oldest did",
            caption="Half of those served at a time waited no longer than the line, 99 of 100 no "
            "longer than the upper edge of the band. Each grid line stands for about ten times "
            "the one below.",
            description=f"Median wait of the served: {_range(medians, words.duration)}. "
            f"Age of the oldest that waits: {_range(oldest, words.duration)}.",
            keys=[
                Key(kind="line", color="served", label="served: median"),
                Key(kind="band", color="served", label="served: median to p99"),
                Key(kind="line", color="waiting", label="oldest that waits"),
            ],
            ticks=values.ticks,
            shapes=[
                _band("served", _runs(middles, medians, values), _runs(middles, longest, values)),
                *_lines("served", _runs(middles, medians, values)),
                *_lines("waiting", _runs(self._ends, oldest, values)),
            ],
            levels=[
                Level(at=values.at(seconds), color=color, label=f"{name} {words.duration(seconds)}")
                for seconds, name, color in levels
            ],
        )

    def flows(self) -> Plot:
        """Plot arrivals, first claims and sheddings."""
        flows = (
            ("came in", "arrivals", [point["arrivals"] for point in self._points]),
            ("served", "served", [point["first_claims"] for point in self._points]),
            ("shed", "shed", [point["shed"] for point in self._points]),
        )
        most = max((rate for _, _, rates in flows for rate in _known(rates)), default=0.0)
        per = words.per(most)
        values = axes.rates(most, per)
        edges = [edge for pair in zip(self._begins, self._ends, strict=True) for edge in pair]
        return Plot(
            title="What came in, what was served, what was shed",
            caption="Served counts first claims. What comes in beyond what is served is shed one "
            "deadline later.",
            description=" ".join(
                f"{name.capitalize()}: {_range(rates, per.rate)}." for name, _, rates in flows
            ),
            keys=[Key(kind="line", color=color, label=name) for name, color, _ in flows],
            ticks=values.ticks,
            shapes=[
                shape
                for _, color, rates in flows
                for shape in _lines(
                    color, _runs(edges, [rate for rate in rates for _ in range(2)], values)
                )
            ],
            levels=[],
        )

    def backlog(self) -> Plot:
        """Plot the number of tasks in the queue."""
        waiting = [point["waiting"] for point in self._points]
        inside = [point["waiting"] + point["claimed"] for point in self._points]
        values = axes.counts(max(inside, default=0))
        # At the beginning the queue holds nothing that is known of.
        ends = [0.0, *self._ends]
        floor, middle, top = (
            [(x, values.at(y)) for x, y in zip(ends, heights, strict=True)]
            for heights in ([0] * len(ends), [0, *waiting], [0, *inside])
        )
        return Plot(
            title="How many were in the queue",
            caption="Those that wait for their first claim, and on top of them those that are "
            "worked on or between two attempts.",
            description=f"Waiting: {_range(waiting, words.count)}. "
            f"Waiting and in work: {_range(inside, words.count)}.",
            keys=[
                Key(kind="area", color="taken", label="in work"),
                Key(kind="area", color="waiting", label="waiting"),
            ],
            ticks=values.ticks,
            shapes=[
                Shape(kind="area", color="taken", path=_between(middle, top)),
                Shape(kind="area", color="waiting", path=_between(floor, middle)),
            ],
            levels=[],
        )

    def overloads(self, *, last_until: int | None) -> Sequence[Stretch]:
        """The stretches in which a tenth or more of the arrivals was shed, then or later.

        ``last_until``: where the last one ends although it is too early to know what is shed.
        """
        marked = [_is_overload(point) for point in self._points]
        for n in range(1, len(marked) - 1):
            marked[n] = marked[n] or (marked[n - 1] and marked[n + 1])
        found = []
        for is_overload, group in groupby(range(len(marked)), key=marked.__getitem__):
            its = list(group)
            if is_overload:
                found.append(Stretch(at=self._begins[its[0]], to=self._ends[its[-1]]))
        if found and last_until is not None:
            found[-1] = Stretch(at=found[-1].at, to=max(found[-1].to, self._time.at(last_until)))
        return found


def _is_overload(point: Point) -> bool:
    arrivals, shed = point["arrivals"], point["arrivals_shed"]
    return bool(arrivals) and shed >= _OVERLOADED * arrivals


def _levels(
    deadlines: Mapping[str, float | None], alarm: float | None
) -> list[tuple[float, str, str]]:
    """Seconds, name and colour, the highest first."""
    shortest, longest = deadlines["min"], deadlines["max"]
    levels = [] if alarm is None else [(alarm, "alarm", "ink")]
    if shortest is not None and longest is not None:
        if longest - shortest <= 1 or longest <= _UNIFORM * shortest:
            levels.append((float(int(shortest)), "deadline", "shed"))
        else:
            levels.append((shortest, "shortest deadline", "shed"))
            levels.append((longest, "longest deadline", "shed"))
    return sorted(levels, reverse=True)


def _runs(
    xs: Sequence[float], heights: Sequence[float | None], values: Values
) -> list[list[Place]]:
    """The stretches without a gap."""
    places = zip(xs, heights, strict=True)
    return [
        [(x, values.at(height)) for x, height in run if height is not None]
        for is_known, run in groupby(places, key=lambda place: place[1] is not None)
        if is_known
    ]


def _lines(color: str, runs: Sequence[Sequence[Place]]) -> list[Shape]:
    """A line through each run; one place alone is a dot."""
    found = []
    for kind, its in (
        ("line", [run for run in runs if len(run) > 1]),
        ("dots", [[*run, *run] for run in runs if len(run) == 1]),
    ):
        if its:
            found.append(Shape(kind=kind, color=color, path=" ".join(map(_path, its))))
    return found


def _band(color: str, lower: Sequence[Sequence[Place]], upper: Sequence[Sequence[Place]]) -> Shape:
    bands = (_between(*edges) for edges in zip(lower, upper, strict=True))
    return Shape(kind="band", color=color, path=" ".join(bands))


def _between(lower: Sequence[Place], upper: Sequence[Place]) -> str:
    return _path([*upper, *reversed(lower)])


def _path(places: Sequence[Place]) -> str:
    first, *others = (f"{_WIDTH * x:.1f} {_HEIGHT * (1 - y):.1f}" for x, y in places)
    return f"M{first}L{' '.join(others)}"


def _range(values: Sequence[float | None], say: Callable[[Any], str]) -> str:
    known = _known(values)
    return f"{say(min(known))} to {say(max(known))}" if known else "none"


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
