"""A success that DynamoDB will never take, whatever the reason, is a FAILURE that says why."""

from typing import Any

import pytest

from lifoq import Done, NewTask, Processor, Queue, Registry, Status, WorkerSettings
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.store.table_protocol import Table
from tests.faults.faults import answer
from tests.fixtures import noise

SETTINGS = WorkerSettings(window=10, task_timeout=5, linger=0.1)


def failure(table: Table, returned: Any) -> str:
    """Return the error of a task that returned this, in one run, and in one attempt."""
    queue, registry = Queue(Store(table)), Registry()
    registry.task("a")(lambda _payload, _context: returned)
    task_id = queue.put("a").task_id
    report = Processor(queue.store, registry, SETTINGS).run()
    task = queue.get(task_id)
    assert task.error is not None
    assert (task.status, task.attempts) == (Status.FAILURE, 1)
    assert (report.failed, report.unsettled, queue.peek()) == (1, 0, [])
    return f"{task.error.type}: {task.error.message}"


def follow_ups(*sizes: int) -> list[NewTask]:
    return [NewTask(task_type="b", payload=noise(size)) for size in sizes]


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        (object(), "InvalidInput: result=<object object"),
        ({"x": float("nan")}, "InvalidInput: result.x=nan"),
        ("x" * 500_000, "ItemTooLarge: "),
        (Done(result="x" * 409_700, follow_ups=follow_ups(1)), "ItemTooLarge: "),
        (Done(follow_ups=follow_ups(*[380_000] * 14)), "chain in levels"),
        (Done(follow_ups=5), "must be a list of NewTask"),
        (Done(follow_ups=[NewTask(task_type="b", delay=10**400)]), "follow_ups[0].delay=1000"),
        (Done(follow_ups=[NewTask(task_type="a")] * 100), "InvalidInput: follow_ups="),
    ],
)
def test_an_outcome_that_cannot_be_kept_is_a_failure_with_the_reason(returned, reason):
    assert reason in failure(MemoryTable(), returned)


def test_a_transaction_that_aws_cancels_for_its_size(dynamodb_local_endpoint, new_dynamo_table):
    """AWS tells of an update beyond 400 KB in the reasons; DynamoDB Local does so elsewhere."""
    table = new_dynamo_table(dynamodb_local_endpoint)
    table._calls.client.meta.events.register(
        "before-send.dynamodb.TransactWriteItems", lambda request, **_: cancellation(request)
    )
    reason = failure(table, Done(result="x", follow_ups=follow_ups(1)))
    assert reason.startswith("ItemTooLarge: ")
    assert "Item size to update has exceeded" in reason


def cancellation(request: Any) -> Any:
    told = "Item size to update has exceeded the maximum allowed size"
    reasons = [{"Code": "ValidationError", "Message": told}, {"Code": "None"}]
    return answer(request, 400, "TransactionCanceledException", CancellationReasons=reasons)
