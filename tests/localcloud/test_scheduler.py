"""When schedules fire."""

import json
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from lifoq.schedules.expression import InvalidExpressionError, UnsupportedExpressionError, parse
from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.basics.timer import Timer
from lifoq_localcloud.events.scheduler import Scheduler
from lifoq_localcloud.events.sources import ScheduleConfig
from lifoq_localcloud.moto_adapter import deployed

NOON = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)
"""A Saturday; the night that follows begins summer time in Berlin."""


def following(expression: str, zone: str = "UTC", moment: datetime = NOON) -> str | None:
    found = parse(expression, zone).following(moment, NOON)
    return None if found is None else str(found.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("rate(5 minutes)", "2026-03-28 12:05:00"),
        ("rate(1 hour)", "2026-03-28 13:00:00"),
        ("cron(* * * * ? *)", "2026-03-28 12:01:00"),
        ("cron(0/15 * * * ? *)", "2026-03-28 12:15:00"),
        ("cron(0 13 * * ? *)", "2026-03-28 13:00:00"),
        ("cron(0 8 ? * SUN *)", "2026-03-29 08:00:00"),
        ("cron(0 8 ? * 1 *)", "2026-03-29 08:00:00"),
        ("cron(0 0 1 4 ? *)", "2026-04-01 00:00:00"),
        ("cron(0 0 1 5 ? *)", "2026-05-01 00:00:00"),
        ("cron(30 9 * * ? *)", "2026-03-29 09:30:00"),
        ("cron(0 8 ? * MON-FRI *)", "2026-03-30 08:00:00"),
        ("cron(0 0 1 1 ? 2027)", "2027-01-01 00:00:00"),
        ("cron(0 0 29 2 ? *)", "2028-02-29 00:00:00"),
        ("cron(59 23 31 12 ? 2199)", "2199-12-31 23:59:00"),
        ("cron(0 0 29 2 ? 2029/7)", "2036-02-29 00:00:00"),
        ("cron(0 0 31 2 ? *)", None),
        ("cron(5,10 12 ? MAR SAT *)", "2026-03-28 12:05:00"),
        ("cron(0 0 1 1 ? 2020)", None),
        ("at(2026-03-28T12:00:30)", "2026-03-28 12:00:30"),
        ("at(2026-03-28T12:00:00)", None),
    ],
)
def test_an_expression_fires_next_when_aws_would(expression, expected):
    assert following(expression) == expected


def test_a_rate_begins_at_once_and_keeps_its_beat():
    rate = parse("rate(2 minutes)")
    for seconds in (1, 600):
        assert rate.following(NOON - timedelta(seconds=seconds), NOON) == NOON
    assert following("rate(2 minutes)", moment=datetime(2026, 3, 28, 12, 3, tzinfo=UTC)) == (
        "2026-03-28 12:04:00"
    )


BACK = datetime(2026, 10, 24, 22, 0, tzinfo=UTC)
"""Midnight in Berlin, before the clocks are put back from 3:00 to 2:00, at 1:00 in UTC."""


@pytest.mark.parametrize(
    ("expression", "moment", "expected"),
    [
        ("cron(0 8 * * ? *)", NOON, "2026-03-29 06:00:00"),
        ("at(2026-03-28T14:00:00)", NOON, "2026-03-28 13:00:00"),
        # In the night to 29 March clocks go from 2:00 to 3:00.
        ("cron(30 2 * * ? *)", NOON, "2026-03-30 00:30:00"),
        ("cron(30 2 29 3 ? 2026)", NOON, None),
        ("cron(30 * * * ? *)", datetime(2026, 3, 29, 0, 45, tzinfo=UTC), "2026-03-29 01:30:00"),
        ("cron(30 2 * * ? *)", BACK, "2026-10-25 00:30:00"),
        ("cron(30 2 * * ? *)", datetime(2026, 10, 25, 0, 30, tzinfo=UTC), "2026-10-26 01:30:00"),
        # While the clocks show the same hour once more.
        ("cron(* * * * ? *)", datetime(2026, 10, 25, 1, 6, tzinfo=UTC), "2026-10-25 02:00:00"),
    ],
)
def test_in_a_time_zone_a_time_that_clocks_skip_does_not_come_and_one_shown_twice_comes_once(
    expression, moment, expected
):
    assert following(expression, "Europe/Berlin", moment) == expected


