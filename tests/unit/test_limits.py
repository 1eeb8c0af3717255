"""Rate limits and caps, on a clock that the test moves."""

import math

import pytest

from lifoq.testing.hosts import ManualHost
from lifoq.worker.gate import PROBE_AFTER, Gate, Room, TokenBucket
from lifoq.worker.limits import Limits
from lifoq.worker.registry import TaskType


def test_a_bucket_lets_a_seconds_worth_through_at_once_and_then_its_rate():
    host = ManualHost()
    bucket = TokenBucket(5, host)
    assert sum(bucket.take() for _ in range(100)) == 5
    assert bucket.wait() == pytest.approx(0.2)
    host.advance(0.19)
    assert not bucket.take()
    host.advance(0.02)
    assert bucket.take()
    assert not bucket.take()


def test_a_token_given_back_can_be_taken_again_and_late_lets_no_two_begin_together():
    host = ManualHost()
    bucket = TokenBucket(0.5, host)
    assert bucket.take()
    bucket.refund(after=0)
    assert bucket.take()  # a claim that is answered late
    assert not bucket.take()
    host.advance(2.1)
    assert bucket.take()
    bucket.refund(after=2.1)  # it was refused
    assert not bucket.take()


def test_a_gate_that_is_full_takes_no_token():
    bucket = TokenBucket(2, ManualHost())
    gate = Gate(in_flight=1, bucket=bucket)
    assert gate.enter()
    assert not gate.enter()
    gate.leave()
    assert gate.enter()


def crowd(gate, number):
    return sum(gate.enter() for _ in range(number))


def test_a_gate_lets_in_as_many_as_stayed_when_the_downstream_refused_the_others():
    gate = Gate(in_flight=10, bucket=None, room=Room(ManualHost()))
    assert crowd(gate, 20) == 10
    for _ in range(6):
        gate.leave(refused=True)
    assert crowd(gate, 20) == 0
    gate.leave()
    assert crowd(gate, 20) == 1


def test_one_more_is_tried_after_many_that_were_not_refused():
    gate = Gate(in_flight=10, bucket=None, room=Room(ManualHost()))
    crowd(gate, 3)
    gate.leave(refused=True)
    for _ in range(PROBE_AFTER):
        assert gate.inside == 2
        gate.leave()
        assert crowd(gate, 1) == 1
    assert crowd(gate, 20) == 1


def test_a_downstream_that_takes_nothing_is_tried_once_a_second():
    host = ManualHost()
    gate = Gate(in_flight=10, bucket=None, room=Room(host))
    crowd(gate, 10)
    for _ in range(10):
        gate.leave(refused=True)
    tried = 0
    for _ in range(100):
        if gate.wait() == 0 and gate.enter():
            tried += 1
            gate.leave(refused=True)
        host.advance(0.1)
    assert tried == 9


def test_who_waits_for_a_slot_is_told_when_a_handler_is_back_or_a_claim_gave_nothing():
    kind = TaskType(name="a", handler=lambda _payload, _context: None)
    limits = Limits([kind], in_flight=1, rate_limit=None, host=ManualHost())
    waits = []
    limits.on_free = lambda: waits.append(limits.shortest_wait())
    assert limits.enter("a")
    limits.undo_enter("a", after=0)
    assert waits == [0]
    assert limits.enter("a")
    assert limits.shortest_wait() == math.inf
    limits.leave("a", refused=False, hung=False)
    assert waits == [0, 0]
