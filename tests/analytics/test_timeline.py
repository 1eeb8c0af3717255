"""The marks on the page's time axis, and their places."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from lifoq.basics.times import iso
from lifoq_analytics.page import _letter, about, charts, timeline
from lifoq_analytics.page.axes import Time

SECOND = 1_000_000
HUNDRED = Time(start=0, end=100 * SECOND)


def _overloads(shed: Sequence[float], *, shed_per_hour: float = 0) -> list[tuple[float, float]]:
    """In a hundred seconds in ten points, in each of which ten tasks a second come in; of so many
    of them it is known that they were ``shed``."""
    moments = [iso(10 * n * SECOND) for n in range(11)]
    answers: dict[str, Any] = {
        "window": {"from": moments[0], "to": moments[-1]},
        "tasks": {"created": 1_000},
        "backlog": {"max": 0, "max_at": None},
        "shed_at": {"first": None, "last": None},
        "deadline_seconds": {"min": 20.0, "max": 20.5},
        "forecast": {"shed_per_hour": shed_per_hour},
    }
    points = [
        {
            "time": moments[n],
            "until": moments[n + 1],
            "arrivals": 10,
            "arrivals_shed": lost,
            "first_claims": 10 - lost,
            "oldest_waiting_seconds": None,
            **dict.fromkeys(("shed", "waiting", "claimed"), 0),
        }
        for n, lost in enumerate(shed)
    ]
    found = timeline.of(answers, over_time=points, waits=[], known=about.NOTHING)
    assert found is not None
    return [(stretch.at, stretch.to) for stretch in found.overloads]


def test_the_stretches_of_which_a_tenth_was_shed_are_overload_which_may_go_on():
    assert _overloads([0, 0, 5, 10, 0, 10, 9, 0.5, 0, 0]) == [(0.2, 0.7)]
    known = [0, 0, 0, 0, 5, 5, 5, 5, 0, 0]  # what came in last can be shed only later
    assert _overloads(known, shed_per_hour=9) == [(0.4, 1)]
    assert _overloads(known) == [(0.4, 0.8)]
    past = [0, 5, 5, 0, 0, 0, 0, 0, 0, 0]
    assert _overloads(past, shed_per_hour=9) == [(0.1, 0.3)]
    two_deadlines_ago = [0, 0, 0, 0, 0, 5, 0, 0, 0, 0]
    assert _overloads(two_deadlines_ago, shed_per_hour=9) == [(0.5, 0.6)]


def test_two_places_are_a_line_and_one_alone_is_a_dot():
    line, dots = charts._lines("ink", [[(0.1, 0.5)], [(0.2, 0.5), (0.3, 0.6)]])
    assert (line.kind, dots.kind) == ("line", "dots")
    assert line.path == charts._path([(0.2, 0.5), (0.3, 0.6)])
    assert dots.path == charts._path([(0.1, 0.5), (0.1, 0.5)])


def test_deadlines_that_are_nearly_one_are_a_line_others_are_two_and_so_is_the_alarm():
    def levels(shortest, longest, alarm=None):
        found = charts._levels({"min": shortest, "max": longest}, alarm)
        return [(seconds, name) for seconds, name, _ in found]

    assert levels(None, None) == []
    assert levels(3.2, 4.2) == [(3, "deadline")]
    assert levels(3.2, 4.3) == [(4.3, "longest deadline"), (3.2, "shortest deadline")]
    assert levels(60.5, 66) == [(60, "deadline")]
    assert levels(20, 22) == [(20, "deadline")]
    assert levels(60, 67, 62) == [
        (67, "longest deadline"),
        (62, "alarm"),
        (60, "shortest deadline"),
    ]


def test_words_stand_before_their_mark_where_there_is_more_room():
    extents = ((0.1, (0.0825, 0.245)), (0.55, (0.5325, 0.695)), (0.9, (0.755, 0.9175)))
    for place, extent in extents:
        assert timeline._extent(place, "20:00:00 paused") == pytest.approx(extent)


def test_of_marks_that_are_close_every_second_number_stands_below():
    seconds = (1, 8, 9, 10, 40, 45)
    events = [{"at": iso(second * SECOND), "name": "paused"} for second in seconds]
    answers = {"backlog": {"max": 0, "max_at": None}, "shed_at": {"first": None, "last": None}}
    marks = timeline._marks(answers, events, HUNDRED, say=str)
    assert [mark.few_row for mark in marks] == [0, 0, 1, 0, 0, 1]


@pytest.mark.parametrize(("most", "last"), [(1, 10), (2, 70)])
def test_what_happens_to_the_queue_is_marked_in_its_order_where_it_is_more_than_nothing(most, last):
    answers = {
        "backlog": {"max": most, "max_at": iso(55 * SECOND)},
        "shed_at": {"first": iso(10 * SECOND), "last": iso(last * SECOND)},
    }
    outside = [{"at": iso(second * SECOND), "name": "outside"} for second in (-1, 101)]
    marks = timeline._marks(answers, outside, HUNDRED, say=lambda at: at[17:19])
    told = [(mark.number, mark.at, mark.told, mark.name, mark.is_before) for mark in marks]
    first = (1, 0.1, "10", "the first task is shed", False)
    waits = "most wait: 2"
    more = [(2, 0.55, "55", waits, False), (3, 0.7, "10", "the last task is shed", True)]
    assert told == [first, *(more if most > 1 else [])]


def test_each_mark_stands_in_a_row_where_its_words_touch_no_others():
    words = "20:00:00 paused"
    taken: list[list[tuple[float, float]]] = []
    places = (0.1, 0.12, 0.5, 0.9, 0.91, 0.99)
    rows = [timeline._free_row(taken, timeline._extent(place, words)) for place in places]
    assert rows == [0, 1, 0, 0, 1, 2]
    for touching in ((0.25, 0.375), (0.5, 0.75)):
        assert timeline._free_row([[(0.375, 0.5)]], touching) == 1
    for row in taken:
        ordered = sorted(row)
        assert all(end < begin for (_, end), (begin, _) in pairwise(ordered))


def test_marks_take_as_many_rows_as_they_need_and_none_without_any():
    events = [{"at": iso(second * SECOND), "name": "paused"} for second in (1, 2, 3)]
    answers = {"backlog": {"max": 0, "max_at": None}, "shed_at": {"first": None, "last": None}}
    shape: Any = dict.fromkeys(("phases", "overloads", "plots", "numbers"), ())
    for its, rows in ((events, (3, 2)), (events[:1], (1, 1)), ([], (0, 0))):
        marks = timeline._marks(answers, its, HUNDRED, say=str)
        found = timeline.Timeline(time=HUNDRED, marks=marks, **shape)
        assert (found.rows, found.few_rows) == rows


def test_nothing_is_drawn_of_no_task_or_no_time():
    point = {"time": iso(0), "until": iso(SECOND)}
    for created, end, points in ((0, SECOND, [point]), (1, 0, [point]), (1, SECOND, [])):
        answers = {"tasks": {"created": created}, "window": {"from": iso(0), "to": iso(end)}}
        assert timeline.of(answers, over_time=points, waits=[], known=about.NOTHING) is None


def test_phases_are_lettered_from_a_on_and_again_after_z():
    assert [_letter(number) for number in (1, 2, 26, 27)] == ["A", "B", "Z", "A"]