INVALID = (
    *(
        "soon",
        "rate(5)",
        "rate(0 minutes)",
        "rate(-1 minutes)",
        "rate(1.5 hours)",
        "rate(1 second)",
    ),
    *(
        "rate(99999999999999999999 days)",
        "rate(999999999 days)",
        "rate(\u0665 minutes)",
        "at(soon)",
    ),
    *("at(2026-02-30T00:00:00)", "at(2026-02-01)", "cron(* * * *)", "cron(61 * * * ? *)"),
    *("cron(0 24 * * ? *)", "cron(0 0 0 * ? *)", "cron(0 0 1 13 ? *)", "cron(0 0 ? * 8 *)"),
    *("cron(0 0 32 * ? *)", "cron(0 0 1 1 ? 2200)"),
    *("cron(0 0 1 1 ? 1969)", "cron(0/0 * * * ? *)", "cron(0, * * * ? *)", "cron(0-5-9 * * * ? *)"),
    *("cron(*-5 * * * ? *)", "cron(-1 * * * ? *)", "cron(0 0 * * * *)", "cron(0 0 ? * ? *)"),
    *("cron(? 0 1 * ? *)", "cron(L 0 1 * ? *)"),
)
UNSUPPORTED = (
    "cron(0 0 L * ? *)",
    "cron(0 0 3W * ? *)",
    "cron(0 0 ? * MON#2 *)",
    "cron(0 0 ? * FRI-MON *)",
)


def test_what_aws_refuses_is_refused_by_its_name_and_what_cannot_be_run_is_named():
    for expression in INVALID:
        with pytest.raises(
            InvalidExpressionError, match=r"^Invalid Schedule Expression "
        ) as refused:
            parse(expression)
        assert expression in str(refused.value)
    for zone in ("Mars/Olympus", "", "../../etc/passwd", "Europe"):
        with pytest.raises(InvalidExpressionError, match="there is no such time zone"):
            parse("rate(1 hour)", zone)
    for expression in UNSUPPORTED:
        with pytest.raises(UnsupportedExpressionError, match="is not supported"):
            parse(expression)


# The scheduler


def _schedule(expression: str, arn: str) -> ScheduleConfig:
    return ScheduleConfig(
        arn=arn,
        name=arn,
        group="default",
        expression=expression,
        timezone="UTC",
        enabled=True,
        start=None,
        end=None,
        changed=1.0,
        target={"Arn": arn},
        delete_after_completion=False,
    )


def test_one_schedule_that_fails_stops_no_other_and_one_that_is_not_due_does_not_fire():
    schedules = {
        "invalid": "cron(61 * * * ? *)",
        "endless": "rate(99999999999999999999 days)",
        "none": "rate(0 minutes)",
        "broken": "rate(1 hour)",
        "later": "cron(0 0 1 1 ? 2199)",
        "good": "rate(1 hour)",
    }
    configs = [_schedule(expression, arn) for arn, expression in schedules.items()]
    handed, timer = SimpleQueue[str](), Timer()

    def hand(arn: str, body: str) -> bool:
        if arn == "broken":
            raise RuntimeError(body)
        handed.put(arn)
        return True

    scheduler = Scheduler(
        schedules=lambda: configs, delete=configs.remove, hand=hand, send=hand, timer=timer
    )
    try:
        assert handed.get(timeout=300) == "good"
    finally:
        scheduler.close()
        timer.close()


