"""DynamoDB as clients of the local cloud see it, where moto alone would do otherwise."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

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


def test_a_batch_reads_the_items_that_are_there(store):
    put(store, "here")
    put(store, "here too")
    found = store.table.get_many(["here", "nowhere", "here too"])
    assert sorted(item["taskId"] for item in found) == ["here", "here too"]


def test_a_deleted_table_takes_its_stream_with_it(deployed, store):
    name = store.table.name
    deployed.client("dynamodb").delete_table(TableName=name)
    assert deployed.client("dynamodbstreams").list_streams(TableName=name)["Streams"] == []


def stream(deployed: Deployed, store: Store) -> list[dict[str, Any]]:
    """All records of a queue's table."""
    return records(deployed, store.table.name)


def records(deployed: Deployed, table: str) -> list[dict[str, Any]]:
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


BYTES = (b"", b"a", b"ab", b"abc", b"b", b"\x00\xff", b"\xfb\xef\xff")


def test_binary_values_are_bytes_everywhere(deployed):
    """Keys, sets, conditions, projections, indexes and streams have them, be their base64 whole or
    padded."""
    dynamodb, name = deployed.client("dynamodb"), f"bytes-{uuid.uuid4().hex[:8]}"
    kinds = {"h": "B", "r": "B", "i": "B"}
    dynamodb.create_table(
        TableName=name,
        AttributeDefinitions=[
            {"AttributeName": one, "AttributeType": kind} for one, kind in kinds.items()
        ],
        KeySchema=[
            {"AttributeName": "h", "KeyType": "HASH"},
            {"AttributeName": "r", "KeyType": "RANGE"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-i",
                "KeySchema": [{"AttributeName": "i", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["b"]},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    for given in BYTES[1:]:
        key = {"h": {"B": b"one"}, "r": {"B": given}}
        nested = {"M": {"l": {"L": [{"B": given}]}}}
        dynamodb.put_item(TableName=name, Item={**key, "b": {"B": given}, "m": nested})
        found = dynamodb.update_item(
            TableName=name,
            Key=key,
            UpdateExpression="SET i = :b ADD s :s",
            ConditionExpression="b = :b AND size(b) = :n AND contains(b, :b) AND "
            "begins_with(b, :b) AND b BETWEEN :b AND :high AND b IN (:high, :b) AND b < :high "
            "AND NOT b < :b",
            ExpressionAttributeValues={
                ":b": {"B": given},
                ":n": {"N": str(len(given))},
                ":high": {"B": given + b"\xff"},
                ":s": {"BS": [given, b"other"]},
            },
            ReturnValues="ALL_NEW",
        )["Attributes"]
        assert found["i"] == found["b"] == found["r"] == {"B": given}
        assert sorted(found["s"]["BS"]) == sorted([given, b"other"])
        (shown,) = dynamodb.query(
            TableName=name,
            IndexName="by-i",
            KeyConditionExpression="i = :i",
            ExpressionAttributeValues={":i": {"B": given}},
        )["Items"]
        assert shown == {**key, "i": {"B": given}, "b": {"B": given}}
    ordered = dynamodb.query(
        TableName=name,
        KeyConditionExpression="h = :h AND begins_with(r, :a)",
        ExpressionAttributeValues={":h": {"B": b"one"}, ":a": {"B": b"a"}},
        ProjectionExpression="r, s",
    )["Items"]
    assert [one["r"]["B"] for one in ordered] == [b"a", b"ab", b"abc"]
    streamed = [one["dynamodb"]["NewImage"] for one in records(deployed, name)]
    assert {one["i"]["B"] for one in streamed if "i" in one} == {*BYTES[1:]}
    assert {one["m"]["M"]["l"]["L"][0]["B"] for one in streamed} == {*BYTES[1:]}


def refused(call: Any, **asked: Any) -> str:
    """Return the code of a refusal."""
    with pytest.raises(ClientError) as error:
        call(**asked)
    return str(error.value.response["Error"]["Code"])


@pytest.fixture
def one_item(deployed) -> dict[str, Any]:
    """A table with one item, as the arguments of a call about it."""
    dynamodb, name = deployed.client("dynamodb"), f"one-{uuid.uuid4().hex[:8]}"
    dynamodb.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    item = {"id": {"S": "a"}, "p": {"S": "text"}, "m": {"M": {"l": {"L": [{"N": "1"}]}}}}
    dynamodb.put_item(TableName=name, Item=item)
    return {"TableName": name, "Key": {"id": {"S": "a"}}}


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("p < :n", "ConditionalCheckFailedException"),
        ("NOT NOT p = :n", "ConditionalCheckFailedException"),
        ("unknown(p, :n)", "ValidationException"),
        ("p = :n AND", "ValidationException"),
    ],
)
def test_a_condition_that_does_not_hold_or_cannot_be_read_is_refused_as_dynamodb_does(
    deployed, one_item, condition, code
):
    asked = {"ConditionExpression": condition, "ExpressionAttributeValues": {":n": {"N": "1"}}}
    assert refused(deployed.client("dynamodb").delete_item, **one_item, **asked) == code


def test_a_transaction_reads_what_its_projections_name(deployed, one_item):
    get = {"Get": {**one_item, "ProjectionExpression": "m.l[0], p"}}
    (told,) = deployed.client("dynamodb").transact_get_items(TransactItems=[get])["Responses"]
    assert told["Item"] == {"p": {"S": "text"}, "m": {"M": {"l": {"L": [{"N": "1"}]}}}}


def test_tables_are_listed_by_name_page_by_page(deployed, one_item):
    dynamodb = deployed.client("dynamodb")
    found = dynamodb.list_tables()
    assert one_item["TableName"] in found["TableNames"]
    assert found["TableNames"] == sorted(found["TableNames"])
    assert "LastEvaluatedTableName" not in found
    paged = dynamodb.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 1})
    assert [one for page in paged for one in page["TableNames"]] == found["TableNames"]


