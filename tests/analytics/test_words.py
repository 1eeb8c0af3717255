"""What the page says, it says as a person would."""

import re
from typing import Any

import pytest

from analytics.page import verdict, words


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
        (0.998, "99.8 %"),
        (0.99999, "over 99.99 %"),
    ):
        assert _plain(words.share(share)) == said


def test_rates_are_told_for_a_time_in_which_something_happens():
    assert words.per(12).rate(12.34) == "12.3/s"
    assert words.per(0.5).rate(0.5) == "30/min"
    assert words.per(0.001).rate(0.001) == "3.6/h"
    assert words.per(0).rate(0) == "0/s"


def _answers(*, longest: float = 10, backlog: int | None = None, **ended: int) -> dict[str, Any]:
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


WAITED = "who was served waited 85 ms in the median"
LONGEST = "the median wait was 85 ms, the longest 10 s"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            _answers(succeeded=54, shed=46, longest=3_600),
            f"46 % was shed; {WAITED}, while the oldest waited 1 h.",
        ),
        (
            _answers(succeeded=50, waiting=50),
            f"Nothing was shed; {WAITED}, while the oldest waited 10 s; 50 wait now.",
        ),
        (
            _answers(succeeded=96, failed=4),
            f"Nothing was shed; {LONGEST}; 4 % of what ended failed.",
        ),
        (_answers(), "No task came in."),
        (
            _answers(failed=40, longest=0.085),
            "None succeeded, 40 failed; nothing was shed; who was served waited 85 ms.",
        ),
        (_answers(waiting=1), "The only task has not been served yet; it has waited 10 s."),
        (_answers(waiting=30), "Nobody was served: 30 tasks wait, the oldest for 10 s."),
        (
            _answers(shed=25, cancelled=1),
            "Nobody was served: 25 tasks were shed and 1 task was cancelled.",
        ),
        (_answers(waiting=2, backlog=0), "Nobody was served: 2 tasks are not due yet."),
    ],
)
def test_the_verdict_is_one_sentence_for_every_kind_of_queue(answers, said):
    assert _plain(verdict.sentence(answers)) == said


def test_a_moment_is_told_with_its_day_where_there_are_several():
    moment, later = "2026-11-20T15:00:55.000000Z", "2026-11-21T00:00:00.000000Z"
    assert words.teller({"from": moment, "to": moment})(moment) == "15:00:55"
    assert words.teller({"from": moment, "to": later})(moment) == "20 Nov 15:00:55"


def _plain(text: str) -> str:
    return re.sub("\N{NO-BREAK SPACE}", " ", text)
