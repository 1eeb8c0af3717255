"""Refusals of DynamoDB by its rules, before moto: one request a rule, and requests that pass."""

from typing import Any

import pytest

from lifoq_localcloud.table_rules import legacy, values
from lifoq_localcloud.table_rules.keys import Schema
from lifoq_localcloud.table_rules.refused import CANCELLED, MISMATCH, RefusedError
from lifoq_localcloud.table_rules.repeats import Repeats
from tests.localcloud.stored import Database

SCHEMA = Schema(key={"id": "S"}, indexes={"by-status": {"status": "S", "created": "N"}})
KEY = {"id": {"S": "a"}}
ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/tasks"
FIVE, NINE = {"N": "5"}, {"N": "9"}


def database() -> Database:
    """Two tables without an item."""
    return Database(tasks=SCHEMA, numbers=Schema(key={"n": "N"}))


def check(operation: str, **request: Any) -> None:
    database().ask(operation, request)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "deep"}
    for _ in range(levels):
        value = {"L": [value]}
    return value


def put(**attributes: Any) -> dict[str, Any]:
    return {"TableName": "tasks", "Item": {**KEY, **attributes}}


def query(**more: Any) -> dict[str, Any]:
    return {
        "TableName": "tasks",
        "IndexName": "by-status",
        "KeyConditionExpression": "#s = :s",
        "ExpressionAttributeNames": {"#s": "status"},
        **more,
        "ExpressionAttributeValues": {
            ":s": {"S": "PENDING"},
            **more.get("ExpressionAttributeValues", {}),
        },
    }


def write(count: int) -> dict[str, Any]:
    asked = [{"PutRequest": {"Item": {"id": {"S": str(one)}}}} for one in range(count)]
    return {"RequestItems": {"tasks": asked}}


def transaction(*members: Any) -> dict[str, Any]:
    return {"TransactItems": list(members)}


