"""A table that is not the queue's, or not ours: one sentence that tells what to do, and no task is
lost or half done."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest

from lab import dynamodb_local
from lifoq.client.queue import Queue
from lifoq.errors import QueueMisconfigured
from lifoq.items.schema import DUE_INDEX, STATUS_CREATED_INDEX, table_definition
from lifoq.items.task import NewTask
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.store import Store
from lifoq.worker.processor import Processor
from lifoq.worker.registry import Registry
from lifoq.worker.settings import WorkerSettings
from lifoq.worker.sweep import Sweeper
from tests.faults.faults import answer

SETTINGS = WorkerSettings(window=20, task_timeout=1)

Create = Callable[[dict[str, Any]], DynamoTable]


QUEUE: dict[str, Callable[[Queue], object]] = {
    "PutItem": lambda queue: queue.put("a"),
    "BatchWriteItem": lambda queue: queue.put_many([NewTask(task_type="a")]),
    "GetItem": lambda queue: queue.get("a"),
    "UpdateItem": lambda queue: queue.cancel("a"),
}
"""Uses, by what they ask of DynamoDB."""


def run(store: Store) -> object:
    return Processor(store, Registry(), SETTINGS).run()


def sweep(store: Store) -> object:
    return Sweeper(store, Registry(), max_attempts=1).run()


@pytest.fixture
def create(dynamodb_local_endpoint: str) -> Create:
    """Creates a table of any definition."""
    arguments: Any = {"endpoint_url": dynamodb_local_endpoint, **dynamodb_local.CREDENTIALS}

    def of(definition: dict[str, Any]) -> DynamoTable:
        boto3.client("dynamodb", **arguments).create_table(**definition)
        return DynamoTable.connect(definition["TableName"], **arguments)

    return of


def definition_without(index: str, name: str) -> dict[str, Any]:
    """A queue's table that lacks an index."""
    whole = table_definition(name)
    kept = [i for i in whole["GlobalSecondaryIndexes"] if i["IndexName"] != index]
    keys = {k["AttributeName"] for i in kept for k in i["KeySchema"]} | {"taskId"}
    attributes = [a for a in whole["AttributeDefinitions"] if a["AttributeName"] in keys]
    return whole | {"GlobalSecondaryIndexes": kept, "AttributeDefinitions": attributes}


@pytest.mark.parametrize("index", [STATUS_CREATED_INDEX, DUE_INDEX])
def test_a_table_without_an_index_is_named(create, index):
    store = Store(create(definition_without(index, f"no-{index}")))
    with pytest.raises(QueueMisconfigured, match=f"no-{index}.*has no index '{index}'"):
        Queue(store).check()
    for use in (run, sweep):
        with pytest.raises(QueueMisconfigured, match=f"'no-{index}' lacks an index.*deploy"):
            use(store)


def test_a_table_of_another_shape_is_named_by_every_use(create):
    foreign = {
        "TableName": "foreign",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    }
    queue = Queue(Store(create(foreign)))
    with pytest.raises(QueueMisconfigured, match=r"'foreign' has the keys id .*own table"):
        queue.check()
    for use in QUEUE.values():
        with pytest.raises(QueueMisconfigured, match=r"'foreign' has other keys.*own table"):
            use(queue)


@pytest.mark.parametrize("wrong", [{"region_name": "eu-west-1"}, {"aws_access_key_id": "other"}])
def test_another_region_or_account_is_named(dynamodb_local_endpoint, new_dynamo_table, wrong):
    name = new_dynamo_table(dynamodb_local_endpoint).name
    arguments: Any = {**dynamodb_local.CREDENTIALS, **wrong}
    elsewhere = DynamoTable.connect(name, endpoint_url=dynamodb_local_endpoint, **arguments)
    region = arguments["region_name"]
    expected = f"there is no table '{name}' in region '{region}'.*check"
    for use in (*QUEUE.values(), Queue.check):
        with pytest.raises(QueueMisconfigured, match=expected):
            use(Queue(Store(elsewhere)))
    for worker in (run, sweep):
        with pytest.raises(QueueMisconfigured, match=expected):
            worker(Store(elsewhere))


@pytest.mark.parametrize(
    "action", ["PutItem", "BatchWriteItem", "GetItem", "DescribeTable", "Query"]
)
def test_a_missing_permission_is_named(dynamodb_local_endpoint, new_dynamo_table, action):
    uses = {name: lambda store, use=use: use(Queue(store)) for name, use in QUEUE.items()}
    use = {**uses, "DescribeTable": lambda store: Queue(store).check(), "Query": run}[action]
    table = new_dynamo_table(dynamodb_local_endpoint)
    deny(table, action)
    with pytest.raises(
        QueueMisconfigured, match=f"dynamodb:{action} on table '{table.name}'.*grant"
    ):
        use(Store(table))


def deny(table: DynamoTable, action: str) -> None:
    for client in (table._calls.client, table._once.client):
        client.meta.events.register(
            f"before-send.dynamodb.{action}",
            lambda request, **_: answer(request, 400, "AccessDeniedException"),
        )
