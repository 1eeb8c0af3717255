"""No request for items ends in a failure of the local cloud, whatever JSON stands in it; and one
that is refused writes nothing."""

import copy
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from lifoq_localcloud.api.calls import resources
from lifoq_localcloud.table_rules.keys import Schema
from tests.localcloud.stored import Database

SCHEMA = Schema(
    key={"h": "S", "r": "N"}, indexes={"by-a": {"a": "S", "b": "N"}, "by-bytes": {"c": "B"}}
)
KEY = {"h": {"S": "x"}, "r": {"N": "1"}}
ITEM: dict[str, Any] = {
    **KEY,
    "a": {"S": "in"},
    "b": {"N": "2"},
    "c": {"B": "YQ=="},
    "m": {"M": {"l": {"L": [{"BOOL": True}, {"NULL": True}]}, "s": {"SS": ["a"]}}},
    "n": {"NS": ["1", "2"]},
    "bs": {"BS": ["YQ=="]},
}
OF_TABLE = {"TableName": "t"}
OF_ITEM = {**OF_TABLE, "Key": KEY}
CONDITION = {
    "ConditionExpression": "#a = :a OR size(m.l) > :n",
    "ExpressionAttributeNames": {"#a": "a"},
    "ExpressionAttributeValues": {":a": {"S": "in"}, ":n": {"N": "1"}},
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}
UPDATE = {
    "UpdateExpression": "SET b = b + :n REMOVE m.l[0]",
    "ExpressionAttributeValues": {":n": {"N": "1"}},
}
EXPECTED = {"Expected": {"b": {"ComparisonOperator": "GE", "AttributeValueList": [{"N": "1"}]}}}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("PutItem", {**OF_TABLE, "Item": ITEM, **CONDITION, "ReturnValues": "ALL_OLD"}),
    ("PutItem", {**OF_TABLE, "Item": ITEM, "Expected": {"a": {"Value": {"S": "in"}}}}),
    ("GetItem", {**OF_ITEM, "ProjectionExpression": "a, m.l[0]", "ConsistentRead": True}),
    ("GetItem", {**OF_ITEM, "AttributesToGet": ["a", "b"]}),
    ("DeleteItem", {**OF_ITEM, **CONDITION, "ReturnConsumedCapacity": "INDEXES"}),
    ("DeleteItem", {**OF_ITEM, **EXPECTED, "ReturnItemCollectionMetrics": "SIZE"}),
    ("UpdateItem", {**OF_ITEM, **UPDATE, "ReturnValues": "UPDATED_NEW"}),
    (
        "UpdateItem",
        {**OF_ITEM, "AttributeUpdates": {"b": {"Action": "ADD", "Value": {"N": "1"}}}, **EXPECTED},
    ),
    (
        "Query",
        {
            **OF_TABLE,
            "IndexName": "by-a",
            "KeyConditionExpression": "a = :a AND b BETWEEN :n AND :m",
            "FilterExpression": "contains(m.s, :a)",
            "ExpressionAttributeValues": {":a": {"S": "in"}, ":n": {"N": "1"}, ":m": {"N": "9"}},
            "ExclusiveStartKey": {**KEY, "a": {"S": "in"}, "b": {"N": "1"}},
            "ScanIndexForward": False,
            "Limit": 5,
        },
    ),
    (
        "Query",
        {
            **OF_TABLE,
            "KeyConditions": {
                "h": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]},
                "r": {"ComparisonOperator": "LT", "AttributeValueList": [{"N": "5"}]},
            },
            "QueryFilter": {"a": {"ComparisonOperator": "NOT_NULL"}},
            "Select": "COUNT",
        },
    ),
    (
        "Scan",
        {
            **OF_TABLE,
            "ScanFilter": {
                "a": {"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [{"S": "i"}]},
                "b": {"ComparisonOperator": "IN", "AttributeValueList": [{"N": "1"}, {"N": "2"}]},
            },
            "ConditionalOperator": "OR",
            "Segment": 0,
            "TotalSegments": 2,
        },
    ),
    (
        "BatchGetItem",
        {"RequestItems": {"t": {"Keys": [KEY], "ProjectionExpression": "a"}}},
    ),
    (
        "BatchWriteItem",
        {
            "RequestItems": {
                "t": [
                    {"PutRequest": {"Item": {**ITEM, "r": {"N": "2"}}}},
                    {"DeleteRequest": {"Key": KEY}},
                ]
            }
        },
    ),
    (
        "TransactGetItems",
        {"TransactItems": [{"Get": {**OF_ITEM, "ProjectionExpression": "m.s"}}]},
    ),
    (
        "TransactWriteItems",
        {
            "ClientRequestToken": "token",
            "TransactItems": [
                {"Put": {**OF_TABLE, "Item": {**ITEM, "r": {"N": "3"}}}},
                {"Update": {**OF_ITEM, **UPDATE}},
                {"Delete": {**OF_TABLE, "Key": {**KEY, "r": {"N": "4"}}}},
                {"ConditionCheck": {**OF_TABLE, "Key": {**KEY, "r": {"N": "5"}}, **CONDITION}},
            ],
        },
    ),
]
STRANGE: tuple[Any, ...] = (None, 5, -1.5, True, "", "x", [], [{}], {}, {"S": "x"}, {"x": None})
"""Values that stand in place of a part of a request."""


def broken(request: Any) -> Iterator[Any]:
    """Yield the request with each part replaced by each strange one, and with each left out."""
    for path in places(request):
        for strange in STRANGE:
            changed = copy.deepcopy(request)
            parent = inside(changed, path[:-1])
            parent[path[-1]] = copy.deepcopy(strange)
            yield changed
        changed = copy.deepcopy(request)
        del inside(changed, path[:-1])[path[-1]]
        yield changed


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    for name, one in entries:
        yield (*path, name)
        yield from places(one, (*path, name))


def inside(value: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


def new() -> Database:
    database = Database(t=SCHEMA)
    database.ask("PutItem", {**OF_TABLE, "Item": ITEM})
    return database


@pytest.mark.parametrize(("operation", "request_"), REQUESTS)
def test_a_request_with_one_strange_part_is_answered_or_refused(operation, request_):
    told = new().answer(operation, request_)
    assert "__type" not in told or told["CancellationReasons"][-1]["Code"] != "None"
    database = new()
    before = [*database.tables["t"].rows]
    for changed in broken(request_):
        [*resources("dynamodb", environment(operation), changed)]
        told = database.answer(operation, changed)
        assert told.get("__type") != "InternalFailure", f"{changed}\n{told['message']}"
        json.dumps(told)
        if "__type" not in told:
            database = new()
        else:
            assert [*database.tables["t"].rows] == before, changed


def environment(operation: str) -> dict[str, Any]:
    return {"HTTP_X_AMZ_TARGET": f"DynamoDB_20120810.{operation}", "wsgi.input": io.BytesIO()}
