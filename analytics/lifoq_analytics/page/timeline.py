"""Everything that shares the page's one time axis: phases, events, overload, charts, numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lifoq_analytics import times
from lifoq_analytics.page import details, words
from lifoq_analytics.page.axes import Time
from lifoq_analytics.page.charts import Plot, Plots, Stretch
from lifoq_analytics.times import MICROS

Answers = Mapping[str, Any]
Points = Sequence[Mapping[str, Any]]

_APART: Final = 0.07
"""A share of the time axis: nearer than this, the numbers of two events touch on a phone."""
_NUMBER: Final = 0.035
"""The share of the time axis that a mark's number takes in the narrowest window with words."""
_CHARACTER: Final = 0.0085
"""The share that each character of its words takes there."""
_BEFORE: Final = 0.55
"""The share of the time axis from which on a mark's words stand before it."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """An event on the time axis."""

    number: int
    at: float
    told: str
    """When it was."""
    name: str
    row: int
    """The row, from 0 on, in which its words touch no other's."""
    few_row: int
    """The row, 0 or 1, of its number where there is no room for words."""

    @property
    def is_before(self) -> bool:
        """True if its words stand before its number, since there is more room."""
        return self.at > _BEFORE


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Everything that shares the one time axis."""

    time: Time
    phases: Sequence[Stretch]
    marks: Sequence[Mark]
    overloads: Sequence[Stretch]
    plots: Sequence[Plot]
    numbers: Sequence[details.Moment]

    @property
    def rows(self) -> int:
        """The number of rows that the marks take with their words."""
        return max((mark.row for mark in self.marks), default=-1) + 1

    @property
    def few_rows(self) -> int:
        """The number of rows that the marks take as numbers."""
        return max((mark.few_row for mark in self.marks), default=-1) + 1


def of(
    answers: Answers, *, over_time: Points, waits: Points, known: Mapping[str, Any]
) -> Timeline | None:
    """Return the timeline; None where there is nothing to draw: no task, or no time.

    ``known``: what the option ``--about`` tells.
    """
    start, end = (times.from_iso(answers["window"][name]) for name in ("from", "to"))
    if not answers["tasks"]["created"] or start >= end or not over_time:
        return None
    time = Time(start=start, end=end)
    say = words.teller(answers["window"])
    plots = Plots(time, over_time, waits)
    alarm = known["alarms"].get("oldest_waiting_seconds")
    return Timeline(
        time=time,
        phases=[
            Stretch(
                at=time.at(times.from_iso(phase["from"])),
                to=time.at(times.from_iso(phase["to"])),
                label=phase["name"],
            )
            for phase in known["phases"]
        ],
        marks=_marks(answers, known["events"], time, say=say),
        overloads=plots.overloads(last_until=_overloaded_until(answers, over_time)),
        plots=[
            plots.patience(deadlines=answers["deadline_seconds"], alarm=alarm),
            plots.flows(),
            plots.backlog(),
        ],
        numbers=details.moments(time, over_time, waits, say=say),
    )


def _overloaded_until(answers: Answers, points: Points) -> int | None:
    """Return the end of the overload. Tasks that came in within the last deadline are not shed yet,
    so an overload that goes on, goes on to the end of the window."""
    deadline = answers["deadline_seconds"]["min"]
    if deadline is None or not answers["forecast"]["shed_per_hour"]:
        return None
    end = times.from_iso(answers["window"]["to"])
    since = end - 2 * deadline * MICROS
    recent = [point for point in points if times.from_iso(point["until"]) > since]
    return end if any(point["arrivals_shed"] for point in recent) else None


def _marks(
    answers: Answers, events: Points, time: Time, *, say: Callable[[str], str]
) -> list[Mark]:
    backlog, shed = answers["backlog"], answers["shed_at"]
    named = [
        *((event["at"], event["name"]) for event in events),
        (shed["first"], "the first task is shed"),
        (shed["last"] if shed["last"] != shed["first"] else None, "the last task is shed"),
        (
            backlog["max_at"] if backlog["max"] > 1 else None,
            f"most wait: {words.count(backlog['max'])}",
        ),
    ]
    within = sorted(
        (times.from_iso(at), at, name)
        for at, name in named
        if at is not None and time.start <= times.from_iso(at) <= time.end
    )
    marks: list[Mark] = []
    taken: list[list[tuple[float, float]]] = []
    for number, (micros, at, name) in enumerate(within, start=1):
        place, told = time.at(micros), say(at)
        is_close = bool(marks) and place - marks[-1].at < _APART
        marks.append(
            Mark(
                number=number,
                at=place,
                told=told,
                name=name,
                row=_free_row(taken, _extent(place, f"{told} {name}")),
                few_row=int(is_close and not marks[-1].few_row),
            )
        )
    return marks


def _extent(place: float, words: str) -> tuple[float, float]:
    """Return the share of the time axis, from and to, that a mark with its words takes."""
    half, length = _NUMBER / 2, _CHARACTER * len(words)
    before, after = (length, 0.0) if place > _BEFORE else (0.0, length)
    return place - half - before, place + half + after


def _free_row(taken: list[list[tuple[float, float]]], extent: tuple[float, float]) -> int:
    """Take the first row in which the extent touches none of those that are ``taken``."""
    for row, extents in enumerate(taken):
        if all(extent[0] > end or extent[1] < begin for begin, end in extents):
            extents.append(extent)
            return row
    taken.append([extent])
    return len(taken) - 1
