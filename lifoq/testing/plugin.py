"""Fixtures for pytest, which finds them wherever lifoq is installed."""

from collections.abc import Iterator
from typing import Any

import pytest

from lifoq.client.queue import Queue
from lifoq.testing.hosts import TurnableHost
from lifoq.testing.runs import Runs


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
def lifoq_run(lifoq_queue: Queue, lifoq_host: TurnableHost) -> Runs:
    """Runs the tasks that can run by now, with the task types that are registered, plain or async,
    and returns the ``RunReport``. Tasks of other types wait. A task that waits for its retry, or is
    delayed, runs once the clock has been turned. Schedules that are due fire first, each once.

    ``lifoq_run.why(task_id)`` says why the latest run did not start a task, and the report of a
    test that fails says it of the tasks that wait.

    Examples:
        def test_a_device_is_checked(lifoq_queue, lifoq_run):
            lifoq_queue.put("device.check", {"device": "d-17"}, task_id="d-17")
            assert lifoq_run().succeeded == 1
            assert lifoq_queue.wait("d-17", timeout=1) == {"device": "d-17"}
            assert lifoq_run.why("d-17").startswith("It is done")
    """

    return Runs(lifoq_queue, lifoq_host)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Add to the report of a failing test with ``lifoq_run`` why tasks wait."""
    outcome: Any = yield
    report, run = outcome.get_result(), getattr(item, "funcargs", {}).get("lifoq_run")
    if report.when == "call" and report.failed and isinstance(run, Runs):
        told = run.waiting()
        if told:
            report.sections.append(("lifoq: why tasks wait", told))
