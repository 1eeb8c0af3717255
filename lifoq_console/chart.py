"""Three small charts on one time axis: tasks that ended, tasks that wait, and for how long.

Text stands beside the drawing, so that it keeps its size on any screen; colors come from the style
sheet, where each means one thing.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lifoq_console.traffic import MINUTES, Traffic

WIDTH: Final = 600
HEIGHT: Final = 60
_STEP: Final = WIDTH / MINUTES
_BARS: Final = 24
"""Of a sparkline."""
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
    """The value at the upper edge."""
    keys: tuple[str, ...]
    """What is shown, in words that are classes of the style sheet as well."""
    is_duration: bool = False
    """Whether values are seconds; else they are tasks."""


def charts(traffic: Traffic) -> list[Chart]:
    ended = (("done", traffic.done), ("failed", traffic.failed), ("shed", traffic.shed))
    sums = [sum(values[at] or 0 for _, values in ended) for at in range(MINUTES)]
    most = max([1.0, *sums])
    waiting = max([1.0, *_known(traffic.waiting)])
    oldest = max([1.0, *_known(traffic.oldest)])
    return [
        Chart(
            title="Ended per minute",
            marks=tuple(_stacked(ended, most)),
            most=most,
            keys=tuple(name for name, _ in ended),
        ),
        Chart(
            title="Waiting",
            marks=(Mark(shows="waiting", path=_steps(traffic.waiting, waiting), filled=True),),
            most=waiting,
            keys=("waiting",),
        ),
        Chart(
            title="Age of what waits",
            marks=(
                Mark(shows="oldest", path=_line(traffic.oldest, oldest), filled=False),
                Mark(shows="newest", path=_line(traffic.newest, oldest), filled=False),
            ),
            most=oldest,
            keys=("newest", "oldest"),
            is_duration=True,
        ),
    ]


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
    floor = [0.0] * MINUTES
    for name, values in layers:
        top = [below + (value or 0) for below, value in zip(floor, values, strict=True)]
        path = "".join(
            f"M{at * _STEP:g} {_y(below, most):.1f}v{_y(high, most) - _y(below, most):.1f}"
            f"h{_STEP - 1:g}V{_y(below, most):.1f}z"
            for at, (below, high) in enumerate(zip(floor, top, strict=True))
            if high > below
        )
        yield Mark(shows=name, path=path, filled=True)
        floor = top


def _steps(values: Values, most: float) -> str:
    return "".join(
        f"M{at * _STEP:g} {HEIGHT}V{_y(value, most):.1f}h{_STEP:g}V{HEIGHT}z"
        for at, value in enumerate(values)
        if value
    )


def _line(values: Values, most: float) -> str:
    """Broken where there is no value; a value alone is a dash as wide as its minute."""
    path, drawn = "", False
    for at, value in enumerate(values):
        if value is not None:
            path += f"{'L' if drawn else 'M'}{at * _STEP:g} {_y(value, most):.1f}h{_STEP:g}"
        drawn = value is not None
    return path


def _y(value: float, most: float) -> float:
    return HEIGHT - HEIGHT * value / most


def _known(values: Values) -> list[float]:
    return [value for value in values if value is not None]