def test_after_what_is_due_the_scheduler_sleeps_until_the_next_or_a_change(monkeypatch, caplog):
    naps = SimpleQueue[tuple[float, bool]]()

    class Nap(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            naps.put((timeout or 0.0, self.is_set()))
            return super().wait(timeout)

    monkeypatch.setattr("lifoq_localcloud.events.scheduler.threading", SimpleNamespace(Event=Nap))
    past, future = "at(2020-01-01T00:00:00)", "at(2199-01-01T00:00:00)"
    now, new_year = datetime.now(UTC), datetime(2020, 1, 1, tzinfo=UTC)
    over = replace(_schedule(past, "over"), delete_after_completion=True)
    configs = [
        over,
        replace(over, arn="switched off", enabled=False),
        replace(over, arn="to come", expression=future),
        replace(over, arn="never", end=new_year - timedelta(seconds=1)),
        replace(_schedule(past, "last"), end=new_year),
        replace(over, arn="kept", target={"Arn": "kept"}, delete_after_completion=False),
        replace(_schedule("rate(1 minute)", "beat"), start=now - timedelta(seconds=30)),
        replace(_schedule("rate(1 hour)", "missed"), start=now - timedelta(hours=2.5)),
    ]
    handed, deleted = list[str](), list[ScheduleConfig]()
    scheduler = Scheduler(
        schedules=lambda: configs,
        delete=deleted.append,
        hand=lambda arn, _body: handed.append(arn) is None,
        send=lambda *_: True,
        timer=SimpleNamespace(),
    )
    try:
        seconds, changed = naps.get(timeout=300)
        assert handed == ["over", "last", "kept", "beat", "missed"]
        assert (deleted, changed) == ([over], False)
        assert seconds <= 30
        scheduler.wake()
        assert naps.get(timeout=300)[1] is False
        assert handed.count("missed") == 1  # though it was due three times
        assert caplog.records == []
    finally:
        scheduler.close()


@pytest.mark.parametrize(
    ("policy", "tries"),
    [
        ({"MaximumRetryAttempts": 2}, 3),
        ({"MaximumRetryAttempts": 0}, 1),
        ({"MaximumEventAgeInSeconds": 60}, 7),
        ({}, 18),  # the event would be older than a day
    ],
)
def test_a_target_that_is_not_there_is_tried_as_often_as_the_schedule_says_and_then_dead_lettered(
    policy, tries
):
    target = {
        "Arn": "gone",
        "Input": "try <aws.scheduler.attempt-number>",
        "RetryPolicy": policy,
        "DeadLetterConfig": {"Arn": "dead letters"},
    }
    schedule = replace(_schedule("rate(1 hour)", "gone"), target=target)
    tried, delays, sent = list[str](), list[float](), SimpleQueue[tuple[str, str]]()

    def at_once(seconds: float, action: Callable[[], None]) -> None:
        delays.append(seconds)
        action()

    scheduler = Scheduler(
        schedules=lambda: [schedule],
        delete=lambda _: None,
        hand=lambda _arn, body: bool(tried.append(body)),
        send=lambda arn, body: bool(sent.put((arn, body))),
        timer=SimpleNamespace(after=at_once),
    )
    try:
        assert sent.get(timeout=300) == ("dead letters", f"try {tries}")
    finally:
        scheduler.close()
    assert tried == [f"try {number + 1}" for number in range(tries)]
    assert delays == [2**number for number in range(tries - 1)]


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ({}, {}),
        (
            {"state": "DISABLED", "schedule_expression_timezone": "Europe/Berlin"},
            {"enabled": False, "timezone": "Europe/Berlin"},
        ),
        ({"action_after_completion": "DELETE"}, {"delete_after_completion": True}),
        (
            {"start_date": NOON.timestamp(), "end_date": "2026-03-28T12:00:00+00:00"},
            {"start": NOON, "end": NOON},
        ),
    ],
)
def test_a_schedule_is_followed_as_it_was_deployed(monkeypatch, stored, read):
    arn, target = "arn:aws:scheduler:us-east-1:123456789012:schedule/g/s", {"Arn": "arn"}
    silent = {"state": None, "schedule_expression_timezone": None, "start_date": None}
    silent |= {"end_date": None, "action_after_completion": None, "last_modified_date": 7.0}
    named = {"arn": arn, "name": "s", "group_name": "g", "schedule_expression": "rate(1 day)"}
    one = SimpleNamespace(**named | silent | stored, target=target)
    group = SimpleNamespace(schedules={"s": one})
    backend = SimpleNamespace(schedule_groups={"g": group})
    monkeypatch.setattr(deployed, "scheduler_backends", {ACCOUNT: {REGION: backend}})
    config = ScheduleConfig(
        arn=arn,
        name="s",
        group="g",
        expression="rate(1 day)",
        timezone="UTC",
        enabled=True,
        start=None,
        end=None,
        changed=7.0,
        target=target,
        delete_after_completion=False,
    )
    assert deployed.schedules() == [replace(config, **read)]


def test_a_target_without_an_input_is_told_of_the_schedule_and_the_time_it_was_due():
    handed = SimpleQueue[str]()
    due = datetime(2020, 1, 1, tzinfo=UTC)
    scheduler = Scheduler(
        schedules=lambda: [_schedule("at(2020-01-01T00:00:00)", "arn:of:it")],
        delete=lambda _: None,
        hand=lambda _arn, body: handed.put(body) is None,
        send=lambda *_: True,
        timer=SimpleNamespace(),
    )
    try:
        told = json.loads(handed.get(timeout=300))
    finally:
        scheduler.close()
    assert uuid.UUID(told.pop("id"))
    assert told == {
        "version": "0",
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "time": due.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "resources": ["arn:of:it"],
        "detail": "{}",
    }
