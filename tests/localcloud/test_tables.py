"""DynamoDB as clients of the local cloud see it, where moto alone would do otherwise."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lifoq.items import schema
from lifoq.testing import create_table
from tests.localcloud.harness import Deployed


@pytest.fixture
def table(deployed, request) -> str:
    name = f"queue-{abs(hash(request.node.name))}"
    create_table(deployed.client("dynamodb"), name)
    return name


def put(deployed: Deployed, table: str, key: str, created: int) -> dict[str, Any]:
    item = {
        "taskId": {"S": key},
        "taskStatus": {"S": "PENDING"},
        "taskCreated": {"N": str(created)},
    }
    deployed.client("dynamodb").put_item(TableName=table, Item=item)
    return item


def pending(deployed: Deployed, table: str) -> list[str]:
    answer = deployed.client("dynamodb").query(
        TableName=table,
        IndexName=schema.STATUS_CREATED_INDEX,
        KeyConditionExpression="taskStatus = :status",
        ExpressionAttributeValues={":status": {"S": "PENDING"}},
        ScanIndexForward=False,
    )
    return [one["taskId"]["S"] for one in answer["Items"]]


def test_a_conditional_write_is_won_by_one_of_many(deployed, table):
    put(deployed, table, "contested", 1)
    barrier = threading.Barrier(8)

    def claim(number: int) -> bool:
        barrier.wait()
        try:
            deployed.client("dynamodb").update_item(
                TableName=table,
                Key={"taskId": {"S": "contested"}},
                UpdateExpression="SET taskStatus = :taken, claimId = :me",
                ConditionExpression="taskStatus = :pending",
                ExpressionAttributeValues={
                    ":taken": {"S": "TAKEN"},
                    ":pending": {"S": "PENDING"},
                    ":me": {"S": str(number)},
                },
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(claim, range(8))) == 1
    assert pending(deployed, table) == []


def test_a_refused_transaction_changes_neither_items_nor_index_nor_stream(deployed, table):
    dynamodb = deployed.client("dynamodb")
    put(deployed, table, "there", 1)
    new = {
        "taskId": {"S": "new"},
        "taskStatus": {"S": "PENDING"},
        "taskCreated": {"N": "2"},
    }
    with pytest.raises(dynamodb.exceptions.TransactionCanceledException):
        dynamodb.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": table, "Item": new}},
                {
                    "Update": {
                        "TableName": table,
                        "Key": {"taskId": {"S": "there"}},
                        "UpdateExpression": "SET taskStatus = :taken",
                        "ConditionExpression": "taskStatus = :failure",
                        "ExpressionAttributeValues": {
                            ":taken": {"S": "TAKEN"},
                            ":failure": {"S": "FAILURE"},
                        },
                    }
                },
            ]
        )

    assert pending(deployed, table) == ["there"]
    assert len(dynamodb.scan(TableName=table)["Items"]) == 1
    assert [one["eventName"] for one in stream(deployed, table)] == ["INSERT"]
    put(deployed, table, "after", 3)
    assert pending(deployed, table) == ["after", "there"]
    assert [one["eventName"] for one in stream(deployed, table)] == ["INSERT", "INSERT"]


def test_an_update_of_an_item_that_is_not_there_is_one_insert(deployed, table):
    deployed.client("dynamodb").update_item(
        TableName=table,
        Key={"taskId": {"S": "fresh"}},
        UpdateExpression="SET taskStatus = :pending, taskCreated = :now",
        ExpressionAttributeValues={":pending": {"S": "PENDING"}, ":now": {"N": "5"}},
    )

    (record,) = stream(deployed, table)
    assert record["eventName"] == "INSERT"
    assert record["dynamodb"]["NewImage"]["taskCreated"] == {"N": "5"}
    assert pending(deployed, table) == ["fresh"]


def test_a_deleted_table_takes_its_stream_with_it(deployed, table):
    deployed.client("dynamodb").delete_table(TableName=table)

    streams = deployed.client("dynamodbstreams").list_streams(TableName=table)["Streams"]
    assert streams == []


def stream(deployed: Deployed, table: str) -> list[dict[str, Any]]:
    """All records, as a client of the Streams API reads them."""
    api = deployed.client("dynamodbstreams")
    (one,) = api.list_streams(TableName=table)["Streams"]
    description = api.describe_stream(StreamArn=one["StreamArn"])["StreamDescription"]
    iterator = api.get_shard_iterator(
        StreamArn=one["StreamArn"],
        ShardId=description["Shards"][0]["ShardId"],
        ShardIteratorType="TRIM_HORIZON",
    )["ShardIterator"]
    return api.get_records(ShardIterator=iterator)["Records"]
