"""The outcome of an attempt, decided before it is written."""

import random

import pytest

from lifoq import Backoff, Busy, NewTask, Retry, Store, TaskError
from lifoq.basics.host import MICROSECONDS
from lifoq.store.memory_table import MemoryTable
from lifoq.testing import ManualHost
from lifoq.worker.handlers.outcome import TOO_LATE, GiveUp, TryAgain, later, raised

HOST = ManualHost()
BACKOFF = Backoff(min_seconds=2, jitter=False)


def claimed(attempts):
    """A task at its so many-th attempt, an hour before its deadline."""
    store = Store(MemoryTable(), host=HOST)
    task = store.put(NewTask(task_type="a"))
    for n in range(attempts):
        claim = store.claim(task.task_id, claim_id=f"c{n}", lease=30)
        if n + 1 < attempts:
            store.retry(claim, TaskError(type="ValueError", message=""), delay=0)
    return claim


def terms(task, max_attempts=5):
    return {
        "task": task,
        "max_attempts": max_attempts,
        "backoff": BACKOFF,
        "draw": random.Random(0),
        "now": HOST.now(),
    }


@pytest.mark.parametrize(("attempts", "delay"), [(1, 2), (2, 4), (3, 8)])
def test_an_error_waits_longer_each_time_and_a_lack_of_room_as_at_first_and_does_not_count(
    attempts, delay
):
    task = claimed(attempts)
    assert raised(ValueError(), **terms(task)).delay == delay
    busy = raised(Busy(), **terms(task))
    assert (busy.delay, busy.counts) == (2, False)


@pytest.mark.parametrize("after", [float("nan"), float("inf"), -1, "soon", None])
def test_a_wish_that_cannot_be_granted_is_passed_over(after):
    error = Retry()
    error.after = after
    assert raised(error, **terms(claimed(1))).delay == 2


def test_a_retry_at_the_very_deadline_comes_too_late():
    task = claimed(1)
    left = (task.expires_at - HOST.now()) / MICROSECONDS
    too_late = raised(Retry("why", after=left), **terms(task))
    assert isinstance(too_late, GiveUp)
    assert "why" in too_late.error.message
    assert isinstance(raised(Retry(after=left - 0.000001), **terms(task)), TryAgain)


def test_a_retry_that_is_written_late_stays_due_when_it_was_to_be():
    task = claimed(1)
    retry = raised(Retry(after=8), **terms(task))

    def after(seconds):
        return later(retry, seconds, task=task, now=HOST.now())

    assert after(3).delay == 5
    assert 0 < after(20).delay < 0.01  # still outside of the line: its answer may have been lost
    past = later(retry, 20, task=task, now=task.expires_at)
    assert isinstance(past, GiveUp)
    assert past.error.message.startswith(TOO_LATE)
    at_once = TryAgain(error=retry.error, delay=0, counts=False)
    assert later(at_once, 20, task=task, now=task.expires_at) is at_once
    busy = raised(Busy(), **terms(task))
    assert isinstance(later(busy, 20, task=task, now=task.expires_at), TryAgain)
