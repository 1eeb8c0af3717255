"""Numbers that a caller gives: what is no number, or an impossible one, gets a sentence."""

import math
from datetime import timedelta
from typing import Any

import pytest

from lifoq import Backoff, Busy, InvalidInput, Lifetimes, Queue, Registry, Retry, WorkerSettings
from lifoq.basics.numbers import seconds
from lifoq.testing.hosts import ManualHost
from lifoq.worker.limits import TokenBucket

NO_DURATION = [
    math.nan,
    math.inf,
    -math.inf,
    -1,
    10**400,
    10**5000,
    "5",
    True,
    timedelta(seconds=5),
    4e8,
    [],
]
NO_COUNT = [0, -1, 2.5, 2.0, math.nan, math.inf, 10**400, "3", True, 2_000_000]
NO_RATE = [0, -1, math.nan, math.inf, 10**400, 10**5000, "3", True, 2_000_000.0]


def str_of(value: Any) -> str:
    return "10**5000" if value == 10**5000 else repr(value)[:20]


def refused(make: Any, field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"must be a (whole )?number") as error:
        make(**{field: value})
    assert error.value.field.endswith(field)
    assert error.value.value is value


def registered(**terms: Any) -> None:
    Registry().task("a", **terms)(lambda _payload, _context: None)


@pytest.mark.parametrize("value", [*NO_DURATION, None], ids=str_of)
def test_a_duration_that_is_none_is_refused(value: Any):
    for field in ("deadline", "success_retention", "failure_retention"):
        refused(Lifetimes, field, value)
    for field in ("window", "task_timeout", "lease", "heartbeat", "linger", "settle_time"):
        refused(WorkerSettings, field, value)
    for field in ("min_seconds", "max_seconds"):
        refused(Backoff, field, value)
    if value is not None:
        refused(WorkerSettings, "adaptive_threshold", value)
        refused(registered, "timeout", value)


def test_a_duration_of_nothing_is_refused_where_something_is_to_happen_in_it():
    for field in ("window", "task_timeout", "lease", "heartbeat", "adaptive_threshold"):
        refused(WorkerSettings, field, 0)
    refused(registered, "timeout", 0)


@pytest.mark.parametrize("value", NO_COUNT, ids=str_of)
def test_a_count_that_is_none_is_refused(value: Any):
    for field in ("in_flight", "page", "max_attempts"):
        refused(WorkerSettings, field, value)
    for field in ("in_flight", "max_attempts"):
        refused(registered, field, value)
    if value != 0:
        for field in ("immediate", "pre_backoff", "post_backoff"):
            refused(Backoff, field, value)
    queue = Queue.in_memory()
    refused(queue.stats, "cap", value)
    refused(queue.peek, "limit", value)
    refused(queue.redrive_many, "limit", value)


@pytest.mark.parametrize("value", NO_RATE, ids=str_of)
def test_a_rate_that_is_none_is_refused(value: Any):
    refused(WorkerSettings, "rate_limit", value)
    refused(registered, "rate_limit", value)
    refused(lambda rate: TokenBucket(rate, ManualHost()), "rate", value)
    refused(Queue.in_memory().redrive_many, "per_second", value)


def test_what_is_allowed_to_the_very_end_is_taken():
    WorkerSettings(window=10 * 365 * 86_400, in_flight=1_000_000, linger=0, settle_time=0)
    Backoff(min_seconds=5, max_seconds=5, immediate=0)
    registered(timeout=0.001, in_flight=1, rate_limit=0.001)


def test_a_heartbeat_must_come_before_the_lease_is_over():
    with pytest.raises(InvalidInput, match="shorter than the lease, which is 5 s"):
        WorkerSettings(lease=5, heartbeat=5)


@pytest.mark.parametrize("error", [Retry, Busy])
def test_task_code_asks_for_a_retry_in_seconds_or_a_timedelta(error: type[Retry]):
    assert error("why", after=timedelta(minutes=2)).after == 120
    assert error("why", after=0).after == 0
    for after in (math.nan, math.inf, -1, 10**400, "5", True, timedelta(days=366), []):
        with pytest.raises(InvalidInput, match="seconds from 0 to a year, or a timedelta"):
            error("why", after=after)  # type: ignore[arg-type]


def test_a_duration_may_be_a_timedelta_where_it_is_said():
    assert seconds("timeout", timedelta(minutes=1)) == 60
    with pytest.raises(InvalidInput, match="a number of seconds or a timedelta"):
        seconds("timeout", "5")
    with pytest.raises(InvalidInput, match="ten years"):
        seconds("timeout", timedelta.max)
