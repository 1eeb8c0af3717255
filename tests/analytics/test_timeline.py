"""What stands on the page's time axis, and where."""

from collections.abc import Sequence
from typing import Any

from analytics.page import about, timeline
from analytics.page.axes import Time
from lifoq.basics.times import iso

SECOND = 1_000_000
END = 100


def _iso(seconds: float) -> str:
    return iso(round(seconds * SECOND))


def _drawn(
    *,
    shed: Sequence[float] = (0,) * 10,
    shed_per_hour: float = 0,
    shed_at: tuple[float, float] | None = None,
    events: Sequence[tuple[str, float]] = (),
) -> timeline.Timeline:
    """A hundred seconds in ten points, in each of which ten tasks a second come in; of so many of
    them it is known that they were ``shed``."""
    first, last = (None, None) if shed_at is None else map(_iso, shed_at)
    answers: dict[str, Any] = {
        "window": {"from": _iso(0), "to": _iso(END)},
        "tasks": {"created": 1_000},
        "backlog": {"max": 0, "max_at": None},
        "shed_at": {"first": first, "last": last},
        "deadline_seconds": {"min": 20.0, "max": 20.5},
        "forecast": {"shed_per_hour": shed_per_hour},
    }
    points = [
        {
            "time": _iso(10 * n),
            "until": _iso(10 * n + 10),
            "arrivals": 10,
            "arrivals_shed": lost,
            "first_claims": 10 - lost,
            "shed": 0,
            "waiting": 0,
            "claimed": 0,
            "oldest_waiting_seconds": None,
        }
        for n, lost in enumerate(shed)
    ]
    told = about.parse({"events": [{"name": name, "at": _iso(at)} for name, at in events]})
    found = timeline.of(answers, over_time=points, waits=[], known=told)
    assert found is not None
    return found


def test_the_stretches_of_which_a_tenth_was_shed_are_overload_which_may_go_on():
    (found,) = _drawn(shed=[0, 0, 5, 10, 0, 10, 9, 0.5, 0, 0]).overloads
    assert (found.at, found.to) == (0.2, 0.7)
    known = [0, 0, 0, 0, 5, 5, 5, 5, 0, 0]  # what came in last can be shed only later
    assert [stretch.to for stretch in _drawn(shed=known, shed_per_hour=9).overloads] == [1]
    assert [stretch.to for stretch in _drawn(shed=known).overloads] == [0.8]
    past = [0, 5, 5, 0, 0, 0, 0, 0, 0, 0]
    assert [stretch.to for stretch in _drawn(shed=past, shed_per_hour=9).overloads] == [0.3]


def test_events_are_numbered_as_they_happened_and_those_outside_are_left_out():
    marks = _drawn(
        events=[("resumed", 60), ("paused", 30), ("deployed", 101)], shed_at=(40, 80)
    ).marks
    assert [(mark.number, mark.told, mark.name) for mark in marks] == [
        (1, "00:00:30", "paused"),
        (2, "00:00:40", "the first task is shed"),
        (3, "00:01:00", "resumed"),
        (4, "00:01:20", "the last task is shed"),
    ]


def test_the_time_axis_has_ticks_at_round_moments():
    time = Time(start=7 * SECOND, end=68 * SECOND)
    assert [tick.label for tick in time.ticks()] == [
        *("00:00:10", "00:00:20", "00:00:30", "00:00:40", "00:00:50", "00:01:00"),
    ]
    day = Time(start=0, end=86_400 * SECOND)
    assert [tick.label for tick in day.ticks()][:2] == ["1 Jan", "03:00"]
