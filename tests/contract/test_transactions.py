"""A task in the caller's own transaction: written with the caller's record, or not at all."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lifoq import Cells, InvalidInput, NewTask, Queue, Status
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from tests.conftest import BACKENDS

TASK = NewTask(task_type="order.ship", payload={"order": "o-1"}, task_id="ship-o-1")
NEWER = replace(TASK, payload="newer", if_exists="replace")


@pytest.fixture(params=BACKENDS[1:])
def new_table(request, endpoint_of, new_dynamo_table) -> Callable[[], DynamoTable]:
    return lambda: new_dynamo_table(endpoint_of(request.param))


@pytest.fixture
def new_queue(new_table, host: ManualHost) -> Callable[[], Queue]:
    return lambda: Queue(Store(new_table(), host=host), host=host)


@pytest.fixture
def queue(new_queue) -> Queue:
    return new_queue()


class Orders:
    """The caller's own table, and its transactions."""

    def __init__(self, table: DynamoTable) -> None:
        self._table = table

    def transact(self, *entries: dict[str, Any]) -> None:
        order = {"taskId": {"S": "o-1"}, "state": {"S": "paid"}}
        record = {"Put": {"TableName": self._table.name, "Item": order}}
        self._table._calls.client.transact_write_items(TransactItems=[record, *entries])

    @property
    def paid(self) -> bool:
        return self._table.get("o-1") is not None


@pytest.fixture
def orders(new_table) -> Orders:
    return Orders(new_table())


def claim(queue: Queue, claim_id: str = "c"):
    return queue.store.claim("ship-o-1", claim_id=claim_id, lease=30)


def test_the_record_and_the_task_are_written_together_and_the_task_can_be_claimed(queue, orders):
    orders.transact(queue.transaction_item(TASK))
    assert orders.paid
    (task,) = queue.peek()
    assert (task.task_id, task.payload) == ("ship-o-1", {"order": "o-1"})
    assert claim(queue).attempts == 1


def test_a_task_that_is_there_already_refuses_the_record_and_stays_until_it_is_shed(
    queue, orders, host
):
    first = queue.put("order.ship", "the first", task_id="ship-o-1", deadline=10)
    with pytest.raises(ClientError) as refused:
        orders.transact(queue.transaction_item(TASK))
    reasons = [reason["Code"] for reason in refused.value.response["CancellationReasons"]]
    assert reasons == ["None", "ConditionalCheckFailed"]
    assert not orders.paid
    assert queue.get("ship-o-1") == first
    host.advance(10)
    orders.transact(queue.transaction_item(TASK))
    assert queue.get("ship-o-1").payload == {"order": "o-1"}


def test_all_terms_of_a_task_hold(queue, orders):
    delayed = NewTask(task_type="order.remind", delay=60, deadline=120, head_start=5)
    entry = queue.transaction_item(delayed)
    orders.transact(entry)
    task = queue.get(entry["Put"]["Item"]["taskId"]["S"])
    assert task.status is Status.DELAYED
    assert (task.expires_at - task.due_at, task.head_start) == (120_000_000, 5_000_000)
    with pytest.raises(InvalidInput, match="payload=nan"):
        queue.transaction_item(NewTask(task_type="order.ship", payload=float("nan")))
    with pytest.raises(InvalidInput, match=r"task=.order.ship.: is no NewTask"):
        queue.transaction_item("order.ship")


@pytest.mark.parametrize("there", ["nothing", "waiting", "replacing", "running", "done"])
def test_a_task_that_replaces_is_written_whatever_stands_under_its_id(queue, orders, host, there):
    if there != "nothing":
        kind = "replace" if there == "replacing" else "keep"
        queue.put("order.ship", "the first", task_id="ship-o-1", if_exists=kind)
    task = claim(queue) if there in ("running", "done") else None
    if there == "done":
        queue.store.succeed(task, "1")
    host.advance(1)
    orders.transact(queue.transaction_item(NEWER))
    if there == "running":
        assert queue.get("ship-o-1").status is Status.TAKEN
        queue.store.succeed(task, "1")
    assert claim(queue, "next").payload == "newer"


def test_a_task_that_moved_on_before_it_could_be_replaced_refuses_the_record(queue, orders):
    queue.put("order.ship", "the first", task_id="ship-o-1")
    entry = queue.transaction_item(NEWER)
    claim(queue)
    with pytest.raises(ClientError, match="TransactionCanceled"):
        orders.transact(entry)
    assert not orders.paid
    assert queue.get("ship-o-1").parked is None


def test_with_cells_the_task_goes_to_its_own(new_queue, orders):
    cells = Cells([new_queue(), new_queue(), new_queue()])
    new = [NewTask(task_type="order.ship", task_id=f"o-{n}") for n in range(5)]
    new += [NewTask(task_type="order.ship") for _ in range(5)]
    entries = [cells.transaction_item(task) for task in new]
    orders.transact(*entries)
    for entry in entries:
        task_id = entry["Put"]["Item"]["taskId"]["S"]
        assert cells.get(task_id) == cells.home(task_id).get(task_id) is not None
