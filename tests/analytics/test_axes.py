"""Where the ticks of both axes are, and what they say."""

from itertools import pairwise
from math import log

import pytest

from lifoq_analytics.page import axes, words
from lifoq_analytics.times import from_iso

MINUTE, HOUR, DAY = 60, 3_600, 86_400


def _plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_time_with_an_offset_is_read_as_it_says_and_one_without_is_utc():
    noon = from_iso("2026-11-20T12:00:00Z")
    assert from_iso("2026-11-20T14:00:00+02:00") == noon == from_iso("2026-11-20T12:00:00")


def _time(start: str, seconds: float) -> axes.Time:
    begin = from_iso(f"2026-11-20T{start}Z")
    return axes.Time(start=begin, end=begin + round(seconds * 1_000_000))


@pytest.mark.parametrize(
    ("start", "seconds", "labels"),
    [
        ("10:00:00", 10, [f"10:00:{second:02}" for second in range(11)]),
        ("10:00:00.5", 10, [f"10:00:{second:02}" for second in range(1, 11)]),
        ("10:00:57", 11, ["10:00:58", *(f"10:01:{second:02}" for second in range(0, 9, 2))]),
        ("10:00:00", 75, [*(f"10:00:{second}0" for second in range(6)), "10:01:00", "10:01:10"]),
        ("10:00:00", 6 * MINUTE, [f"10:0{minute}" for minute in range(7)]),
        ("09:59:30", 10 * MINUTE, [f"10:{minute:02}" for minute in range(10)]),
        ("00:30:00", 18 * HOUR, [f"{hour:02}:00" for hour in range(2, 19, 2)]),
        ("23:56:30", 20 * MINUTE, ["23:58", "21 Nov", *(f"00:{n:02}" for n in range(2, 17, 2))]),
        (
            "00:00:00",
            1.5 * DAY,
            ["20 Nov", *("06:00", "12:00", "18:00", "21 Nov", "06:00", "12:00")],
        ),
    ],
)
def test_times_have_ten_ticks_at_the_most_at_moments_that_a_clock_shows(start, seconds, labels):
    assert [tick.label for tick in _time(start, seconds).ticks()] == labels


def test_ticks_of_time_lie_where_their_moments_do_and_every_third_stays_on_a_phone():
    time = _time("10:00:45", 5 * MINUTE)
    ticks = time.ticks()
    assert [tick.label for tick in ticks[:3]] == ["10:01:00", "10:01:30", "10:02:00"]
    assert [tick.at for tick in ticks[:3]] == pytest.approx([0.05, 0.15, 0.25])
    assert [tick.minor for tick in ticks[:7]] == [False, True, True, False, True, True, False]
    assert (time.at(time.start - 1), time.at(time.end + 1)) == (0, 1)


def test_where_ten_ticks_are_not_enough_they_lie_at_the_next_step_that_a_clock_or_calendar_has():
    steps = (
        *(0, 1, 2, 5, 10, 15, 30),
        *(MINUTE * n for n in (1, 2, 5, 10, 15, 30)),
        *(HOUR * n for n in (1, 2, 3, 6, 12)),
        *(DAY * n for n in (1, 2, 7, 14, 28, 91, 182, 364, 365)),
    )
    for before, step in pairwise(steps):
        seconds = 10 * before + 1
        ticks = axes.Time(start=0, end=seconds * 1_000_000).ticks()
        assert [tick.at * seconds for tick in ticks] == pytest.approx(range(0, seconds + 1, step))


@pytest.mark.parametrize("years", [1, 10, 100])
def test_a_long_time_has_few_ticks_of_whole_days(years):
    ticks = _time("00:00:00", years * 365 * DAY).ticks()
    assert 2 <= len(ticks) <= 11
    assert all(" " in tick.label for tick in ticks)


@pytest.mark.parametrize(
    ("most", "labels"),
    [
        (0, ["0", "1"]),
        (1, ["0", "1"]),
        (4, ["0", "1", "2", "3", "4"]),
        (5, ["0", "2", "4", "6"]),
        (2_000, ["0", "500", "1,000", "1,500", "2,000"]),
        (2_100, ["0", "1,000", "2,000", "3,000"]),
    ],
)
def test_numbers_have_ticks_from_nought_to_beyond_the_most(most, labels):
    values = axes.counts(most)
    assert [tick.label for tick in values.ticks] == labels
    assert not any(tick.minor for tick in values.ticks)
    assert [tick.at for tick in values.ticks] == [n / (len(labels) - 1) for n in range(len(labels))]
    top = float(labels[-1].replace(",", ""))
    assert values.at(top / 2) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("most", "labels"),
    [
        (0, ["0/s", "0.5/s"]),
        (0.5, ["0/min", "10/min", "20/min", "30/min"]),
        (2.5, ["0/s", "1/s", "2/s", "3/s"]),
        (0.01, ["0/h", "10/h", "20/h", "30/h", "40/h"]),
    ],
)
def test_rates_have_even_ticks_for_a_time_in_which_something_happens(most, labels):
    values = axes.rates(most, words.per(most))
    assert [tick.label for tick in values.ticks] == labels
    assert values.at(0) == 0
    assert values.at(most) <= 1


@pytest.mark.parametrize(
    ("least", "most", "labels"),
    [
        (1, 1, ["100 ms", "1 s"]),
        (0.02, 30, ["10 ms", "100 ms", "1 s", "10 s", "1 min"]),
        (20, 20 * MINUTE, ["10 s", "1 min", "10 min", "1 h"]),
        (0.00001, 0.001, ["1 ms", "10 ms"]),
        (0.00001, 5, ["1 ms", "10 ms", "100 ms", "1 s", "10 s"]),
        (DAY, 200 * DAY, ["10 h", "4 d", "40 d", "400 d"]),
        (5, 30 * DAY, ["1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "4 d", "40 d"]),
    ],
)
def test_durations_have_a_tick_about_every_decade_and_room_above(least, most, labels):
    values = axes.durations(least, most)
    assert [_plain(tick.label) for tick in values.ticks] == labels
    places = [tick.at for tick in values.ticks]
    assert places == sorted(places)
    assert places[0] == 0
    assert places[-1] <= 1
    assert 0 <= values.at(least) <= values.at(most) < 1
    assert values.at(0) == 0
    assert values.at(1_000 * most) == 1


def test_an_axis_of_durations_goes_on_to_three_times_the_most_but_is_a_decade_at_the_least():
    assert [tick.at for tick in axes.durations(1, 20).ticks] == pytest.approx([0, log(10, 60), 1])
    assert [tick.at for tick in axes.durations(0.00001, 0.001).ticks] == [0, 1]
