"""The page's tables, bars and sentences below its charts, whole."""

from typing import Any

import pytest

from lifoq.basics.times import iso
from lifoq.items.attempt_history import Ended
from lifoq_analytics.page import details
from lifoq_analytics.page.axes import Time
from lifoq_analytics.page.details import BarRow, Outcome, Part
from tests.analytics.items import BASE, at

WINDOW = {"from": iso(BASE), "to": iso(at(60))}
NOBODY = dict.fromkeys(details.OUTCOMES, 0)


def plain(told: Any) -> Any:
    """Return texts without the space that keeps a number and its unit together."""
    if isinstance(told, str):
        return told.replace("\N{NO-BREAK SPACE}", " ")
    return [plain(part) for part in told]


def test_all_tasks_are_accounted_for_with_their_shares():
    told = details.account({**NOBODY, "created": 4, "succeeded": 1, "taken": 3})
    assert told == [
        Outcome(key=f"tasks.{name}", name=name, color=color, tasks=tasks, share=tasks / 4)
        for name, color, tasks in (
            *(("succeeded", "served", 1), ("failed", "failed", 0), ("cancelled", "cancelled", 0)),
            *(("shed", "shed", 0), ("waiting", "waiting", 0), ("taken", "taken", 3)),
        )
    ]
    assert {one.share for one in details.account({**NOBODY, "created": 0})} == {0.0}


def test_each_type_has_a_bar_of_what_became_of_its_tasks_where_there_are_several():
    mail = {
        **(NOBODY | {"created": 4, "succeeded": 1, "waiting": 3}),
        "shedding_rate": 0.0,
        "wait_seconds": {"p50": 5.0, "p95": 6.0, "p99": 7.0, "max": 8.0},
    }
    assert details.types({"mail": mail}) == []
    first, second = details.types({"mail": mail, "sms": mail})
    assert second.name == "sms"
    assert first == BarRow(
        name="mail",
        parts=[
            Part(color="served", share=0.25, label="succeeded 1"),
            Part(color="waiting", share=0.75, label="waiting 3"),
        ],
        cells=("4", *("0\N{NO-BREAK SPACE}%", "5\N{NO-BREAK SPACE}s", "7\N{NO-BREAK SPACE}s")),
    )


def forecast(**of: Any) -> list[str]:
    """Return what the page says of the queue now: two tasks a second came in and one was served,
    unless ``of`` says otherwise."""
    known = {
        "from": iso(at(50)),
        "to": iso(at(60)),
        "arrivals_per_second": 2.0,
        "first_claims_per_second": 1.0,
        "clears_in_seconds": None,
        "shed_per_hour": 0.0,
        **of,
    }
    use = {"share": of.get("share"), "slots": of.get("slots", 4), "busy_slots": of.get("busy")}
    answers = {
        "window": WINDOW,
        "forecast": known,
        "utilisation": use,
        "tasks": {"created": of.get("created", 9)},
        "backlog": {"end": of.get("waiting", 7)},
    }
    return [plain(said) for said in details.now(answers)]


RATES = "From 01:00:50 to 01:01:00, 2 tasks a second came in and 1 were served."
SHED = "About 3,600 tasks an hour are then going to be shed, one deadline after they come in."
BUSY = "Over the whole time, 2.5 tasks were worked on at a time in the mean."


@pytest.mark.parametrize(
    ("of", "said"),
    [
        ({"waiting": 0}, ["Nothing waits."]),
        ({"clears_in_seconds": 30.0}, ["At these rates the line is empty in 30 s."]),
        (
            {"shed_per_hour": 3_600.4, "share": 0.5, "busy": 2.0},
            [
                "At these rates the line does not become shorter.",
                SHED,
                "Over the whole time, 50 % of 4 slots were in use.",
            ],
        ),
        (
            {"waiting": 0, "busy": 2.5},
            [
                "Nothing waits.",
                "Over the whole time, 2.5 tasks were worked on at a time in the mean.",
            ],
        ),
    ],
)
def test_where_the_queue_is_going_is_said_at_the_rates_of_its_last_moments(of, said):
    assert forecast(**of) == [RATES, *said]


def test_of_a_queue_without_tasks_or_rates_nothing_is_said():
    assert forecast(created=0) == forecast(**{"from": None}) == []
    rarely = {"arrivals_per_second": 0.001, "first_claims_per_second": 0.02}
    assert forecast(**rarely)[0] == (
        "From 01:00:50 to 01:01:00, 0.06 tasks a minute came in and 1.2 were served."
    )


def test_the_worst_tasks_are_shown_and_only_five_of_them():
    task = {"task_id": "t", "task_type": "mail", "enqueued_at": iso(at(5)), "age_seconds": 55.0}
    oldest = [{**task, "attempts": number} for number in range(7)]
    shed = [{"task_type": "mail", "bucket_start": iso(at(20)), "shed": 1_000 + n} for n in range(7)]
    told = {"window": WINDOW, "oldest_waiting": oldest, "largest_sheddings": shed}
    assert plain(details.oldest(told).rows) == [
        ["t", "mail", "01:00:05", "55 s", str(number)] for number in range(5)
    ]
    assert plain(details.sheddings(told).rows) == [
        ["mail", "01:00:20", f"1,00{number}"] for number in range(5)
    ]


def test_failures_past_attempts_and_what_they_cost_are_shown_in_words():
    failed = [{"task_type": "mail", "reason": "Boom", "tasks": 1_234}]
    assert details.failures({"failure_reasons": failed}).rows == [("mail", "Boom", "1,234")]
    past = [{"task_type": "mail", "how": how, "reason": "Boom", "attempts": 1_234} for how in Ended]
    told = details.attempts({"past_attempts": {"by_reason": past}}).rows
    assert [row[0::2] for row in told] == [("mail", "Boom")] * len(Ended)
    assert len({row[1] for row in told}) == len(Ended)
    assert {row[3] for row in told} == {"1,234"}
    operations = {"put": 1_234, "claim": 0, "retry": 1}
    assert details.cost({"operations": operations}).rows == [("put", "1,234"), ("retry", "1")]


def test_the_page_says_what_it_rests_on():
    answers = {
        "table": "Tasks",
        "coverage": {"from": iso(BASE), "to": iso(at(60))},
        "input": {"exports": 1, "files": 2, "rows": 1_234},
    }
    assert plain(details.covers(answers)) == (
        "1 export of the table Tasks, with 2 files and 1,234 lines, from 2025-11-20 01:00:00 to "
        "2025-11-20 01:01:00 (UTC). Of the time before, only what was still in the table is known."
    )
    assert "of the table –, with" in details.covers({**answers, "table": ""})


def test_an_age_that_nobody_was_served_before_is_not_told():
    told = {"fresh_claims": dict.fromkeys(("1", "10"))}
    assert details.freshness(told) == ""
    told = {"fresh_claims": {"1": 0.5, "10": 0.75}}
    assert plain(details.freshness(told)) == (
        "Of those that were served: 50 % before 1 s, 75 % before 10 s."
    )


def test_rates_are_told_for_the_time_in_which_the_greatest_of_them_happens():
    point = {
        "time": iso(BASE),
        "until": iso(at(60)),
        "shed": None,
        "waiting": 1_000,
        "claimed": 0,
        "arrivals": 0.1,
        "first_claims": 0.05,
        "oldest_waiting_seconds": None,
    }
    time = Time(start=BASE, end=at(60))
    (told,) = details.moments(time, [point], [], say=str)
    assert (told.at, told.cells[1:4], told.cells[7:]) == (
        *(0.5, ("6/min", "3/min", "–")),
        ("–", "1,000", "0"),
    )
