"""Fixtures for pytest, which finds them wherever lifoq is installed."""

from collections.abc import Callable

import pytest

from lifoq.client.queue import Queue
from lifoq.testing.hosts import TurnableHost
from lifoq.testing.schedules import fire_schedules
from lifoq.worker.handlers.registry import REGISTRY
from lifoq.worker.processor import Processor
from lifoq.worker.run.report import RunReport
from lifoq.worker.settings import WorkerSettings


@pytest.fixture
def lifoq_host() -> TurnableHost:
    """The machine under ``lifoq_queue``: ``lifoq_host.advance(60)`` turns its clock by 60 seconds,
    for deadlines, delays and retries.

    Examples:
        def test_a_check_waits_for_an_hour(lifoq_queue, lifoq_host, lifoq_run):
            lifoq_queue.put("device.check", {"device": "d-17"}, delay=3600)
            assert lifoq_run().claimed == 0
            lifoq_host.advance(3600)
            assert lifoq_run().claimed == 1
    """
    return TurnableHost()


@pytest.fixture
def lifoq_queue(lifoq_host: TurnableHost) -> Queue:
    """A queue in memory, empty.

    Examples:
        def test_a_check_is_put(lifoq_queue):
            lifoq_queue.put("device.check", {"device": "d-17"}, task_id="d-17")
            assert lifoq_queue.get("d-17").status == "PENDING"
    """
    return Queue.in_memory(host=lifoq_host)


@pytest.fixture
def lifoq_run(lifoq_queue: Queue, lifoq_host: TurnableHost) -> Callable[[], RunReport]:
    """Runs the tasks that can run by now, with the task types that are registered, plain or async,
    and returns the ``RunReport``. Tasks of other types wait. A task that waits for its retry, or is
    delayed, runs once the clock has been turned. Schedules that are due fire first, each once.

    Examples:
        def test_a_device_is_checked(lifoq_queue, lifoq_run):
            lifoq_queue.put("device.check", {"device": "d-17"}, task_id="d-17")
            assert lifoq_run().succeeded == 1
            assert lifoq_queue.wait("d-17", timeout=1) == {"device": "d-17"}
    """

    def run() -> RunReport:
        fire_schedules(lifoq_queue)
        # A type for `lifoq work` may take longer than a processor lets its tasks take by default.
        longest = max((kind.timeout or 0.0 for kind in REGISTRY), default=0.0)
        settings = WorkerSettings(
            linger=0, task_timeout=max(longest, WorkerSettings().task_timeout)
        )
        return Processor(lifoq_queue.store, REGISTRY, settings, host=lifoq_host).run()

    return run
