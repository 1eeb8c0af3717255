"""Tasks that share a call of the handler, and one that has left it: its time and its end say
nothing of the handler."""

import pytest

from lifoq.basics.host import SYSTEM
from lifoq.worker.handlers.registry import TaskType
from lifoq.worker.run.shared_call import HandlerCall
from tests.gates import gates_of, row


def sync_handler(_payloads, _contexts):
    """Do nothing."""


async def async_handler(_payloads, _contexts):
    """Do nothing."""


@pytest.fixture
def limits():
    return gates_of([], in_flight=1)


def call_for_a_and_c(limits, handler):
    """Return a call that two tasks have joined, and that a third has left, out of time."""
    is_async = handler is async_handler
    kind = TaskType(name="mail", handler=handler, is_async=is_async, batch=3)
    passed = limits.enter(row(kind.name), SYSTEM.monotonic())
    call = HandlerCall(kind, ["a", "b", "c"], passed=passed, host=SYSTEM)
    call.join("a", 1)
    call.join("c", 3)
    call.out_of_time("b")
    call.leave("b")
    assert call.gather() == [1, 3]
    return call


def test_a_batch_hangs_once_the_time_of_all_its_tasks_is_over_but_not_by_one_that_has_left(limits):
    call = call_for_a_and_c(limits, sync_handler)
    call.out_of_time("b")
    call.out_of_time("a")
    assert not limits.is_stuck
    call.out_of_time("c")
    assert limits.is_stuck


def test_a_call_that_hangs_keeps_its_slot_though_a_task_that_could_not_be_claimed_leaves_it(limits):
    kind = TaskType(name="mail", handler=sync_handler, batch=2)
    passed = limits.enter(row(kind.name), SYSTEM.monotonic())
    call = HandlerCall(kind, ["a", "b"], passed=passed, host=SYSTEM)
    call.join("a", 1)
    call.out_of_time("a")
    call.leave("b")
    assert limits.is_stuck
    assert limits.enter(row(kind.name), SYSTEM.monotonic()) is None


def test_an_async_batch_goes_on_for_a_task_that_did_not_ask_when_one_that_has_left_did(limits):
    call = call_for_a_and_c(limits, async_handler)
    assert [call.stop(task_id, TimeoutError()) for task_id in "bac"] == [False, False, True]
    assert not call.stop("b", TimeoutError())