UPDATE = {"TableName": "tasks", "Key": KEY, "UpdateExpression": "SET n = :n"}
GET = {"TableName": "tasks", "Key": KEY}
START = {"status": {"S": "PENDING"}, "created": FIVE, **KEY}

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("BatchWriteItem", write(26), "Member must have length less than or equal to 25"),
    ("BatchWriteItem", {"RequestItems": {}}, "requestItems parameter is required"),
    (
        "PutItem",
        {**put(), "Expected": {"n": {"AttributeValueList": [FIVE]}}},
        "AttributeValueList can only be used with a ComparisonOperator",
    ),
    (
        "Scan",
        {
            "TableName": "tasks",
            "ScanFilter": {
                "n": {
                    "ComparisonOperator": "BETWEEN",
                    "AttributeValueList": [{"N": "5"}, {"S": "9"}],
                }
            },
        },
        "inside AttributeValueList must be of same type",
    ),
    (
        "BatchWriteItem",
        {"RequestItems": {"tasks": [{"PutRequest": {"Item": {**KEY, "n": {"N": "1" * 39}}}}]}},
        "38 significant digits",
    ),
    (
        "Scan",
        {"TableName": "tasks", "Select": "ALL_PROJECTED_ATTRIBUTES"},
        "can be used only when Querying using an IndexName",
    ),
    ("BatchWriteItem", {"RequestItems": {"tasks": write(1)["RequestItems"]["tasks"] * 2}}, "dupl"),
    ("TransactWriteItems", transaction(), "length greater than or equal to 1"),
    (
        "TransactWriteItems",
        transaction({"ConditionCheck": {"TableName": "tasks", "Key": KEY}}),
        "Value null at 'transactItems.1.member.conditionCheck.conditionExpression'",
    ),
    (
        "TransactWriteItems",
        transaction(*({"Put": put(id={"S": str(n)}, x={"S": "x" * 400_000})} for n in range(11))),
        "4 MB",
    ),
    (
        "TransactGetItems",
        transaction(*[{"Get": {"TableName": "tasks", "Key": KEY}}] * 2),
        "one item",
    ),
    ("PutItem", {"TableName": "tasks", "Item": {"id": FIVE}}, "expected: S actual: N"),
    ("PutItem", {"TableName": "tasks", "Item": {"other": FIVE}}, "Missing the key id"),
    ("PutItem", put(created={"S": "late"}), "Index Key created Expected: N Actual: S"),
    ("PutItem", put(n={"N": "1" * 39}), "38 significant digits"),
    ("PutItem", put(n={"N": "1E126"}), "Number overflow"),
    ("PutItem", put(n={"N": "five"}), "cannot be converted to a numeric value: five"),
    ("PutItem", put(s={"SS": ["a", "a"]}), "contains duplicates"),
    ("PutItem", put(s={"NS": ["1", "1.0"]}), "contains duplicates"),
    ("PutItem", put(s={"BS": []}), "Binary sets should not be empty"),
    ("PutItem", put(s={"NULL": False}), "must have the value of true"),
    ("PutItem", put(s={"S": "a", "N": "1"}), "more than one datatypes"),
    ("PutItem", put(s=nested(33)), "Nesting Levels"),
    ("PutItem", put(x={"S": "x" * 409_600}), "Item size has exceeded"),
    ("PutItem", {**put(), "TableName": "no table"}, "regular expression pattern"),
    ("PutItem", {**put(), "ConditionExpression": ""}, "The expression can not be empty"),
    (
        "PutItem",
        {**put(), "ConditionExpression": f"attribute_exists({'a' * 4_079})"},
        "exceeded the maximum allowed size; expression size: 4097",
    ),
    (
        "PutItem",
        {**put(), "ExpressionAttributeValues": {":v": FIVE}},
        "ConditionExpression is null",
    ),
    (
        "PutItem",
        {**put(), "ConditionExpression": "attribute_exists(id)", "Expected": {}},
        "both expression and non-expression parameters",
    ),
    ("GetItem", {"TableName": "tasks", "Key": {"id": FIVE}}, "does not match the schema"),
    ("UpdateItem", UPDATE, "value used in expression is not defined; attribute value: :n"),
    (
        "UpdateItem",
        {**UPDATE, "ExpressionAttributeValues": {":n": FIVE, ":m": FIVE}},
        "unused in expressions: keys: {:m}",
    ),
    ("UpdateItem", {**UPDATE, "UpdateExpression": "PUT n"}, 'token: "PUT"'),
    ("Query", query(Limit=0), "greater than or equal to 1"),
    ("Query", query(FilterExpression="#s = :s"), "non-primary key attributes"),
    (
        "Query",
        query(
            KeyConditionExpression="#s = :s AND created BETWEEN :high AND :low",
            ExpressionAttributeValues={":high": NINE, ":low": FIVE},
        ),
        "upper bound to be greater",
    ),
    ("Query", query(ExclusiveStartKey={**START, "status": {"S": "TAKEN"}}), "outside query"),
    ("Query", query(ExclusiveStartKey=KEY), "starting key is invalid"),
    ("Scan", {"TableName": "tasks", "Segment": 2, "TotalSegments": 2}, "2 is not less than"),
    (
        "DeleteItem",
        {"TableName": "tasks", "Key": KEY, "ReturnValues": "ALL", "ReturnConsumedCapacity": "X"},
        "2 validation errors detected",
    ),
    ("PutItem", put(n={"N": "1_0"}), "numeric value: 1_0"),
    ("PutItem", put(n={"S": 5}), "takes no int"),
    ("PutItem", put(n={"B": "!!!"}), "takes no str"),
    ("PutItem", {"TableName": "tasks", "Item": [1]}, "takes no list"),
    ("TransactWriteItems", transaction({}), "only contain one of"),
    ("BatchWriteItem", {"RequestItems": {"tasks": [{}]}}, "exactly one of"),
    ("BatchWriteItem", {"RequestItems": {"tasks": None}}, "must not be null"),
    (
        "TransactGetItems",
        transaction(
            *({"Get": {"TableName": "numbers", "Key": {"n": {"N": n}}}} for n in ("1", "1.0"))
        ),
        "multiple operations on one item",
    ),
    (
        "CreateTable",
        {
            "TableName": "new",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        },
        "PAY_PER_REQUEST",
    ),
]


@pytest.mark.parametrize(("operation", "request_", "told"), REFUSED)
def test_what_dynamodb_refuses_is_refused_with_its_words(operation, request_, told):
    with pytest.raises(RefusedError) as refused:
        check(operation, **request_)
    assert told in str(refused.value)


