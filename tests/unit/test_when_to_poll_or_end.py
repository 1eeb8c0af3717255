"""The facts of a run, and what follows: when the next poll is due, and when the queue is believed
to be empty. And the circuit breaker."""

import math

import pytest

from lifoq import QueueMisconfigured, StoreUnavailable
from lifoq.basics.host import microseconds
from lifoq.worker.backlog.when_to_poll_or_end import (
    EMPTY_POLL,
    IDLE_POLL,
    LONGEST_POLL,
    POLL_PATIENCE,
    SHORTEST_POLL,
    Facts,
    Found,
    believed_at,
    judge,
    next_poll,
)
from lifoq.worker.backlog.when_to_promote import PROMOTE_EVERY, Promotions
from lifoq.worker.run.database_circuit_breaker import OPENS_AFTER, CircuitBreaker

S = microseconds(1)
LINGER = 0.2


def finds(facts, found, now, seen_at=None, opens_in=math.inf):
    """A poll that was sent at ``seen_at`` is judged at ``now``."""
    seen_at = now if seen_at is None else seen_at
    return facts.after_pages_judged(found, now, seen_at=seen_at, woken_at=0, opens_in=opens_in)


START = Facts.of_start(0)
EMPTY = finds(START.after_poll_sent(0).after_poll_answered(1), Found.NOTHING, 0)

WHEN = [
    # what has happened, at which second, and when the next poll is due (seconds), and why
    ("the run begins", START, 0, "the run begins"),
    ("a poll is sent", START.after_poll_sent(5), POLL_PATIENCE, "on its way"),
    (
        "it has failed",
        START.after_poll_sent(0).after_poll_failed(1, 0),
        SHORTEST_POLL,
        "did not answer",
    ),
    ("tasks were started", finds(START, Found.STARTED, 3 * S), 3, "started"),
    ("tasks wait, behind gates", finds(START, Found.BLOCKED, 0), SHORTEST_POLL, "must not start"),
    ("a gate opens soon", finds(START, Found.BLOCKED, 0, opens_in=0.02), 0.02, "must not start"),
    ("nothing waits", EMPTY, EMPTY_POLL, "nothing waits"),
    ("nothing, so far", finds(START, Found.MORE_TO_READ, 0), EMPTY_POLL, "so far"),
    ("a slot is free", finds(START, Found.BLOCKED, 0).after_cause_to_poll(7), 0, "may be free"),
    ("a task came back", EMPTY.after_return(0), 0, "may be free"),
    ("an attempt was settled", EMPTY.after_settlement(0), 0, "may be free"),
    ("a claim has failed", START.after_call_failed(0), SHORTEST_POLL, "did not answer"),
    (
        "nothing, but a change came after",
        finds(EMPTY.after_settlement(1), Found.NOTHING, 2, 0),
        0,
        "nothing",
    ),
]


def test_when_the_next_poll_is_due_and_why():
    for happened, facts, seconds, why in WHEN:
        due = next_poll(facts)
        assert due.at / S == pytest.approx(seconds, abs=1e-4), happened
        assert why in due.why, happened


JUDGED = [
    # started, seen_all, waits, promoting, shows_claimed
    ((True, False, True, False, False), (Found.STARTED,)),
    ((True, True, True, False, False), (Found.STARTED, Found.BLOCKED)),
    ((False, True, True, False, False), (Found.BLOCKED,)),
    ((False, True, False, True, False), (Found.BLOCKED,)),
    ((False, True, False, False, True), (Found.BLOCKED,)),
    ((False, True, False, False, False), (Found.NOTHING,)),
    ((False, False, False, False, False), (Found.MORE_TO_READ,)),
]


def test_what_the_pages_of_a_poll_tell_together():
    names = ("started", "seen_all", "waits", "promoting", "shows_claimed")
    for told, found in JUDGED:
        assert judge(**dict(zip(names, told, strict=True))) == found, told


def test_a_page_is_old_news_where_a_later_poll_was_answered_and_none_where_it_failed():
    facts = (
        START.after_poll_sent(0)
        .after_poll_sent(S)
        .after_poll_sent(2 * S)
        .after_poll_failed(3, 2 * S)
    )
    assert facts.is_news(2)
    assert not facts.after_poll_answered(2).is_news(1)


def gaps(facts, found, number, *, watches=False):
    """The seconds between polls of which each finds the same."""
    told, now = [], 0
    for _ in range(number):
        facts = facts.after_poll_sent(now)
        facts = finds(facts.after_poll_answered(facts.last_poll_sent), found, now)
        told.append((next_poll(facts, watches=watches).at - now) / S)
        now = next_poll(facts, watches=watches).at
    return told


