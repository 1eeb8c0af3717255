"""Refusals of DynamoDB by its rules, before moto: one request a rule, and requests that pass. Most
are rows of ``refused_requests.txt`` and ``taken_requests.txt``."""

import re
from typing import Any

import pytest

from lifoq_localcloud.expressions import grammar
from lifoq_localcloud.table_rules import creation, legacy, values
from lifoq_localcloud.table_rules.keys import Schema
from lifoq_localcloud.table_rules.refused import CANCELLED, MISMATCH, RefusedError
from lifoq_localcloud.table_rules.repeats import Repeats
from tests.localcloud.rows import rows
from tests.localcloud.stored import Database

SCHEMA = Schema(key={"id": "S"}, indexes={"by-status": {"status": "S", "created": "N"}})
KEY = {"id": {"S": "a"}}
ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/tasks"
FIVE, NINE = {"N": "5"}, {"N": "9"}


def database() -> Database:
    """Three tables without an item."""
    pairs = Schema(key={"h": "S", "r": "S"}, indexes={"by-s": {"s": "S", "q": "S"}})
    return Database(tasks=SCHEMA, numbers=Schema(key={"n": "N"}), pairs=pairs)


def check(operation: str, **request: Any) -> None:
    database().ask(operation, request)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "deep"}
    for _ in range(levels):
        value = {"L": [value]}
    return value


def put(**attributes: Any) -> dict[str, Any]:
    return {"TableName": "tasks", "Item": {**KEY, **attributes}}


def none_of(choices: int) -> dict[str, Any]:
    """A write of an item, if it has none of so many values."""
    expression = {"ConditionExpression": f"NOT n IN ({', '.join([':v'] * choices)})"}
    return {**put(), **expression, "ExpressionAttributeValues": {":v": {"N": "5"}}}


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


def read(tasks: int, numbers: int) -> dict[str, Any]:
    of_tasks = [{"id": {"S": str(one)}} for one in range(tasks)]
    of_numbers = [{"n": {"N": str(one)}} for one in range(numbers)]
    return {"RequestItems": {"tasks": {"Keys": of_tasks}, "numbers": {"Keys": of_numbers}}}


def transaction(*members: Any) -> dict[str, Any]:
    return {"TransactItems": list(members)}


def puts(size: int) -> dict[str, Any]:
    """A transaction of sixteen items, of so many bytes together."""
    each, more = divmod(size, 16)
    sizes = [each + (more if n == 0 else 0) - len("id") - len("x") - 1 for n in range(16)]
    items = (put(id={"S": f"{n:x}"}, x={"S": "x" * size}) for n, size in enumerate(sizes))
    return transaction(*({"Put": item} for item in items))


def new_table(*names: str, **more: Any) -> dict[str, Any]:
    """A table with attributes of these names, of which the first is its key."""
    attributes = [{"AttributeName": name, "AttributeType": "S"} for name in names]
    key = [{"AttributeName": names[0], "KeyType": "HASH"}]
    return {"TableName": "new", "AttributeDefinitions": attributes, "KeySchema": key, **more}


THROUGHPUT = {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}
THREE = {
    "IndexName": "three",
    "KeySchema": [{"AttributeName": name, "KeyType": "HASH"} for name in "bcd"],
    "Projection": {"ProjectionType": "ALL"},
}
UPDATE = {"TableName": "tasks", "Key": KEY, "UpdateExpression": "SET n = :n"}
GET = {"TableName": "tasks", "Key": KEY}
START = {"status": {"S": "PENDING"}, "created": FIVE, **KEY}

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("BatchGetItem", read(50, 51), "Too many items requested for the BatchGetItem call"),
    ("BatchWriteItem", write(26), "Member must have length less than or equal to 25"),
    ("TransactWriteItems", puts(4 * 1024 * 1024 + 1), "4 MB"),
    ("PutItem", put(s=nested(33)), "Nesting Levels"),
    ("PutItem", none_of(101), "too many operands; number of operands: 101"),
    (
        "TransactGetItems",
        transaction(*[{"Get": GET}] * 101),
        "1 validation error detected: Value '["
        + ", ".join(
            ["TransactGetItem(get=Get(tableName=tasks, key={id=AttributeValue(s=a)}))"] * 101
        )
        + "]' at 'transactItems' failed to satisfy constraint: Member must have length less than "
        "or equal to 100",
    ),
    (
        "Query",
        query(
            KeyConditionExpression="#s = :s AND created BETWEEN :high AND :low",
            ExpressionAttributeValues={":high": NINE, ":low": FIVE},
        ),
        "upper bound to be greater",
    ),
    ("Query", query(ExclusiveStartKey={**START, "status": {"S": "TAKEN"}}), "outside query"),
    (
        "CreateTable",
        new_table("id", BillingMode="PAY_PER_REQUEST", **THROUGHPUT),
        "PAY_PER_REQUEST",
    ),
    *((operation, call, told) for operation, (told,), call in rows("refused_requests.txt")),
]


def test_what_dynamodb_refuses_is_refused_with_its_words(subtests):
    for operation, request, told in REFUSED:
        with subtests.test(f"{operation}: {told}"):
            with pytest.raises(RefusedError) as refused:
                check(operation, **request)
            assert told in str(refused.value)


ALLOWED: list[tuple[str, dict[str, Any]]] = [
    ("BatchGetItem", read(50, 50)),
    ("BatchWriteItem", write(25)),
    ("PutItem", put(n={"N": "1" * 38}, s=nested(32), empty={"S": ""}, none={"NULL": True})),
    ("PutItem", none_of(100)),
    ("Query", query(ExclusiveStartKey=START, Limit=1)),
    ("Query", query(FilterExpression="contains(id, :s) OR entry.created = :s")),
    (
        "TransactGetItems",
        transaction(*({"Get": {**GET, "Key": {"id": {"S": str(n)}}}} for n in range(100))),
    ),
    ("TransactWriteItems", puts(4 * 1024 * 1024)),
    ("CreateTable", new_table("a", *"bcd", GlobalSecondaryIndexes=[THREE])),
    *((operation, call) for operation, _, call in rows("taken_requests.txt")),
]


