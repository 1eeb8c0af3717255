"""Numbers that a caller gives: what is no number, or an impossible one, gets a sentence."""

import math
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest

from lifoq import Backoff, Busy, InvalidInput, Lifetimes, Queue, Registry, Retry, WorkerSettings
from lifoq.basics.numbers import check_count, check_rate, check_seconds, seconds

NO_NUMBER = [math.nan, math.inf, -math.inf, -1, 10**400, 10**5000, "5", True, [], None]
WRONG = {
    check_seconds: [*NO_NUMBER, 0, 4e8, timedelta(seconds=5)],
    check_rate: [*NO_NUMBER, 0, 2_000_000.0],
    check_count: [*NO_NUMBER, 0, 2.5, 2.0, 2_000_000],
}


@pytest.mark.parametrize("check", WRONG)
def test_what_is_no_number_of_its_kind_is_refused(check):
    for value in WRONG[check]:
        with pytest.raises(InvalidInput, match=r"must be a (whole )?number") as error:
            check("field", value)
        assert (error.value.field, error.value.value) == ("field", value)


def registered(**terms: Any) -> None:
    Registry().task("a", **terms)(lambda _payload, _context: None)


QUEUE = Queue.in_memory()
DOORS = [
    *(
        (settings, one.name)
        for settings in (Lifetimes, WorkerSettings, Backoff)
        for one in fields(settings)
        if type(getattr(settings(), one.name)) in (int, float)
    ),
    *((WorkerSettings, name) for name in ("adaptive_threshold", "rate_limit")),
    *((registered, name) for name in ("timeout", "in_flight", "max_attempts", "rate_limit")),
    *((QUEUE.stats, "cap"), (QUEUE.peek, "limit")),
    *((QUEUE.redrive_many, "limit"), (QUEUE.redrive_many, "per_second")),
]


@pytest.mark.parametrize(("make", "field"), DOORS)
def test_every_door_refuses_what_is_no_number(make, field):
    with pytest.raises(InvalidInput, match=r"must be a (whole )?number") as error:
        make(**{field: -1})
    assert error.value.field.endswith(field)


@pytest.mark.parametrize("error", [Retry, Busy])
def test_task_code_asks_for_a_retry_in_seconds_or_a_timedelta(error):
    assert error("why", after=timedelta(minutes=2)).after == 120
    assert error("why", after=0).after == 0
    for after in (math.nan, 10**400, "5", timedelta(days=366)):
        with pytest.raises(InvalidInput, match="seconds from 0 to a year, or a timedelta"):
            error("why", after=after)


def test_a_duration_may_be_a_timedelta_where_it_is_said():
    assert seconds("timeout", timedelta(minutes=1)) == 60
    for value, problem in (("5", "a number of seconds or a timedelta"), (timedelta.max, "ten")):
        with pytest.raises(InvalidInput, match=problem):
            seconds("timeout", value)


def test_a_lease_is_at_most_a_day_and_a_heartbeat_comes_before_it_is_over():
    assert WorkerSettings(lease=86_400).lease == 86_400
    with pytest.raises(InvalidInput, match="lease=86401: is longer than 86400 s; shorten it"):
        WorkerSettings(lease=86_401)
    with pytest.raises(InvalidInput, match="heartbeat=30: must be shorter than the lease"):
        WorkerSettings(lease=30, heartbeat=30)


def test_a_duration_of_nothing_is_taken_where_nothing_has_to_happen_in_it():
    WorkerSettings(window=10 * 365 * 86_400, in_flight=1_000_000, linger=0, settle_time=0)
    Backoff(min_seconds=5, max_seconds=5, immediate=0)
    for field in ("window", "task_timeout", "lease", "heartbeat", "adaptive_threshold"):
        with pytest.raises(InvalidInput, match=f"{field}=0"):
            WorkerSettings(**{field: 0})
