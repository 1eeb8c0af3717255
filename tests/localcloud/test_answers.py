"""Answers that are not moto's alone have the values that DynamoDB would send."""

import copy
import json
import re
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType, Item

from lifoq_localcloud.moto_adapter import tables
from lifoq_localcloud.moto_adapter.tables import JournaledTable
from lifoq_localcloud.table_rules.keys import Schema
from tests.localcloud.harness import eventually
from tests.localcloud.rows import rows
from tests.localcloud.stored import Database

ATTRIBUTES: dict[str, Any] = {
    "text": {"S": 'ü "quoted" \n'},
    "n": {"N": "-1.5"},
    "flag": {"BOOL": False},
    "nothing": {"NULL": True},
    "bytes": {"B": b"\x00\xff"},
    "several": {"BS": [b"\x00", b"\xff"]},
    "names": {"SS": ["a", "b"]},
    "list": {"L": [{"N": "1"}, {"M": {"deep": {"B": b"\x00\xff"}}}]},
    "map": {"M": {"a.b": {"S": "dotted"}}},
}

INDEXES = {
    "local": {"h": "S", "x": "N"},
    "by-x": {"x": "N"},
    "by-z": {"x": "N", "y": "N", "z": "B"},
    "local-keys": {"h": "S", "w": "S"},
    "by-w-keys": {"w": "S"},
}


def test_each_operation_on_items_answers_in_full():
    """The rows of ``answered_requests.txt``, one after another, in two tables that are empty."""
    database = Database(
        t=Schema(key={"h": "S", "r": "N"}, indexes=INDEXES), u=Schema(key={"id": "S"})
    )
    for operation, (answer,), call in rows("answered_requests.txt"):
        assert database.answer(operation, call) == json.loads(answer), call


def test_a_batch_reads_16_mb_and_tells_what_is_left():
    database = Database(t=Schema(key={"id": "S"}))
    keys = [{"id": {"S": str(number)}} for number in range(10, 76)]
    padding = {"S": "x" * (2**18 - len("id10x"))}  # 64 items have 16 MB, to the byte
    for key in keys:
        database.ask("PutItem", {"TableName": "t", "Item": {**key, "x": padding}})
    asked = {"Keys": keys, "ConsistentRead": True}
    told = database.ask("BatchGetItem", {"RequestItems": {"t": asked}})
    assert [one["id"] for one in told["Responses"]["t"]] == [key["id"] for key in keys[:64]]
    assert told["UnprocessedKeys"] == {"t": {**asked, "Keys": keys[64:]}}


