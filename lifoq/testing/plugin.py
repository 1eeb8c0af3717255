"""Fixtures for pytest, which finds them wherever lifoq is installed."""

from collections.abc import Callable

import pytest

from lifoq.client.queue import Queue
from lifoq.testing.hosts import TurnableHost
from lifoq.worker.handlers.registry import REGISTRY
from lifoq.worker.processor import Processor
from lifoq.worker.run.report import RunReport
from lifoq.worker.settings import WorkerSettings


@pytest.fixture
def lifoq_host() -> TurnableHost:
    """The machine under ``lifoq_queue``: ``lifoq_host.advance(60)`` turns its clock."""
    return TurnableHost()


@pytest.fixture
def lifoq_queue(lifoq_host: TurnableHost) -> Queue:
    """A queue in memory, empty."""
    return Queue.in_memory(host=lifoq_host)


@pytest.fixture
def lifoq_run(lifoq_queue: Queue, lifoq_host: TurnableHost) -> Callable[[], RunReport]:
    """Runs what can be run by now, with the task types that are registered; a task that waits for
    its retry, or is delayed, when the clock has been turned."""

    def run() -> RunReport:
        settings = WorkerSettings(linger=0)
        return Processor(lifoq_queue.store, REGISTRY, settings, host=lifoq_host).run()

    return run
