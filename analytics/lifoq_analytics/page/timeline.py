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


@dataclass(frozen=True, kw_only=True)
class Mark:
    """An event on the time axis."""

    number: int
    at: float
    told: str
    """When it was."""
    name: str
    is_low: bool
    """In the second row, since there is no room beside the one before."""


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Everything that shares the one time axis."""

    time: Time
    phases: Sequence[Stretch]
    marks: Sequence[Mark]
    overloads: Sequence[Stretch]
    plots: Sequence[Plot]
    numbers: Sequence[details.Moment]


def of(
    answers: Answers, *, over_time: Points, waits: Points, known: Mapping[str, Any]
) -> Timeline | None:
    """None where there is nothing to draw: no task, or no time.

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
    for number, (micros, at, name) in enumerate(within, start=1):
        place = time.at(micros)
        is_close = bool(marks) and place - marks[-1].at < _APART
        marks.append(
            Mark(
                number=number,
                at=place,
                told=say(at),
                name=name,
                is_low=is_close and not marks[-1].is_low,
            )
        )
    return marks