ALLOWED: list[tuple[str, dict[str, Any]]] = [
    ("BatchWriteItem", write(25)),
    ("PutItem", put(x={"S": "x" * (409_600 - len("id" + "a" + "x"))})),
    ("PutItem", put(n={"N": "1" * 38}, s=nested(32), empty={"S": ""}, none={"NULL": True})),
    ("PutItem", put(n={"N": "9.99E125"}, m={"M": {}}, l={"L": []}, x={"B": ""})),
    ("Query", query(ExclusiveStartKey=START, Limit=1)),
    ("Query", query(FilterExpression="contains(id, :s) OR entry.created = :s")),
    (
        "TransactGetItems",
        transaction(
            *({"Get": {"TableName": "tasks", "Key": {"id": {"S": str(n)}}}} for n in range(100))
        ),
    ),
    ("UpdateItem", {**UPDATE, "ExpressionAttributeValues": {":n": FIVE}}),
    ("GetItem", {"TableName": "arn:aws:dynamodb:us-east-1:123456789012:table/x", "Key": KEY}),
    ("ListTables", {}),
    ("BatchGetItem", {"RequestItems": {"Keys": {"Keys": [KEY]}}}),
    ("BatchWriteItem", {"RequestItems": {"Item": write(1)["RequestItems"]["tasks"]}}),
    (
        "UpdateItem",
        {"TableName": "tasks", "Key": KEY, "AttributeUpdates": {"Key": {"Value": FIVE}}},
    ),
    ("PutItem", {**put(), "Expected": {"Item": {"Exists": False}}}),
    ("PutItem", put(n={"N": "5", "S": None, "later": {}})),
    (
        "Query",
        {
            "TableName": "numbers",
            "KeyConditionExpression": "n = :n",
            "ExpressionAttributeValues": {":n": {"N": "1.0"}},
            "ExclusiveStartKey": {"n": {"N": "1"}},
        },
    ),
    ("Query", query(FilterExpression="entry . created = :s")),
    (
        "CreateTable",
        {
            "TableName": "new",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in "abcd"
            ],
            "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "three",
                    "KeySchema": [{"AttributeName": name, "KeyType": "HASH"} for name in "bcd"],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        },
    ),
    ("TagResource", {"ResourceArn": ARN, "Tags": [{"Key": "team", "Value": "a"}]}),
    ("GetRecords", {"ShardIterator": "of a stream"}),
]


@pytest.mark.parametrize(("operation", "request_"), ALLOWED)
def test_what_dynamodb_takes_passes(operation, request_):
    told = database().answer(operation, request_)
    assert told.get("__type") in {None, "ResourceNotFoundException"}  # the rules let it through


def test_a_key_that_does_not_fit_cancels_a_transaction():
    with pytest.raises(RefusedError) as refused:
        check("TransactGetItems", **transaction({"Get": {"TableName": "tasks", "Key": {}}}))
    assert refused.value.code == CANCELLED
    assert [reason["Code"] for reason in refused.value.reasons or []] == ["ValidationError"]


@pytest.mark.parametrize(
    ("given", "stored"),
    [("00042", "42"), ("1.0", "1"), ("-0", "0"), ("1.5E2", "150"), ("1E-3", "0.001"), ("10", "10")],
)
def test_numbers_are_written_as_dynamodb_stores_them(given, stored):
    request = put(n={"L": [{"N": given}]}, s={"NS": [given]})
    values.rewrite("PutItem", request)
    assert request == put(n={"L": [{"N": stored}]}, s={"NS": [stored]})


def test_capacity_is_counted_for_the_table_and_for_each_entry_of_an_index():
    tables = database()

    def units(operation: str, **request: Any) -> tuple[float, float, float]:
        """Return the units of the table, of its index, and of both."""
        asked = {"TableName": "tasks", "ReturnConsumedCapacity": "INDEXES", **request}
        told = tables.ask(operation, asked)["ConsumedCapacity"]
        index = told.get("GlobalSecondaryIndexes", {}).get("by-status", {"CapacityUnits": 0.0})
        return told["Table"]["CapacityUnits"], index["CapacityUnits"], told["CapacityUnits"]

    assert units("PutItem", Item={**KEY, "n": FIVE}) == (1, 0, 1)
    assert units("PutItem", Item={**KEY, "status": {"S": "PENDING"}, "created": FIVE}) == (1, 1, 2)
    changed = {**UPDATE, "ExpressionAttributeValues": {":n": NINE}}
    assert units("UpdateItem", **changed) == (1, 1, 2), "the entry shows the change"
    moved = {**changed, "UpdateExpression": "SET created = :n"}
    assert units("UpdateItem", **moved) == (1, 2, 3), "an entry goes, and another comes"
    assert units("GetItem", Key=KEY) == (0.5, 0, 0.5)
    assert units("GetItem", Key=KEY, ConsistentRead=True) == (1, 0, 1)
    assert units("Query", **query()) == (0, 0.5, 0.5)
    assert "ConsumedCapacity" not in tables.ask("GetItem", {"TableName": "tasks", "Key": KEY})


