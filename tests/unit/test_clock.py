"""The error of a machine's clock, from the answers that it gets."""

import logging

import pytest

from lifoq.basics.clock import ServerClock
from lifoq.testing.hosts import START

SECOND = 1_000_000
TRIP = 20_000
"""Microseconds that a call takes."""


def hear(clock: ServerClock, *, off: float, at: float, trip: int = TRIP) -> None:
    """An answer to a call that a machine whose clock is ``off`` sends ``at`` so many seconds."""
    sent = START + round(at * SECOND)
    answered = sent + trip // 2
    skew = round(off * SECOND)
    clock.learn(dated=answered // SECOND * SECOND, sent=sent + skew, received=sent + trip + skew)


@pytest.mark.parametrize("off", [-600, -60, -3.1, 3.1, 60, 600])
@pytest.mark.parametrize("at", [0.0, 0.3, 0.999])
def test_one_answer_tells_it_to_within_half_a_second_and_half_the_call(off, at):
    clock = ServerClock()
    hear(clock, off=off, at=at)
    assert abs(clock.ahead() - off * SECOND) <= 0.5 * SECOND + TRIP / 2


@pytest.mark.parametrize("off", [-2.0, -1, 0, 1, 2.0])
@pytest.mark.parametrize("at", [0.0, 0.3, 0.999])
def test_within_the_tolerance_a_clock_is_never_corrected(off, at):
    clock = ServerClock()
    for n in range(20):
        hear(clock, off=off, at=at + n * 0.37)
        assert clock.ahead() == 0


@pytest.mark.parametrize("side", [-1, 1])
def test_the_tolerance_is_two_seconds_to_the_microsecond(side):
    for beyond in (0, 1):
        clock = ServerClock()
        off = side * (2 * SECOND + beyond)
        # A date is whole seconds: by this answer the clock is off by this much, or by more.
        sent, received = (off + SECOND, off + SECOND + 1) if side > 0 else (off - SECOND, off)
        clock.learn(dated=0, sent=sent, received=received)
        assert (clock.ahead() == 0) == (beyond == 0)


def test_more_answers_tell_it_more_exactly_and_the_estimate_does_not_flicker():
    clock = ServerClock()
    said = []
    for n in range(50):
        hear(clock, off=60, at=n * 0.137, trip=TRIP if n % 3 else 5 * SECOND)
        said.append(clock.ahead())
    assert abs(said[-1] - 60 * SECOND) < 0.1 * SECOND
    assert len(set(said[-10:])) <= 2


@pytest.mark.parametrize("step", [-30, 30])
def test_a_clock_that_is_set_misleads_nobody_during_a_call_and_is_known_after_the_next(step):
    clock = ServerClock()
    clock.learn(dated=START, sent=START, received=START + step * SECOND + TRIP)
    assert clock.ahead() == 0
    for n in range(10):
        hear(clock, off=0, at=n * 0.3)
    hear(clock, off=step, at=5)
    assert abs(clock.ahead() - step * SECOND) < SECOND
    hear(clock, off=0, at=6)
    assert clock.ahead() == 0


@pytest.mark.parametrize(("off", "side"), [(60, "60 s ahead of"), (-60, "60 s behind")])
def test_a_clock_that_is_off_is_told_once(caplog, off, side):
    clock = ServerClock()
    with caplog.at_level(logging.WARNING, logger="lifoq.clock"):
        for n in range(5):
            hear(clock, off=off, at=n + 0.5)
    (record,) = caplog.records
    assert f"clock is {side} DynamoDB's" in record.getMessage()
