"""When schedules fire."""

from datetime import UTC, datetime

import pytest

from localcloud.schedule_expression import UnsupportedExpressionError, parse

NOON = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)
"""A Saturday; the night that follows begins summer time in Berlin."""


def following(expression: str, zone: str = "UTC", moment: datetime = NOON) -> str | None:
    found = parse(expression, zone).following(moment, NOON)
    return None if found is None else found.strftime("%Y-%m-%d %H:%M:%S")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("rate(5 minutes)", "2026-03-28 12:05:00"),
        ("rate(1 hour)", "2026-03-28 13:00:00"),
        ("cron(0/15 * * * ? *)", "2026-03-28 12:15:00"),
        ("cron(30 9 * * ? *)", "2026-03-29 09:30:00"),
        ("cron(0 8 ? * MON-FRI *)", "2026-03-30 08:00:00"),
        ("cron(0 0 1 1 ? 2027)", "2027-01-01 00:00:00"),
        ("cron(0 0 29 2 ? *)", "2028-02-29 00:00:00"),
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
    before = datetime(2026, 3, 28, 11, 59, 59, tzinfo=UTC)

    assert rate.following(before, NOON) == NOON
    assert following("rate(2 minutes)", moment=datetime(2026, 3, 28, 12, 3, tzinfo=UTC)) == (
        "2026-03-28 12:04:00"
    )


def test_a_calendar_follows_its_time_zone_through_the_change_of_the_clocks():
    assert following("cron(0 8 * * ? *)", "Europe/Berlin") == "2026-03-29 06:00:00"
    assert following("at(2026-03-28T14:00:00)", "Europe/Berlin") == "2026-03-28 13:00:00"


@pytest.mark.parametrize("expression", ["rate(5)", "cron(* * * *)", "cron(0 0 L * ? *)", "soon"])
def test_an_expression_that_cannot_be_run_is_named(expression):
    with pytest.raises(UnsupportedExpressionError, match="is not supported"):
        parse(expression)