def test_a_transaction_is_done_once_for_each_token():
    repeats = Repeats()
    first = {**transaction({"Put": put()}), "ClientRequestToken": "t"}
    other = {**transaction({"Put": put(n=FIVE)}), "ClientRequestToken": "t"}
    assert not repeats.knows(first, 0)
    repeats.note(first, 0)
    assert repeats.knows(first, 599)
    with pytest.raises(RefusedError) as refused:
        repeats.knows(other, 599)
    assert refused.value.code == MISMATCH
    assert not repeats.knows(other, 601)


def test_attributes_to_get_become_a_projection():
    request: dict[str, Any] = {"TableName": "tasks", "Key": KEY, "AttributesToGet": ["id", "n"]}
    legacy.rewrite(request)
    assert request == {
        "TableName": "tasks",
        "Key": KEY,
        "ProjectionExpression": "#n0, #n1",
        "ExpressionAttributeNames": {"#n0": "id", "#n1": "n"},
    }


@pytest.mark.parametrize(
    ("expected", "condition"),
    [
        ({"Exists": False}, "attribute_not_exists(#n0)"),
        ({"Value": FIVE}, "#n0 = :v0"),
        ({"ComparisonOperator": "LE", "AttributeValueList": [FIVE]}, "#n0 <= :v0"),
        (
            {"ComparisonOperator": "BETWEEN", "AttributeValueList": [FIVE, NINE]},
            "#n0 BETWEEN :v0 AND :v1",
        ),
        (
            {"ComparisonOperator": "IN", "AttributeValueList": [FIVE, NINE]},
            "#n0 IN (:v0, :v1)",
        ),
        (
            {"ComparisonOperator": "NOT_CONTAINS", "AttributeValueList": [FIVE]},
            "NOT contains(#n0, :v0)",
        ),
    ],
)
def test_what_is_expected_becomes_a_condition(expected, condition):
    request: dict[str, Any] = {
        "Expected": {"n": expected, "m": {"ComparisonOperator": "NOT_NULL"}},
        "ConditionalOperator": "OR",
    }
    legacy.rewrite(request)
    assert request["ConditionExpression"] == f"({condition}) OR (attribute_exists(#n1))"
    assert request["ExpressionAttributeNames"] == {"#n0": "n", "#n1": "m"}
    assert "Expected" not in request
    assert "ConditionalOperator" not in request


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("tasks", "ValidationException"),
        ("arn:aws:dynamodb:us-east-1:999999999999:table/tasks", "AccessDeniedException"),
    ],
)
def test_tags_are_those_of_this_accounts_tables(name, code):
    with pytest.raises(RefusedError) as refused:
        check("ListTagsOfResource", ResourceArn=name)
    assert refused.value.code == code


def test_refusals_and_repeats_reach_clients_and_write_nothing(deployed):
    dynamodb = deployed.client("dynamodb")
    dynamodb.create_table(
        TableName="rules",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    add = {
        "TableName": "rules",
        "Key": KEY,
        "UpdateExpression": "ADD n :n SET big = :b",
        "ExpressionAttributeValues": {":n": {"N": "1.0"}, ":b": {"S": ""}},
    }
    for _ in range(2):
        dynamodb.transact_write_items(TransactItems=[{"Update": add}], ClientRequestToken="once")
    too_large = {":n": {"N": "1"}, ":b": {"S": "x" * 409_600}}
    with pytest.raises(dynamodb.exceptions.ClientError, match="Item size to update"):
        dynamodb.update_item(**{**add, "ExpressionAttributeValues": too_large})
    with pytest.raises(dynamodb.exceptions.ClientError, match="does not match the schema"):
        dynamodb.get_item(TableName="rules", Key={"id": {"N": "1"}})
    found = dynamodb.get_item(TableName="rules", Key=KEY)["Item"]
    assert found == {**KEY, "n": {"N": "1"}, "big": {"S": ""}}