def test_ttl_is_switched_on_once_and_off_once(deployed, one_item):
    switch, name = deployed.client("dynamodb").update_time_to_live, one_item["TableName"]

    def asked(attribute: str, *, enabled: bool) -> dict[str, Any]:
        specification = {"AttributeName": attribute, "Enabled": enabled}
        return {"TableName": name, "TimeToLiveSpecification": specification}

    assert refused(switch, **asked("at", enabled=False)) == "ValidationException"
    switch(**asked("at", enabled=True))
    assert refused(switch, **asked("at", enabled=True)) == "ValidationException"
    with pytest.raises(ClientError, match=r"TimeToLive is already enabled$"):
        switch(**asked("other", enabled=True))
    with pytest.raises(ClientError, match=r"current AttributeName is at$"):
        switch(**asked("other", enabled=False))
    switch(**asked("at", enabled=False))
    with pytest.raises(ClientError, match=r"TimeToLive is already disabled$"):
        switch(**asked("at", enabled=False))


def test_a_throughput_that_is_set_again_is_refused_unless_one_of_its_numbers_is_another(deployed):
    dynamodb, key = deployed.client("dynamodb"), {"AttributeName": "id"}
    name = f"provisioned-{uuid.uuid4().hex[:8]}"

    def units(reads: int, writes: int) -> dict[str, Any]:
        each = {"ReadCapacityUnits": reads, "WriteCapacityUnits": writes}
        return {"TableName": name, "ProvisionedThroughput": each}

    schema = [{**key, "KeyType": "HASH"}]
    dynamodb.create_table(
        **units(5, 7), KeySchema=schema, AttributeDefinitions=[{**key, "AttributeType": "S"}]
    )
    with pytest.raises(ClientError) as refused:
        dynamodb.update_table(**units(5, 7))
    assert refused.value.response["Error"]["Message"] == (
        "The provisioned throughput for the table will not change. The requested value equals the "
        "current value. Current ReadCapacityUnits provisioned for the table: 5. Requested "
        "ReadCapacityUnits: 5. Current WriteCapacityUnits provisioned for the table: 7. Requested "
        "WriteCapacityUnits: 7."
    )
    for reads, writes in ((5, 8), (6, 8)):
        told = dynamodb.update_table(**units(reads, writes))["TableDescription"]
        assert told["ProvisionedThroughput"]["ReadCapacityUnits"] == reads
        assert told["ProvisionedThroughput"]["WriteCapacityUnits"] == writes
    dynamodb.delete_table(TableName=name)


