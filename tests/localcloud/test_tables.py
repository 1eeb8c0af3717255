"""DynamoDB as clients of the local cloud see it, where moto alone would do otherwise."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lifoq import NewTask
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.errors import NotClaimed
from lifoq.store.store import Store
from lifoq.testing import create_table
from tests.localcloud.harness import Deployed


@pytest.fixture
def store(deployed) -> Store:
    """With a table of its own."""
    client, name = deployed.client("dynamodb"), f"queue-{uuid.uuid4().hex[:12]}"
    create_table(client, name)
    return Store(DynamoTable.of_clients(name, client=client, once=client))


def put(store: Store, task_id: str) -> None:
    store.put(NewTask(task_type="a", task_id=task_id))


def pending(store: Store) -> list[str]:
    return [row.task_id for row in store.candidates(limit=100).rows]


def test_a_claim_is_won_by_one_of_many(store):
    put(store, "contested")
    barrier = threading.Barrier(8)

    def claim(number: int) -> bool:
        barrier.wait()
        try:
            store.claim("contested", claim_id=str(number), lease=30)
        except NotClaimed:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(claim, range(8))) == 1
    assert pending(store) == []


def test_a_refused_transaction_changes_neither_items_nor_index_nor_stream(deployed, store):
    dynamodb, name = deployed.client("dynamodb"), store.table.name
    put(store, "there")
    there = {"TableName": name, "Key": {"taskId": {"S": "there"}}}
    with pytest.raises(dynamodb.exceptions.TransactionCanceledException):
        dynamodb.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": name, "Item": {"taskId": {"S": "new"}}}},
                {"ConditionCheck": {**there, "ConditionExpression": "attribute_exists(gone)"}},
            ]
        )

    assert pending(store) == ["there"]
    assert len(dynamodb.scan(TableName=name)["Items"]) == 1
    assert [one["eventName"] for one in stream(deployed, store)] == ["INSERT"]
    put(store, "after")
    assert pending(store) == ["after", "there"]
    assert [one["eventName"] for one in stream(deployed, store)] == ["INSERT", "INSERT"]


def test_an_update_of_an_item_that_is_not_there_is_one_insert(deployed, store):
    deployed.client("dynamodb").update_item(
        TableName=store.table.name,
        Key={"taskId": {"S": "fresh"}},
        UpdateExpression="SET taskCreated = :now",
        ExpressionAttributeValues={":now": {"N": "5"}},
    )

    (record,) = stream(deployed, store)
    assert record["eventName"] == "INSERT"
    assert record["dynamodb"]["NewImage"]["taskCreated"] == {"N": "5"}


def test_a_deleted_table_takes_its_stream_with_it(deployed, store):
    name = store.table.name
    deployed.client("dynamodb").delete_table(TableName=name)
    assert deployed.client("dynamodbstreams").list_streams(TableName=name)["Streams"] == []


def stream(deployed: Deployed, store: Store) -> list[dict[str, Any]]:
    """All records, as a client of the Streams API reads them."""
    api = deployed.client("dynamodbstreams")
    (one,) = api.list_streams(TableName=store.table.name)["Streams"]
    description = api.describe_stream(StreamArn=one["StreamArn"])["StreamDescription"]
    iterator = api.get_shard_iterator(
        StreamArn=one["StreamArn"],
        ShardId=description["Shards"][0]["ShardId"],
        ShardIteratorType="TRIM_HORIZON",
    )["ShardIterator"]
    return api.get_records(ShardIterator=iterator)["Records"]
