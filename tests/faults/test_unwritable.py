"""A success that DynamoDB will never take, whatever the reason, is a FAILURE that says why."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from lifoq import Done, NewTask, Processor, Queue, Registry, Status, WorkerSettings
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store
from lifoq.tables.table import Table
from lifoq.testing.fixtures import noise
from tests.faults.faults import answer

SETTINGS = WorkerSettings(window=10, task_timeout=5, linger=0.1)


@pytest.fixture(params=["memory", "dynamodb-local"])
def table(
    request: pytest.FixtureRequest,
    endpoint_of: Callable[[str], str],
    new_dynamo_table: Callable[[str], DynamoTable],
) -> Table:
    if request.param == "memory":
        return MemoryTable()
    return new_dynamo_table(endpoint_of(request.param))


def failure(table: Table, returned: Any) -> str:
    """What a task that returned this failed with, in one run, and in one attempt."""
    queue, registry = Queue(Store(table)), Registry()
    registry.task("a")(lambda _payload, _context: returned)
    task_id = queue.put("a").task_id
    report = Processor(queue.store, registry, SETTINGS).run()
    task = queue.get(task_id)
    assert task is not None
    assert task.error is not None
    assert (task.status, task.attempts) == (Status.FAILURE, 1)
    assert (report.failed, report.unsettled, queue.peek()) == (1, 0, [])
    return f"{task.error.type}: {task.error.message}"


def follow_ups(*sizes: int) -> list[NewTask]:
    return [NewTask(task_type="b", payload=noise(size)) for size in sizes]


def test_more_than_a_transaction_takes(table: Table):
    done = Done(follow_ups=follow_ups(*[380_000] * 14))
    assert "ItemTooLarge: the outcome and its 14 follow-ups are" in failure(table, done)
    assert "chain in levels" in failure(table, done)


def test_a_result_too_large_beside_follow_ups(table: Table):
    assert failure(table, Done(result="x" * 409_700, follow_ups=follow_ups(1))).startswith(
        "ItemTooLarge"
    )


@pytest.mark.parametrize(
    ("done", "reason"),
    [
        (Done(follow_ups=["x"]), "InvalidInput: follow_ups[0]='x'"),  # type: ignore[list-item]
        (
            Done(follow_ups=[NewTask(task_type="b", delay=10**400)]),
            "InvalidInput: follow_ups[0].delay=1000",
        ),
    ],
)
def test_a_follow_up_that_is_none(table: Table, done: Done, reason: str):
    assert failure(table, done).startswith(reason)


def test_a_transaction_that_aws_cancels_for_its_size(
    dynamodb_local_endpoint: str, new_dynamo_table: Callable[[str], DynamoTable]
):
    """AWS tells of an update beyond 400 KB in the reasons; DynamoDB Local does so elsewhere."""
    table = new_dynamo_table(dynamodb_local_endpoint)
    table._client.meta.events.register(
        "before-send.dynamodb.TransactWriteItems", lambda request, **_: cancellation(request)
    )
    reason = failure(table, Done(result="x", follow_ups=follow_ups(1)))
    assert reason.startswith("ItemTooLarge: ")
    assert "Item size to update has exceeded" in reason


def cancellation(request: Any) -> Any:
    reasons = [
        {
            "Code": "ValidationError",
            "Message": "Item size to update has exceeded the maximum allowed size",
        },
        {"Code": "None"},
    ]
    code = "TransactionCanceledException"
    cancelled = answer(request, 400, code)
    body = {
        "__type": f"com.amazonaws.dynamodb.v20120810#{code}",
        "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons "
        "[ValidationError, None]",
        "CancellationReasons": reasons,
    }
    cancelled.raw._content = json.dumps(body).encode()
    return cancelled