FILTERED: dict[str, Any] = {
    "id": {"S": "a"},
    "s": {"S": "ab"},
    "n": {"N": "5"},
    "b": {"B": "YWI="},
    "yes": {"BOOL": True},
    "untrue": {"BOOL": False},
    "nil": {"NULL": True},
    "ss": {"SS": ["a", "b", "c"]},
    "ns": {"NS": ["1", "5"]},
    "bs": {"BS": ["YQ=="]},
    "l": {"L": [{"S": "a"}, {"N": "5"}]},
    "m": {"M": {"k": {"N": "5"}}},
    "lss": {"L": [{"SS": ["a", "b"]}]},
}
VALUES: dict[str, Any] = {
    ":a": {"S": "a"},
    ":b": {"S": "b"},
    ":z": {"S": "z"},
    ":bytes": {"B": "YQ=="},
    ":ab": {"B": "YWI="},
    ":1": {"N": "1"},
    ":2": {"N": "2"},
    ":3": {"N": "3"},
    ":5": {"N": "5"},
    ":9": {"N": "9"},
    ":true": {"BOOL": True},
    ":ss": {"SS": ["c", "a", "b"]},
    ":less": {"SS": ["a", "b"]},
    ":l": {"L": [{"S": "a"}, {"N": "5"}]},
    ":short": {"L": [{"S": "a"}]},
    ":other": {"L": [{"S": "a"}, {"N": "9"}]},
    ":m": {"M": {"k": {"N": "5"}}},
    ":lss": {"L": [{"SS": ["b", "a"]}]},
    ":more": {"M": {"k": {"N": "5"}, "x": {"N": "5"}}},
    ":changed": {"M": {"k": {"N": "9"}}},
    ":S": {"S": "S"},
    ":L": {"S": "L"},
}
HOLD = (
    *("begins_with(s, :a)", "begins_with(b, :bytes)", "contains(s, :b)", "contains(b, :bytes)"),
    *("contains(ss, :a)", "contains(ns, :1)", "contains(bs, :bytes)", "contains(l, :5)"),
    *(
        "lss = :lss",
        "l = :l",
        "m = :m",
        "ss = :ss",
        "b = :ab",
        "yes = :true",
        "m.k = l[1]",
        "m.k = n",
    ),
    *("size(s) = :2", "size(b) = :2", "size(ss) = :3", "size(l) = :2", "size(m) = :1"),
    *("size(ns) = :2", "size(bs) = :1", "size(gone) <> :1", "attribute_type(l, :L)"),
    *(
        "n BETWEEN :1 AND :5",
        "n BETWEEN :5 AND :9",
        "n BETWEEN m.k AND :9",
        "n IN (:1, :5)",
        "n IN (gone, m.k)",
    ),
    *("n <> :a", "gone <> :a", "n <> gone", "n <> :1", "n <= :5", "n >= :5", "n < :9", "n > :1"),
    *("attribute_exists(l[1])", "attribute_not_exists(l[2])", "attribute_exists(nil)"),
    *(
        "n = (:5)",
        "(n) = :5",
        "n = :1 OR s <> :a",
        "s <> :a OR n = :1",
        "NOT n = :1",
        "NOT (n = :5 AND n = :1)",
    ),
)
DO_NOT = (
    *(
        "begins_with(s, :b)",
        "begins_with(n, :a)",
        "begins_with(n, m.k)",
        "begins_with(s, :bytes)",
        "begins_with(b, :a)",
    ),
    *("begins_with(gone, :a)", "begins_with(s, gone)", "contains(s, gone)", "contains(gone, :a)"),
    *("contains(s, :bytes)", "contains(n, :5)", "contains(ss, :5)", "contains(ss, :z)"),
    *("contains(m, :a)", "contains(l, :b)", "contains(s, :z)", "contains(ns, :a)"),
    *("l = :short", "l = :other", "m = :more", "m = :changed", "ss = :less", "s = :ab", "n = :a"),
    *(
        "gone = :a",
        "n = gone",
        "gone = gone2",
        "gone < :1",
        "n < gone",
        "n < :a",
        "yes < n",
        "untrue < yes",
    ),
    *("size(n) = :1", "size(yes) = :1", "size(nil) = :1", "attribute_type(l, :S)"),
    *("attribute_type(gone, :S)", "n < :5", "n > :5", "n <= :1", "n >= :9", "n <> :5"),
    *("n BETWEEN :1 AND :2", "n BETWEEN :9 AND :9", "n BETWEEN :a AND :b", "n IN (:1, :9)"),
    *("attribute_exists(l[2])", "attribute_exists(m.k.x)", "attribute_exists(l.a)"),
    *("attribute_exists(m[0])", "attribute_exists(s[0])", "attribute_not_exists(n)"),
    *("n = :5 AND n = :1", "n = :1 AND n = :5", "n = :1 OR n = :9", "NOT n = :5"),
)


def test_a_filter_takes_the_items_for_which_it_holds():
    database = Database(t=Schema(key={"id": "S"}))
    database.ask("PutItem", {"TableName": "t", "Item": FILTERED})
    for text in (*HOLD, *DO_NOT):
        used = {name: VALUES[name] for name in re.findall(r":\w+", text)}
        asked = {"TableName": "t", "FilterExpression": text}
        asked |= {"ExpressionAttributeValues": used} if used else {}
        found = [FILTERED] if text in HOLD else []
        told = {"Count": len(found), "ScannedCount": 1, "Items": found}
        assert database.answer("Scan", asked) == told, text


def test_every_type_of_value_arrives_as_it_was_stored(deployed):
    stored = {**ATTRIBUTES, "id": {"S": "types"}}
    deployed.put("types", **ATTRIBUTES)
    scan = deployed.client("dynamodb").get_paginator("scan")
    pages = list(scan.paginate(TableName=deployed.ids["Table"], PaginationConfig={"PageSize": 1}))
    (found,) = [one for page in pages for one in page["Items"] if one["id"] == stored["id"]]
    assert found == stored
    assert "LastEvaluatedKey" not in pages[-1]


def test_what_is_not_imitated_is_refused_with_a_sentence(deployed):
    functions = deployed.client("lambda")
    with pytest.raises(ClientError, match="the local cloud does not imitate GetF") as refused:
        functions.get_function_recursion_config(FunctionName="any")
    assert refused.value.response["Error"]["Code"] == "NotImitatedException"


def test_an_object_that_is_not_there_is_not_found_whoever_asks_for_its_head_alone(deployed):
    objects = deployed.client("s3")
    objects.create_bucket(Bucket="heads")
    with pytest.raises(ClientError) as refused:
        objects.head_object(Bucket="heads", Key="absent")
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


@pytest.mark.parametrize(
    "projection",
    [
        {"ProjectionType": "ALL"},
        {"ProjectionType": "KEYS_ONLY"},
        {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["map", "absent"]},
    ],
)
def test_an_index_shows_the_same_of_an_item_as_with_moto(projection):
    key = [{"AttributeName": "id", "KeyType": "HASH"}]
    schema = [
        {"AttributeName": "text", "KeyType": "HASH"},
        {"AttributeName": "n", "KeyType": "RANGE"},
    ]
    table = JournaledTable(
        "indexed",
        account_id="123456789012",
        region="us-east-1",
        schema=key,
        attr=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "text", "n")],
        global_indexes=[{"IndexName": "index", "KeySchema": schema, "Projection": projection}],
    )
    image = {"id": {"S": "a"}, **ATTRIBUTES}
    item = Item(DynamoType({"S": "a"}), None, image)
    expected = table.global_indexes[0].project(copy.deepcopy(item)).to_json()["Attributes"]

    assert table.rows.indexes["index"].project(image) == expected


