"""The test kit's fixtures, as a test of task code uses them."""

from collections.abc import Iterator
from typing import Any

import pytest

from lifoq import REGISTRY, Context, Retry, TaskCancelled


@pytest.fixture
def flaky() -> Iterator[str]:
    """A task type that succeeds at the second attempt."""

    def handle(payload, context):
        if context.attempt == 1:
            raise Retry("not yet", after=60)
        return payload

    name = "test-kit.flaky"
    REGISTRY.task(name)(handle)
    yield name
    del REGISTRY._types[name]


def test_a_retry_comes_when_the_clock_was_turned(lifoq_queue, lifoq_host, lifoq_run, flaky):
    task = lifoq_queue.put(flaky, {"sku": 7})

    assert lifoq_run().retried == 1
    assert lifoq_run().claimed == 0
    lifoq_host.advance(61)
    assert lifoq_run().succeeded == 1
    assert lifoq_queue.wait(task.task_id, timeout=0) == {"sku": 7}


def test_a_task_that_is_cancelled_while_it_runs_ends_as_cancelled(lifoq_queue, lifoq_run):
    def handle(_payload: Any, context: Context) -> None:
        lifoq_queue.cancel(context.task_id)
        context.heartbeat()

    REGISTRY.task("test-kit.cancelled")(handle)
    try:
        task = lifoq_queue.put("test-kit.cancelled")
        assert lifoq_run().cancelled == 1
        with pytest.raises(TaskCancelled):
            lifoq_queue.wait(task.task_id, timeout=0)
    finally:
        del REGISTRY._types["test-kit.cancelled"]