def test_what_dynamodb_takes_passes(subtests):
    for operation, request in ALLOWED:
        with subtests.test(operation, keys=[*request]):
            told = database().answer(operation, request)
            assert told.get("__type") in {None, "ResourceNotFoundException"}  # the rules let it by


def test_a_key_that_does_not_fit_cancels_a_transaction():
    with pytest.raises(RefusedError) as refused:
        check("TransactGetItems", **transaction({"Get": {"TableName": "tasks", "Key": {}}}))
    assert refused.value.code == CANCELLED
    assert [reason["Code"] for reason in refused.value.reasons or []] == ["ValidationError"]


def test_an_update_nests_no_deeper_than_a_put():
    tables = database()
    tables.ask("PutItem", put(m={"M": {}}))
    update = {**UPDATE, "UpdateExpression": "SET m.p = :n"}
    tables.ask("UpdateItem", {**update, "ExpressionAttributeValues": {":n": nested(31)}})
    with pytest.raises(RefusedError, match="Nesting Levels"):
        tables.ask("UpdateItem", {**update, "ExpressionAttributeValues": {":n": nested(32)}})


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
    in_other_order = {"Put": dict(reversed(put().items()))}
    assert repeats.knows({**transaction(in_other_order), "ClientRequestToken": "t"}, 599)
    with pytest.raises(RefusedError) as refused:
        repeats.knows(other, 599)
    assert refused.value.code == MISMATCH
    assert not repeats.knows(other, 600)


def test_attributes_to_get_become_a_projection():
    request: dict[str, Any] = {"TableName": "tasks", "Key": KEY, "AttributesToGet": ["id", "n"]}
    legacy.rewrite(request)
    assert request == {
        "TableName": "tasks",
        "Key": KEY,
        "ProjectionExpression": "#n0, #n1",
        "ExpressionAttributeNames": {"#n0": "id", "#n1": "n"},
    }


def compared(operator: str, *values: Any) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": [*values]}


@pytest.mark.parametrize(
    ("expected", "condition"),
    [
        ({"Exists": False}, "attribute_not_exists(#n0)"),
        ({"Value": FIVE}, "#n0 = :v0"),
        (compared("LE", FIVE), "#n0 <= :v0"),
        (compared("BETWEEN", FIVE, NINE), "#n0 BETWEEN :v0 AND :v1"),
        (compared("IN", FIVE, NINE), "#n0 IN (:v0, :v1)"),
        (compared("NOT_CONTAINS", FIVE), "NOT contains(#n0, :v0)"),
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


def test_attributes_to_update_become_an_update():
    fives = {"L": [FIVE]}
    updates = {
        "n": {"Action": "DELETE"},
        "l": {"Action": "ADD", "Value": fives},
        "m": {"Value": fives},
        "c": {"Action": "ADD", "Value": FIVE},
        "s": {"Action": "DELETE", "Value": {"SS": ["a"]}},
    }
    request: dict[str, Any] = {"AttributeUpdates": updates}
    legacy.rewrite(request)
    assert request["UpdateExpression"] == (
        "REMOVE #n0 SET #n1 = list_append(if_not_exists(#n1, :v1), :v0), #n2 = :v2 "
        "ADD #n3 :v3 DELETE #n4 :v4"
    )
    given = request["ExpressionAttributeValues"]
    assert [*given.values()] == [fives, {"L": []}, fives, FIVE, {"SS": ["a"]}]


def test_a_local_index_has_the_tables_hash_key_beside_a_range_key():
    def key(*names: str) -> list[dict[str, str]]:
        kinds = zip(names, ("HASH", "RANGE"), strict=False)
        return [{"AttributeName": name, "KeyType": kind} for name, kind in kinds]

    def create(table: list[dict[str, str]], index: list[dict[str, str]]) -> None:
        indexes = [{"IndexName": "i", "KeySchema": index}]
        creation.check("CreateTable", {"KeySchema": table, "LocalSecondaryIndexes": indexes})

    create(key("id", "at"), key("id", "other"))
    with pytest.raises(RefusedError, match="does not have a range key"):
        create(key("id"), key("id", "other"))
    with pytest.raises(RefusedError, match="index hash key: at, table hash key: id"):
        create(key("id", "at"), key("at", "id"))


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
    dynamodb.create_table(**new_table("id", TableName="rules", BillingMode="PAY_PER_REQUEST"))
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


@pytest.mark.parametrize(
    ("within", "beyond", "sentence"),
    [
        ("a[2147483647] = :v", "a[2147483648] = :v", "index: [2147483648]"),
        (f"a{'.b' * 31} = :v", f"a{'.b' * 32} = :v", "nesting levels: 33"),
        (f"NOT a = :v{' AND a = :v' * 149}", f"a = :v{' AND a = :v' * 150}", "operator count: 301"),
        ("a = :v".ljust(4_096), "a = :v".ljust(4_097), "expression size: 4097"),
        (
            f"{'NOT (' * 150}a = :v{')' * 150}",
            f"{'NOT (' * 151}a = :v{')' * 151}",
            "nested too deeply",
        ),
    ],
)
def test_an_expression_has_its_limits(within, beyond, sentence):
    assert grammar.condition(within)
    with pytest.raises(grammar.UnreadableError, match=re.escape(sentence)):
        grammar.condition(beyond)
