"""The page's sentences: they are those of a person."""

import re
from typing import Any

import pytest

from lifoq_analytics.page import details, verdict, words


def test_a_duration_is_told_in_the_unit_that_fits_and_a_share_is_never_rounded_to_all_or_nothing():
    for seconds, said in (
        (None, "–"),
        (0.0001, "under 1 ms"),
        (0.9996, "1 s"),
        (245.4, "4 min 5 s"),
        (3_599, "1 h"),
        (50_000, "14 h"),
    ):
        assert _plain(words.duration(seconds)) == said
    for share, said in (
        (None, "–"),
        (0.00004, "under 0.01 %"),
        (0.0001, "0.01 %"),
        (0.0004, "0.04 %"),
        (0.01, "1 %"),
        (0.099, "9.9 %"),
        (0.101, "10 %"),
        (0.998, "99.8 %"),
        (0.9999, "99.99 %"),
        (0.99999, "over 99.99 %"),
    ):
        assert _plain(words.share(share)) == said


def test_rates_are_told_for_a_time_in_which_something_happens():
    assert words.per(12).rate(12.34) == "12.3/s"
    assert words.per(1).rate(1) == "1/s"
    assert words.per(0.5).rate(0.5) == "30/min"
    assert words.per(0.001).rate(0.001) == "3.6/h"
    assert words.per(0.0001).rate(0.0001) == "0.36/h"
    assert words.per(0).rate(0) == "0/s"


def _answers(
    *, longest: float | None = 10, backlog: int | None = None, **ended: int
) -> dict[str, Any]:
    """A report's answers about so many tasks by outcome, each of which waited 85 ms if served."""
    tasks = dict.fromkeys(("waiting", "taken", "succeeded", "failed", "cancelled", "shed"), 0)
    tasks |= ended
    served = tasks["succeeded"] + tasks["failed"]
    return {
        "tasks": {"created": sum(tasks.values()), **tasks},
        "shedding_rate": tasks["shed"] / max(1, tasks["shed"] + served),
        "wait_seconds": dict.fromkeys(("p50", "max"), 0.085 if served else None),
        "longest_wait_seconds": longest,
        "backlog": {"end": tasks["waiting"] if backlog is None else backlog},
    }


WAITED = "Those served waited 85 ms (median)"
LONGEST = "The median wait was 85 ms, the longest 10 s"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            _answers(succeeded=54, shed=46, longest=3_600),
            f"46 % of the tasks were shed. {WAITED}, while the oldest waited 1 h.",
        ),
        (
            _answers(succeeded=50, waiting=50),
            f"No task was shed. {WAITED}, while the oldest waited 10 s. 50 wait now.",
        ),
        (
            _answers(succeeded=96, failed=4),
            f"No task was shed. {LONGEST}. 4 % of those that ended failed.",
        ),
        (
            _answers(succeeded=99, failed=1),
            f"No task was shed. {LONGEST}. 1 % of those that ended failed.",
        ),
        (_answers(succeeded=996, failed=4), f"No task was shed. {LONGEST}."),
        (_answers(), "No task came in."),
        (
            _answers(failed=40, longest=0.085),
            "None succeeded, 40 failed. No task was shed. Those served waited 85 ms.",
        ),
        (_answers(waiting=1, backlog=0, longest=None), "The only task is not due yet."),
        (_answers(cancelled=1, longest=None), "The only task was cancelled."),
        (_answers(waiting=1), "The only task has not been served yet; it has waited 10 s."),
        (_answers(waiting=30), "Nobody was served: 30 tasks wait, the oldest for 10 s."),
        (
            _answers(shed=25, cancelled=1),
            "Nobody was served: 25 tasks were shed and 1 task was cancelled.",
        ),
        (
            _answers(shed=1, waiting=1),
            "Nobody was served: 1 task was shed and 1 task waits, the oldest for 10 s.",
        ),
        (
            _answers(shed=1, waiting=1, backlog=0),
            "Nobody was served: 1 task was shed and 1 task is not due yet.",
        ),
        (_answers(waiting=2, backlog=0), "Nobody was served: 2 tasks are not due yet."),
    ],
)
def test_the_verdict_is_short_for_every_kind_of_queue(answers, said):
    assert _plain(verdict.sentence(answers)) == said


def _now(**forecast: Any) -> list[str]:
    """Return the sentence about the queue at the end of the report."""
    begin, end = "2026-11-20T15:00:50.000000Z", "2026-11-20T15:00:55.000000Z"
    rates = {"arrivals_per_second": 12.34, "first_claims_per_second": 8.0}
    asked = {"from": begin, "to": end, "clears_in_seconds": 0.0, "shed_per_hour": 0.0, **rates}
    answers = {
        "window": {"from": begin, "to": end},
        "tasks": {"created": 1},
        "backlog": {"end": forecast.pop("waiting", 0)},
        "utilisation": {"share": None, "slots": None, "busy_slots": 0, **forecast.pop("used", {})},
        "forecast": {**asked, **forecast},
    }
    return [_plain(sentence) for sentence in details.now(answers)]


RATES = "From 15:00:50 to 15:00:55, 12.3 tasks a second came in and 8 were served."


def test_how_it_stands_at_the_end_is_told_with_the_rates_that_it_rests_on():
    assert _now() == [RATES, "Nothing waits."]
    clears = "At these rates the line is empty in 1 min 30 s."
    assert _now(waiting=5, clears_in_seconds=90) == [RATES, clears]
    grows = "At these rates the line does not become shorter."
    shed = "About 15,624 tasks an hour are then going to be shed, one deadline after they come in."
    assert _now(waiting=5, clears_in_seconds=None) == [RATES, grows]
    found = _now(waiting=5, clears_in_seconds=None, shed_per_hour=15_623.6)
    assert found == [RATES, grows, shed]
    used = "Over the whole time, 50 % of 10 slots were in use."
    assert _now(used={"share": 0.5, "slots": 10, "busy_slots": 5})[2:] == [used]
    used = "Over the whole time, 2.5 tasks were worked on at a time in the mean."
    assert _now(used={"busy_slots": 2.5})[2:] == [used]
    few = _now(arrivals_per_second=0.5, first_claims_per_second=0.01)[0]
    assert few.endswith(", 30 tasks a minute came in and 0.6 were served.")
    assert _now(**{"from": None}) == []


def test_a_period_is_told_with_its_days_and_how_long_it_is():
    begin = "2026-11-20T15:00:55.000000Z"
    assert _plain(words.period(begin, begin)) == "20 November 2026, 15:00:55 UTC"
    same, later = "2026-11-20T15:02:00.000000Z", "2026-11-21T16:00:55.000000Z"
    told = _plain(words.period(begin, same))
    assert told == "20 November 2026, 15:00:55 to 15:02:00 UTC (1 min 5 s)"
    told = _plain(words.period(begin, later))
    assert told == "20 November 2026, 15:00 to 21 November 2026, 16:00 UTC (1 d 1 h)"


def test_a_moment_is_told_with_its_day_where_there_are_several():
    moment, later = "2026-11-20T15:00:55.000000Z", "2026-11-21T00:00:00.000000Z"
    assert words.teller({"from": moment, "to": moment})(moment) == "15:00:55"
    assert words.teller({"from": moment, "to": later})(moment) == "20 Nov 15:00:55"


def _plain(text: str) -> str:
    return re.sub("\N{NO-BREAK SPACE}", " ", text)