def test_polls_that_can_start_nothing_come_ever_more_rarely():
    blocked = gaps(START, Found.BLOCKED, 2_000)
    assert blocked[:5] == [SHORTEST_POLL, 0.1, 0.2, 0.4, LONGEST_POLL]
    assert blocked[-1] == LONGEST_POLL
    watched = gaps(START, Found.NOTHING, 5_000, watches=True)
    assert (watched[0], watched[-1]) == (EMPTY_POLL, IDLE_POLL)
    assert watched == sorted(watched)
    assert {*gaps(START, Found.NOTHING, 9)} == {EMPTY_POLL}


def believed(facts):
    at = believed_at(facts, linger=LINGER)
    return at if at is None else at / S


def test_an_empty_queue_is_believed_after_it_was_watched():
    worked = START.after_claim_or_promotion(0)
    once = finds(worked, Found.NOTHING, S)
    assert believed(once) == 1.2
    assert believed(finds(once, Found.NOTHING, S + microseconds(0.1))) == 1.2
    assert believed_at(once, linger=None) is None
    assert believed(finds(once, Found.BLOCKED, 2 * S)) is None
    assert believed(finds(START, Found.NOTHING, S)) == LINGER  # since the kick, at 0


def test_what_came_back_is_not_overlooked_by_a_page_that_was_asked_for_before():
    back = START.after_return(S)
    assert believed(finds(back, Found.NOTHING, S + 1, seen_at=S - 1)) is None
    assert believed(finds(back, Found.NOTHING, S + 2, seen_at=S)) is not None


def test_after_an_outcome_an_empty_queue_is_watched_for_half_as_long_again():
    empty = finds(START.after_claim_or_promotion(0), Found.NOTHING, S)  # while the task is at work
    settled = empty.after_settlement(5 * S)
    assert believed(settled) is None
    assert believed(finds(settled, Found.NOTHING, 5 * S + 1, seen_at=5 * S)) == 5.1


# Trouble

DOWN = StoreUnavailable("down")
LATE = microseconds(OPENS_AFTER)


def test_a_database_that_does_not_answer_is_given_up_after_a_while():
    breaker = CircuitBreaker()
    for moment in (0, LATE - 1):
        breaker.call_failed(DOWN, moment)
        assert not breaker.hopeless
    breaker.call_answered()  # whatever answers is a new beginning
    breaker.call_failed(DOWN, LATE)
    assert not breaker.hopeless
    breaker.call_failed(DOWN, 2 * LATE)
    assert (breaker.hopeless, breaker.error) == (True, DOWN)


@pytest.mark.parametrize("error", [QueueMisconfigured("no index"), LookupError("what is this")])
def test_what_does_not_pass_by_waiting_ends_the_run_whatever_answers_later(error):
    """A run whose index is missing ended as if all were well, where another call was answered just
    after."""
    breaker = CircuitBreaker()
    breaker.call_failed(error, 0)
    breaker.call_failed(ValueError("and this"), 0)
    breaker.call_answered()
    assert breaker.hopeless
    assert breaker.fatal is error


def test_a_run_waits_for_its_own_retry_until_a_promotion_has_brought_it_in():
    start = Promotions.of_start(0, until=60 * S).delays(2 * S, now=0)
    late = start.sends(2 * S)
    assert start.sends(1 * S).done(2 * S).awaited_until > 2 * S  # it was sent before it was due
    assert late.done(2 * S + 1).awaited_until == 2 * S + 1
    again = late.done(2 * S + 1, failed=True)
    assert again.awaited_until == 2 * S + 2 * microseconds(PROMOTE_EVERY)
    assert again.due_at == 3 * S
    assert again.delays(1 * S, now=0).retry_at == 2 * S  # the last of them


def test_a_run_waits_for_no_retry_that_is_due_later_than_it_lasts_or_in_more_than_five_seconds():
    start = Promotions.of_start(0, until=9 * S)
    for now, due_at, waits in (
        (0, 5 * S, True),
        (0, 5 * S + 1, False),
        (6 * S, 9 * S, True),
        (6 * S, 9 * S + 1, False),
    ):
        assert (start.delays(due_at, now=now) is not start) is waits, (now, due_at)


def test_promotions_are_a_second_apart_and_one_that_is_not_answered_is_made_again_after_five():
    start = Promotions.of_start(S, until=9 * S)
    sent = start.sends(2 * S)
    assert [(one.due_at, one.under_way) for one in (start, sent)] == [(S, False), (7 * S, True)]
    done = [sent.done(now) for now in (2 * S + 1, 5 * S)]
    assert [(one.due_at, one.under_way) for one in done] == [(3 * S, False), (5 * S, False)]
    assert done[0].done(6 * S) is done[0]  # the answer to an earlier one