def test_ttl_takes_what_has_expired_within_the_last_five_years():
    key = [{"AttributeName": "id", "KeyType": "HASH"}]
    attributes = [{"AttributeName": "id", "AttributeType": "S"}]
    table = JournaledTable(
        "t", account_id="123456789012", region="us-east-1", schema=key, attr=attributes
    )
    now, five_years = 2_000_000_000, 5 * 365 * 86_400
    for name, at in (
        ("soon", {"N": str(now + 1)}),
        ("just", {"N": str(now - 1)}),
        ("years", {"N": str(now - five_years + 1)}),
        ("ages", {"N": str(now - five_years - 1)}),
        ("text", {"S": str(now - 1)}),
    ):
        image = {"id": {"S": name}, "at": at}
        table.rows.write(image, image, table.journal)
    assert table.expired(now) == []
    table.ttl = {"TimeToLiveStatus": "ENABLED", "AttributeName": "at"}
    assert [item["id"]["S"] for item in table.expired(now)] == ["just", "years"]


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        ("KEYS_ONLY", ()),
        ("NEW_IMAGE", ("NewImage",)),
        ("OLD_IMAGE", ("OldImage",)),
        ("NEW_AND_OLD_IMAGES", ("NewImage", "OldImage")),
    ],
)
def test_a_record_of_a_stream_shows_of_an_item_what_its_view_says(view, shown, monkeypatch):
    key, now = [{"AttributeName": "id", "KeyType": "HASH"}], {"id": {"S": "a"}, "n": {"N": "1"}}
    table = JournaledTable(
        "t",
        account_id="123456789012",
        region="us-east-1",
        schema=key,
        attr=[{"AttributeName": "id", "AttributeType": "S"}],
        streams={"StreamEnabled": True, "StreamViewType": view},
    )
    later = {**now, "n": {"N": "2"}}
    for write, how in ((now, {}), (later, {}), (None, {"by_ttl": True})):
        table.rows.write(now, write, table.journal, **how)
        table.journal.commit()
    writes = table.journal.read(0, 9)
    records = [table.shard.record(one) for one in writes]
    images = {"NewImage": [now, later, None], "OldImage": [None, now, later]}
    for place, (record, write) in enumerate(zip(records, writes, strict=True)):
        change = record["dynamodb"]
        kept = {name: images[name][place] for name in shown}
        assert {name: change[name] for name in images if name in change} == {
            name: image for name, image in kept.items() if image is not None
        }
        number = table.shard.starting_sequence_number + place
        assert (change["Keys"], change["SequenceNumber"]) == ({"id": now["id"]}, str(number))
        assert change["ApproximateCreationDateTime"] == write.micros // 1_000_000
        assert (change["StreamViewType"], record["awsRegion"]) == (view, "us-east-1")
        assert (record["eventVersion"], record["eventSource"]) == ("1.1", "aws:dynamodb")
    assert [one["eventName"] for one in records] == ["INSERT", "MODIFY", "REMOVE"]
    assert len({one["eventID"] for one in records}) == 3
    assert ["userIdentity" in one for one in records] == [False, False, True]
    assert len(table.shard.get(table.shard.starting_sequence_number + 1, 9)) == 2
    monkeypatch.setitem(dynamodb_backends["123456789012"]["us-east-1"].tables, "t", table)
    assert tables.journals()["t"] is table.journal
    assert (tables.table("t"), tables.table("u")) == (table, None)


def test_a_state_that_reads_an_item_has_its_bytes_as_base64(deployed):
    deployed.put("read", list={"L": [{"B": b"\x00\xff"}]})
    read = {
        "Type": "Task",
        "Resource": "arn:aws:states:::dynamodb:getItem",
        "Parameters": {"TableName": deployed.ids["Table"], "Key": {"id": {"S": "read"}}},
        "End": True,
    }
    states = deployed.client("stepfunctions")
    machine = states.create_state_machine(
        name="reads",
        definition=json.dumps({"StartAt": "Read", "States": {"Read": read}}),
        roleArn="arn:aws:iam::123456789012:role/reader",
    )["stateMachineArn"]
    execution = states.start_execution(stateMachineArn=machine)["executionArn"]

    def ended() -> dict | None:
        found: dict = states.describe_execution(executionArn=execution)
        return None if found["status"] == "RUNNING" else found

    found = eventually(ended)
    assert found["status"] == "SUCCEEDED"
    assert json.loads(found["output"])["Item"]["list"] == {"L": [{"B": "AP8="}]}
