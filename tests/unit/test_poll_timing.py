"""The timing of polls, the belief that the queue is empty, and the circuit breaker."""

import math

import pytest

from lifoq import QueueMisconfigured, StoreUnavailable
from lifoq.basics.host import microseconds
from lifoq.worker.backlog.poll_timing import LONGEST_POLL, POLL_PATIENCE, SHORTEST_POLL, PollTiming
from lifoq.worker.run.circuit_breaker import OPENS_AFTER, CircuitBreaker

S = microseconds(1)


def timing(woken_at=0, linger=0.2):
    return PollTiming(now=0, woken_at=lambda: woken_at, linger=linger)


def test_a_look_on_its_way_keeps_the_next_waiting_for_a_while_only():
    run = timing()
    run.sends(5)
    assert run.poll_at == 5 + microseconds(POLL_PATIENCE)


def test_an_answer_is_old_news_where_a_later_look_was_answered_and_none_where_it_failed():
    run = timing()
    first, second, third = run.sends(0), run.sends(S), run.sends(2 * S)
    run.failed(third, 2 * S)
    assert run.shows(second)
    assert not run.shows(first)


def test_looks_that_find_nothing_to_start_come_ever_more_rarely():
    run, now, gaps = timing(), 0, []
    for _ in range(6):
        run.found_blocked(now, wait=math.inf)
        gaps.append((run.poll_at - now) / S)
        now = run.poll_at
    assert gaps[0] == SHORTEST_POLL
    assert gaps == sorted(gaps)
    assert gaps[-1] == LONGEST_POLL


def test_what_came_back_is_not_overlooked_by_a_page_that_was_asked_for_before():
    run = timing()
    run.one_came_back(S)
    run.found_nothing(S + 1, seen_at=S - 1)
    assert run.believed_at is None
    run.found_nothing(S + 2, seen_at=S)
    assert run.believed_at is not None


def test_after_an_outcome_an_empty_queue_is_polled_once_more_at_once():
    run = timing()
    run.shows(run.sends(0))
    run.more_may_have_come(1)  # too late for that poll
    run.found_nothing(2, seen_at=0)
    assert run.poll_at == 2
    run.shows(run.sends(3))
    run.found_nothing(4, seen_at=0)  # rows behind the first page were read before
    assert run.poll_at > 4
    run.more_may_have_come(5)
    assert run.poll_at == 5


def test_an_empty_queue_is_believed_after_it_was_watched():
    run = timing()
    run.changed()
    run.found_nothing(S, seen_at=S)
    assert not run.believed_empty(S + microseconds(0.19))
    run.found_nothing(S + microseconds(0.1), seen_at=S + microseconds(0.1))
    assert run.believed_empty(S + microseconds(0.2))


def test_after_an_outcome_an_empty_queue_is_watched_for_half_as_long_again():
    run = timing(linger=0.2)
    run.changed()
    run.found_nothing(S, seen_at=S)  # while the task is at work
    run.more_may_have_come(5 * S)
    assert not run.believed_empty(6 * S)
    run.found_nothing(5 * S + 1, seen_at=5 * S)
    assert not run.believed_empty(5 * S + microseconds(0.09))
    assert run.believed_empty(5 * S + microseconds(0.1))


# Trouble

DOWN = StoreUnavailable("down")
LATE = microseconds(OPENS_AFTER)


def test_a_database_that_does_not_answer_is_given_up_after_a_while():
    breaker = CircuitBreaker()
    for moment in (0, LATE - 1):
        breaker.met(DOWN, moment)
        assert not breaker.hopeless
    breaker.passes()  # whatever answers is a new beginning
    breaker.met(DOWN, LATE)
    assert not breaker.hopeless
    breaker.met(DOWN, 2 * LATE)
    assert (breaker.hopeless, breaker.error) == (True, DOWN)


@pytest.mark.parametrize("error", [QueueMisconfigured("no index"), LookupError("what is this")])
def test_what_does_not_pass_by_waiting_ends_the_run_whatever_answers_later(error):
    """A run whose index is missing ended as if all were well, where another call was answered just
    after."""
    breaker = CircuitBreaker()
    breaker.met(error, 0)
    breaker.met(ValueError("and this"), 0)
    breaker.passes()
    assert breaker.hopeless
    assert breaker.fatal is error
