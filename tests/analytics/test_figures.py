"""The numbers at the top of the page: which there are, and what is said of them."""

from typing import Any

import pytest

from lifoq_analytics.page import figures


def _answers(*, shed: int = 0, failed: int = 0, served: int = 8) -> dict[str, Any]:
    spread = {"p50": 0.085, "p95": 2.0, "p99": 4.2} if served or failed else dict.fromkeys(
        ("p50", "p95", "p99")
    )  # fmt: skip
    return {
        "window": {"from": "2026-11-20T15:00:00.000000Z", "to": "2026-11-20T15:10:00.000000Z"},
        "tasks": {
            "created": shed + failed + served,
            "succeeded": served,
            "failed": failed,
            "shed": shed,
        },
        "shedding_rate": shed / (shed + failed + served) if shed + failed + served else None,
        "wait_seconds": spread,
        "service_seconds": spread,
        "sojourn_seconds": spread,
        "longest_wait_seconds": 10 if shed + failed + served else None,
        "oldest_waiting_seconds": 3,
        "backlog": {"max": 7, "max_at": "2026-11-20T15:00:55.000000Z", "end": 2},
        "attempts": {"retried": 5},
    }


def _told(found: list[figures.Figure]) -> list[tuple[str, str, str]]:
    return [
        (
            each.key,
            *(text.replace("\N{NO-BREAK SPACE}", " ") for text in (each.shown, each.meaning)),
        )
        for each in found
    ]


MEDIAN = ("wait_seconds.p50", "85 ms", "99 of 100 waited no longer than 4.2 s.")
LONGEST = ("longest_wait_seconds", "10 s", "Of any task, served or not.")


@pytest.mark.parametrize(
    ("answers", "worst"),
    [
        (_answers(shed=2), ("shedding_rate", "20 %", "2 tasks passed the deadline unfinished.")),
        (
            _answers(shed=2, failed=1),
            ("shedding_rate", "18 %", "2 tasks passed the deadline unfinished."),
        ),
        (
            _answers(failed=2),
            ("tasks.failed", "2", "Of 10 tasks that ended. No task passed its deadline."),
        ),
        (_answers(), ("shedding_rate", "0 %", "No task passed its deadline.")),
    ],
)
def test_the_first_number_is_the_worst_that_happened(answers, worst):
    assert _told(figures.main(answers)) == [worst, MEDIAN, LONGEST]


def test_what_is_not_known_is_left_out():
    assert _told(figures.main(_answers(served=0, shed=1)))[1:] == [LONGEST]
    assert _told(figures.main(_answers(served=0))) == []
    assert figures.others(_answers(served=0)) == []


def test_the_others_are_told_with_what_they_are_of():
    assert _told(figures.others(_answers())) == [
        ("backlog.max", "7", "at 15:00:55"),
        ("backlog.end", "2", "the oldest for 3 s"),
        ("wait_seconds.p95", "2 s", "of the served"),
        ("service_seconds.p50", "85 ms", "last claim to end"),
        ("sojourn_seconds.p50", "85 ms", "put to end"),
        ("attempts.retried", "5", ""),
    ]
    still = {
        **_answers(),
        "oldest_waiting_seconds": None,
        "backlog": {"max": 0, "max_at": None, "end": 0},
    }
    assert _told(figures.others(still))[:2] == [("backlog.max", "0", ""), ("backlog.end", "0", "")]
