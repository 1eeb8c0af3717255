"""A task in the caller's own transaction: written with the caller's record, or not at all."""

import time
import uuid
from collections.abc import Callable
from dataclasses import replace

import boto3
import pytest
from botocore.exceptions import ClientError

from lab import dynamodb_local
from lifoq import Cells, InvalidInput, NewTask, Queue, Status
from lifoq.tables.dynamo import DynamoTable

ORDER = {"orderId": {"S": "o-1"}, "state": {"S": "paid"}}
TASK = NewTask(task_type="order.ship", payload={"order": "o-1"}, task_id="ship-o-1")


@pytest.fixture(params=["moto", "dynamodb-local"])
def endpoint(request, endpoint_of) -> str:
    return endpoint_of(request.param)


@pytest.fixture
def client(endpoint: str):
    return boto3.client("dynamodb", endpoint_url=endpoint, **dynamodb_local.CREDENTIALS)


@pytest.fixture
def new_queue(endpoint: str, new_dynamo_table: Callable[[str], DynamoTable]) -> Callable[[], Queue]:
    def create() -> Queue:
        return Queue.connect(
            table=new_dynamo_table(endpoint).name,
            endpoint_url=endpoint,
            **dynamodb_local.CREDENTIALS,
        )

    return create


@pytest.fixture
def queue(new_queue) -> Queue:
    return new_queue()


@pytest.fixture
def orders(client) -> str:
    """The caller's own table."""
    name = f"orders-{uuid.uuid4().hex[:12]}"
    client.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "orderId", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "orderId", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return name


def order_of(client, orders: str):
    return client.get_item(TableName=orders, Key={"orderId": ORDER["orderId"]}).get("Item")


def write(client, entry, orders: str) -> None:
    """The order and the task together."""
    order = {"Put": {"TableName": orders, "Item": ORDER}}
    client.transact_write_items(TransactItems=[order, entry])


def test_the_record_and_the_task_are_written_together_and_the_task_can_be_claimed(
    client, queue, orders
):
    write(client, queue.transaction_item(TASK), orders)

    assert order_of(client, orders) == ORDER
    (task,) = queue.peek()
    assert (task.task_id, task.payload) == ("ship-o-1", {"order": "o-1"})
    assert queue.store.claim("ship-o-1", claim_id="c", lease=30).attempts == 1


def test_a_task_that_is_there_already_refuses_the_record_and_stays_as_it_is(client, queue, orders):
    first = queue.put("order.ship", "the first", task_id="ship-o-1")
    with pytest.raises(ClientError) as refused:
        write(client, queue.transaction_item(TASK), orders)

    reasons = [reason["Code"] for reason in refused.value.response["CancellationReasons"]]
    assert reasons == ["None", "ConditionalCheckFailed"]
    assert order_of(client, orders) is None
    assert queue.get("ship-o-1") == first


def test_a_task_that_was_shed_refuses_nothing_though_it_is_still_there(client, queue):
    shed = queue.put("order.ship", "the first", task_id="ship-o-1", deadline=0.001)
    time.sleep(0.01)
    client.transact_write_items(TransactItems=[queue.transaction_item(TASK)])

    anew = queue.get("ship-o-1")
    assert anew.payload == {"order": "o-1"}
    assert anew.enqueued_at > shed.expires_at


def test_all_terms_of_a_task_hold(client, queue):
    delayed = NewTask(task_type="order.remind", delay=60, deadline=120, head_start=5)
    entry = queue.transaction_item(delayed)
    client.transact_write_items(TransactItems=[entry])

    task = queue.get(entry["Put"]["Item"]["taskId"]["S"])
    assert task.status is Status.DELAYED
    assert (task.expires_at - task.due_at, task.head_start) == (120_000_000, 5_000_000)
    with pytest.raises(InvalidInput, match="payload=nan"):
        queue.transaction_item(NewTask(task_type="order.ship", payload=float("nan")))
    with pytest.raises(InvalidInput, match=r"task=.order.ship.: is no NewTask"):
        queue.transaction_item("order.ship")


NEWER = replace(TASK, payload="newer", if_exists="replace")


def waiting(queue: Queue) -> None:
    queue.put("order.ship", "the first", task_id="ship-o-1")


def replaced(queue: Queue) -> None:
    for payload in ("the first", "the second"):
        queue.put("order.ship", payload, task_id="ship-o-1", if_exists="replace")


def running(queue: Queue) -> None:
    waiting(queue)
    queue.store.claim("ship-o-1", claim_id="c", lease=30)


def done(queue: Queue) -> None:
    waiting(queue)
    queue.store.succeed(queue.store.claim("ship-o-1", claim_id="c", lease=30), "1")


@pytest.mark.parametrize("there", [lambda _: None, waiting, replaced, running, done])
def test_a_task_that_replaces_is_written_whatever_stands_under_its_id(client, queue, there):
    there(queue)
    client.transact_write_items(TransactItems=[queue.transaction_item(NEWER)])

    task = queue.get("ship-o-1")
    if there is running:
        assert task.status is Status.TAKEN
        queue.store.succeed(task, "1")
    assert queue.store.claim("ship-o-1", claim_id="next", lease=30).payload == "newer"


def test_a_task_that_moved_on_before_it_could_be_replaced_refuses_the_record(client, queue, orders):
    waiting(queue)
    entry = queue.transaction_item(NEWER)
    queue.store.claim("ship-o-1", claim_id="c", lease=30)
    with pytest.raises(ClientError, match="TransactionCanceled"):
        write(client, entry, orders)

    assert order_of(client, orders) is None
    assert queue.get("ship-o-1").parked is None


def test_with_cells_the_task_goes_to_its_own(client, new_queue):
    cells = Cells([new_queue(), new_queue(), new_queue()])
    given = [NewTask(task_type="order.ship", task_id=f"o-{n}") for n in range(5)]
    drawn = [NewTask(task_type="order.ship") for _ in range(5)]
    entries = [cells.transaction_item(task) for task in given + drawn]
    client.transact_write_items(TransactItems=entries)

    for entry in entries:
        task_id = entry["Put"]["Item"]["taskId"]["S"]
        assert cells.get(task_id) == cells.home(task_id).get(task_id) is not None
