"""Tasks that always fail, at the newest end, stand in nobody's way."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from lifoq.basics.host import MICROSECONDS
from lifoq.client.queue import Queue
from lifoq.items.schema import Status
from lifoq.items.task import NewTask
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store
from lifoq.tables.table import Table
from lifoq.testing.hosts import START
from lifoq.worker.backoff import Backoff
from lifoq.worker.context import Context
from lifoq.worker.processor import Processor
from lifoq.worker.registry import Registry
from lifoq.worker.settings import WorkerSettings
from lifoq.worker.sweep import Sweeper
from tests.virtual.machine import Machine
from tests.virtual.scheduler import Scheduler

ATTEMPTS = 4
SERVICE_SECONDS = 0.05
SETTINGS = WorkerSettings(
    window=60, task_timeout=5, in_flight=4, max_attempts=ATTEMPTS, backoff=Backoff(max_seconds=20)
)


@pytest.fixture(params=["memory", "dynamodb-local"])
def table(
    request: pytest.FixtureRequest,
    endpoint_of: Callable[[str], str],
    new_dynamo_table: Callable[[str], DynamoTable],
) -> Table:
    if request.param == "memory":
        return MemoryTable()
    return new_dynamo_table(endpoint_of(request.param))


def test_poison_at_the_newest_end_blocks_nobody_ends_in_failure_and_can_be_redriven(table: Table):
    host = Machine("worker", Scheduler(random.Random(0), start=START))
    store = Store(table, host=host)
    queue = Queue(store, host=host)
    registry, effects, mended = Registry(), Counter[str](), False

    @registry.task("healthy")
    def healthy(_payload: Any, context: Context) -> None:
        effects[context.task_id] += 1
        host.sleep(SERVICE_SECONDS)

    @registry.task("poison")
    def poison(_payload: Any, context: Context) -> str:
        effects[context.task_id] += 1
        host.sleep(SERVICE_SECONDS)
        if not mended:
            raise RuntimeError("poison")
        return "mended"

    good = put(queue, "healthy", 20)
    bad = put(queue, "poison", 10)
    processor = Processor(store, registry, SETTINGS, host=host)
    sweeper = Sweeper(store, registry, max_attempts=ATTEMPTS, host=host)

    begun = host.now()
    processor.run()
    healthy_tasks = [queue.get(task_id) for task_id in good]
    assert {task.status for task in healthy_tasks if task} == {Status.SUCCESS}
    last = max(task.finished_at or 0 for task in healthy_tasks if task)
    assert last - begun < 3 * MICROSECONDS
    assert all(effects[task_id] == 1 for task_id in good)

    for _ in range(ATTEMPTS):
        host.sleep(60)
        sweeper.run()
        processor.run()
    failed = [queue.get(task_id) for task_id in bad]
    assert {(t.status, t.attempts) for t in failed if t} == {(Status.FAILURE, ATTEMPTS)}
    assert {(t.error.type, t.error.message) for t in failed if t and t.error} == {
        ("RuntimeError", "poison")
    }
    assert all(effects[task_id] == ATTEMPTS for task_id in bad)

    mended = True
    assert queue.redrive_many(task_type="poison") == len(bad)
    processor.run()
    assert [queue.wait(task_id, timeout=0) for task_id in bad] == ["mended"] * len(bad)


def put(queue: Queue, task_type: str, number: int) -> list[str]:
    outcomes = queue.put_many([NewTask(task_type=task_type)] * number)
    return [outcome.task.task_id for outcome in outcomes if outcome.task]
