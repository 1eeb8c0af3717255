"""When a run looks next, when it believes that the queue is empty, and whether it can go on."""

import math

import pytest

from lifoq import QueueMisconfigured, StoreUnavailable
from lifoq.basics.host import microseconds
from lifoq.worker.pace import LONGEST_POLL, LOOK_PATIENCE, SHORTEST_POLL, Pace
from lifoq.worker.trouble import TROUBLE_LIMIT, Trouble

S = microseconds(1)


def pace(woken_at=0, linger=0.2):
    return Pace(now=0, woken_at=lambda: woken_at, linger=linger)


def test_a_look_on_its_way_keeps_the_next_waiting_for_a_while_only():
    run = pace()
    run.sends(5)
    assert run.look_at == 5 + microseconds(LOOK_PATIENCE)


def test_an_answer_is_old_news_where_a_later_look_was_answered_and_none_where_it_failed():
    run = pace()
    first, second, third = run.sends(0), run.sends(S), run.sends(2 * S)
    run.failed(third, 2 * S)
    assert run.shows(second)
    assert not run.shows(first)


def test_looks_that_find_nothing_to_start_come_ever_more_rarely():
    run, now, gaps = pace(), 0, []
    for _ in range(6):
        run.found_blocked(now, wait=math.inf)
        gaps.append((run.look_at - now) / S)
        now = run.look_at
    assert gaps[0] == SHORTEST_POLL
    assert gaps == sorted(gaps)
    assert gaps[-1] == LONGEST_POLL


def test_what_came_back_is_not_overlooked_by_a_page_that_was_asked_for_before():
    run = pace()
    run.one_came_back(S)
    run.found_nothing(S + 1, seen_at=S - 1)
    assert run.believed_at is None
    run.found_nothing(S + 2, seen_at=S)
    assert run.believed_at is not None


def test_after_an_outcome_an_empty_queue_is_looked_at_once_more_at_once():
    run = pace()
    run.shows(run.sends(0))
    run.more_may_have_come(1)  # too late for that look
    run.found_nothing(2, seen_at=0)
    assert run.look_at == 2
    run.shows(run.sends(3))
    run.found_nothing(4, seen_at=0)  # rows behind the first page were read before
    assert run.look_at > 4
    run.more_may_have_come(5)
    assert run.look_at == 5


def test_an_empty_queue_is_believed_after_it_was_watched():
    run = pace()
    run.changed()
    run.found_nothing(S, seen_at=S)
    assert not run.believed_empty(S + microseconds(0.19))
    run.found_nothing(S + microseconds(0.1), seen_at=S + microseconds(0.1))
    assert run.believed_empty(S + microseconds(0.2))


def test_after_an_outcome_an_empty_queue_is_watched_for_half_as_long_again():
    run = pace(linger=0.2)
    run.changed()
    run.found_nothing(S, seen_at=S)  # while the task is at work
    run.more_may_have_come(5 * S)
    assert not run.believed_empty(6 * S)
    run.found_nothing(5 * S + 1, seen_at=5 * S)
    assert not run.believed_empty(5 * S + microseconds(0.09))
    assert run.believed_empty(5 * S + microseconds(0.1))


# Trouble

DOWN = StoreUnavailable("down")
LATE = microseconds(TROUBLE_LIMIT)


def test_a_database_that_does_not_answer_is_given_up_after_a_while():
    trouble = Trouble()
    for moment in (0, LATE - 1):
        trouble.met(DOWN, moment)
        assert not trouble.hopeless
    trouble.passes()  # whatever answers is a new beginning
    trouble.met(DOWN, LATE)
    assert not trouble.hopeless
    trouble.met(DOWN, 2 * LATE)
    assert (trouble.hopeless, trouble.error) == (True, DOWN)


@pytest.mark.parametrize("error", [QueueMisconfigured("no index"), LookupError("what is this")])
def test_what_does_not_pass_by_waiting_ends_the_run_whatever_answers_later(error):
    """A run whose index is missing ended as if all were well, where another call was answered just
    after."""
    trouble = Trouble()
    trouble.met(error, 0)
    trouble.met(ValueError("and this"), 0)
    trouble.passes()
    assert trouble.hopeless
    assert trouble.fatal is error