def test_a_stream_is_switched_on_once_and_read_by_its_own_shard(deployed, one_item):
    dynamodb, name = deployed.client("dynamodb"), one_item["TableName"]
    on = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}

    def switch(**stream: Any) -> str | None:
        told = dynamodb.update_table(TableName=name, StreamSpecification=stream)
        return told["TableDescription"].get("LatestStreamArn")

    first = switch(**on)
    assert refused(switch, **on) == "ResourceInUseException"
    api = deployed.client("dynamodbstreams")
    asked = {"StreamArn": first, "ShardId": f"shardId-{'0' * 21}", "ShardIteratorType": "LATEST"}
    assert refused(api.get_shard_iterator, **asked) == "ResourceNotFoundException"
    switch(StreamEnabled=False)
    assert switch(**on)
    dynamodb.put_item(TableName=name, Item=one_item["Key"])
    record = records(deployed, name)[-1]
    change = record["dynamodb"]
    assert (record["eventName"], change["Keys"]) == ("MODIFY", one_item["Key"])
    assert change["StreamViewType"] == "KEYS_ONLY"
    assert not {"NewImage", "OldImage"} & change.keys()


def test_a_restored_table_has_the_items_and_indexes_of_its_backup_or_of_another_table(deployed):
    dynamodb, name = deployed.client("dynamodb"), f"kept-{uuid.uuid4().hex[:8]}"
    index = {
        "IndexName": "by-p",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    dynamodb.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in ("id", "p")],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[index],
        BillingMode="PAY_PER_REQUEST",
    )
    items = [{"id": {"S": one}, "p": {"S": "text"}} for one in "ab"]
    for item in items:
        dynamodb.put_item(TableName=name, Item=item)
    backup = dynamodb.create_backup(TableName=name, BackupName="before")["BackupDetails"]
    dynamodb.delete_item(TableName=name, Key={"id": {"S": "a"}})
    of_backup, of_table = f"{name}-backup", f"{name}-table"
    dynamodb.restore_table_from_backup(TargetTableName=of_backup, BackupArn=backup["BackupArn"])
    source = {"SourceTableName": name, "UseLatestRestorableTime": True}
    dynamodb.restore_table_to_point_in_time(TargetTableName=of_table, **source)
    dynamodb.delete_item(TableName=name, Key={"id": {"S": "b"}})
    for restored, kept in ((of_backup, items), (of_table, items[1:])):
        found = dynamodb.query(
            TableName=restored,
            IndexName="by-p",
            KeyConditionExpression="p = :p",
            ExpressionAttributeValues={":p": {"S": "text"}},
        )["Items"]
        assert sorted(found, key=lambda one: one["id"]["S"]) == kept
        assert dynamodb.describe_table(TableName=restored)["Table"]["ItemCount"] == len(kept)


def test_a_statement_of_partiql_reads_and_writes_the_items_of_its_table(deployed, one_item):
    dynamodb, name = deployed.client("dynamodb"), one_item["TableName"]

    def execute(before: str, after: str) -> Any:
        return dynamodb.execute_statement(Statement=f'{before} "{name}" {after}')["Items"]

    execute("INSERT INTO", "VALUE {'id': 'b', 'p': 'new'}")
    execute("UPDATE", "SET p = 'other' WHERE id = 'a'")
    assert execute("SELECT p FROM", "WHERE id = 'b'") == [{"p": {"S": "new"}}]
    execute("DELETE FROM", "WHERE id = 'b'")
    (left,) = dynamodb.scan(TableName=name)["Items"]
    assert (left["id"], left["p"]) == ({"S": "a"}, {"S": "other"})
