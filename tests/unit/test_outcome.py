"""The outcome of an attempt, decided before it is written."""

import random

import pytest

from lifoq import Backoff, Busy, NewTask, Retry, Store, TaskError
from lifoq.basics.host import MICROSECONDS
from lifoq.store.memory_table import MemoryTable
from lifoq.testing import ManualHost
from lifoq.worker.handlers.outcome import (
    TOO_LATE,
    Done,
    GiveUp,
    Succeed,
    TryAgain,
    later,
    raised,
    returned,
)

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
    assert raised(Busy(after=7), **terms(task)).delay == 7


@pytest.mark.parametrize("error", [ValueError("no"), Retry("no", after=1)])
def test_the_last_attempt_is_followed_by_no_other_and_waits_grow_up_to_the_one_before_it(error):
    gives_up = raised(error, **terms(claimed(3), max_attempts=3))
    assert gives_up == GiveUp(error=TaskError.of(error))
    grows = Backoff(min_seconds=1, max_seconds=9, growth="linear", jitter=False)
    before = {**terms(claimed(2), max_attempts=3), "backoff": grows}
    assert raised(ValueError(), **before).delay == 9


def test_after_a_fault_a_task_of_a_batch_runs_alone_but_not_after_a_retry_that_it_asked_for():
    task = claimed(1)
    assert raised(ValueError(), **terms(task), batched=True).alone
    assert not raised(ValueError(), **terms(task)).alone
    assert not raised(Retry(), **terms(task), batched=True).alone
    assert raised(Retry(after=0), **terms(task)).delay == 0
    foreign = ValueError()
    foreign.after = 7  # only a Retry has a say
    assert raised(foreign, **terms(task)).delay == 2


FOLLOW_UP = NewTask(task_type="b")


@pytest.mark.parametrize("follow_ups", [(), [FOLLOW_UP], (FOLLOW_UP,) * 99])
def test_a_handler_returns_its_result_and_up_to_99_tasks_that_follow(follow_ups):
    done = Done(result={"paid": True}, follow_ups=follow_ups)
    assert returned(done) == Succeed(result='{"paid":true}', follow_ups=tuple(follow_ups))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (Done(follow_ups=FOLLOW_UP), "must be a list of NewTask"),
        (Done(follow_ups=[FOLLOW_UP] * 100), "follow_ups=100: are more than the 99"),
        (Done(follow_ups=[FOLLOW_UP, "b"]), "follow_ups[1]='b': must be a NewTask"),
        (object(), "result"),
    ],
)
def test_an_answer_that_cannot_be_kept_fails_at_once_and_says_why(value, why):
    outcome = returned(value)
    assert isinstance(outcome, GiveUp)
    assert (outcome.error.type, why in outcome.error.message) == ("InvalidInput", True), outcome


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
    latest = task.expires_at - 5 * MICROSECONDS
    assert later(retry, 3, task=task, now=latest - 1).delay == 5
    assert isinstance(later(retry, 3, task=task, now=latest), GiveUp)
    past = later(retry, 20, task=task, now=task.expires_at)
    assert isinstance(past, GiveUp)
    assert past.error.message.startswith(TOO_LATE)
    at_once = TryAgain(error=retry.error, delay=0, counts=False)
    assert later(at_once, 20, task=task, now=task.expires_at) is at_once
    busy = raised(Busy(), **terms(task))
    assert isinstance(later(busy, 20, task=task, now=task.expires_at), TryAgain)
