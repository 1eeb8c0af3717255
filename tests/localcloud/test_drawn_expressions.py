"""The local cloud's DynamoDB answers drawn expressions as DynamoDB Local does, answer by answer.

Compared are the code, the sentence up to what DynamoDB Local tells in no order of its own, the item
that an update leaves, and what is returned. ``KNOWN`` has the differences that stay, each with its
reason; whatever else differs fails.
"""

import http.client
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lifoq_localcloud.table_rules import values
from lifoq_localcloud.table_rules.keys import Schema
from tests.localcloud import drawn_expressions
from tests.localcloud.drawn_expressions import HASH, PARTITION_ITEMS, RANGE, TABLE, Drawn
from tests.localcloud.stored import Database

Answer = dict[str, Any]
Ask = Callable[[str, dict[str, Any]], Answer]

SHARDS, EACH = 8, 2_500
MOST_DIFFERENT = 0.002
"""The share of answers that may differ in a known way."""
SAMPLE = 300
MOST_DIFFERENT_OF_SAMPLE = 3

MISTAKES = (
    "The document path provided in the update expression is invalid for update",
    "The provided expression refers to an attribute that does not exist in the item",
    "An operand in the update expression has an incorrect data type",
    "more than 38 digits",
)
"""Mistakes of an update that its item tells. DynamoDB Local looks at the actions in the order of
a hash table of their attributes: of several mistakes it tells any one."""

STABLE = (
    (r"Two document paths (overlap|conflict) with each other;.*", "two paths"),
    (r"(The BETWEEN operator requires [^;]*);.*", r"\1"),  # it prints the addresses of bytes
    (r"(Incorrect operand type[^;]*; [^:]*: [^,]*), operand type:.*", r"\1"),
    (r"(missed key schema element).*", r"\1"),  # the key's name, which AWS tells, is missing there
    (r"\{[A-Z,]+\}", "{datatypes}"),
    (r"Cannot update attribute \w+\.", "Cannot update a key."),  # of two, it tells any one
    (r"Attempting to store more than 38 significant digits.*", "more than 38 digits"),
    (r"DynamoDB only supports precision up to 38 digits", "more than 38 digits"),
)
"""Parts of sentences that have no order, or that DynamoDB Local words in its own way."""

VALUE_IN_PATH = re.compile(r"\.\s*:\w+")


def value_in_path(drawn: Drawn, _here: Answer, _there: Answer) -> bool:
    """DynamoDB Local takes ``a.:v`` for a path, and then looks for a name ``:v``."""
    return VALUE_IN_PATH.search(drawn.text) is not None


def key_before_condition(_drawn: Drawn, here: Answer, there: Answer) -> bool:
    """An update of a key is refused here before its condition is asked: it can never be right."""
    return "part of the key" in told(here) and code(there) == "ConditionalCheckFailedException"


def size_is_reserved(_drawn: Drawn, here: Answer, _there: Answer) -> bool:
    """AWS reserves SIZE and CONVERT; DynamoDB Local has forgotten them."""
    return re.search(r"reserved keyword: (size|convert)$", told(here), re.IGNORECASE) is not None


def end_of_bounds(_drawn: Drawn, here: Answer, there: Answer) -> bool:
    """A page that is full has a last key here, as on AWS; DynamoDB Local leaves it out where the
    page ends with the last item within the query's bounds."""
    known = {name: one for name, one in here.items() if name != "LastEvaluatedKey"}
    return "LastEvaluatedKey" in here and known == there


def several_mistakes(_drawn: Drawn, here: Answer, there: Answer) -> bool:
    """An update with wrong operands in several actions: DynamoDB Local tells any one of them."""
    mistakes = (
        "Incorrect operand type for operator or function; ",
        "An expression attribute name used in the document path is not defined",
        "An expression attribute value used in expression is not defined",
        "The first operand must be distinct from the remaining operands",
    )
    both = [told(here), told(there)]
    return all(one.removeprefix("Invalid UpdateExpression: ").startswith(mistakes) for one in both)


def path_into_a_key(_drawn: Drawn, here: Answer, there: Answer) -> bool:
    """A key condition on a part of a key breaks two rules; here the one for key conditions is told,
    which needs no table."""
    return told(
        here
    ) == "KeyConditionExpressions cannot have conditions on nested attributes" and told(
        there
    ).startswith("Key attributes must be scalars")


KNOWN = (
    *(value_in_path, key_before_condition, size_is_reserved, end_of_bounds, several_mistakes),
    path_into_a_key,
)
"""The differences that stay, each with its reason."""


def code(answer: Answer) -> str:
    return str(answer.get("__type", ""))


def told(answer: Answer) -> str:
    return str(answer.get("message", ""))


def comparable(answer: Answer) -> Answer:
    """Return an answer without what has no order."""
    found: Answer = normal({name: one for name, one in answer.items() if name != "message"})
    if "message" in answer:
        text = answer["message"]
        for form, stable in STABLE:
            text = re.sub(form, stable, text)
        found["message"] = "a mistake" if text.startswith(MISTAKES) else text
    return found


def normal(value: Any) -> Any:
    if isinstance(value, list):
        return [normal(one) for one in value]
    if not isinstance(value, dict):
        return value
    ((kind, given),) = value.items() if len(value) == 1 else ((None, None),)
    if kind == "N" and isinstance(given, str):
        return {kind: values.as_stored(given)}  # there, 1E3 stays 1E3
    if kind in {"SS", "NS", "BS"} and isinstance(given, list):
        return {kind: sorted(map(values.as_stored, given) if kind == "NS" else given)}
    return {name: normal(one) for name, one in value.items()}


@pytest.fixture(scope="module")
def there(dynamodb_local_endpoint: str) -> Iterator[Ask]:
    """DynamoDB Local without a client, which would take most of the time."""
    connection = http.client.HTTPConnection(dynamodb_local_endpoint.removeprefix("http://"))
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "Authorization": "AWS4-HMAC-SHA256 Credential=drawn/20260101/us-east-1/dynamodb/"
        "aws4_request, SignedHeaders=host, Signature=none",
        "X-Amz-Date": "20260101T000000Z",
    }

    def ask(operation: str, request: dict[str, Any]) -> Answer:
        target = {"X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        connection.request("POST", "/", json.dumps(request), {**headers, **target})
        answer: Answer = json.loads(connection.getresponse().read())
        if "__type" in answer:
            message = answer.pop("Message", answer.get("message"))
            answer |= {"__type": answer["__type"].split("#")[-1], "message": message}
        return answer

    ask("CreateTable", drawn_expressions.DEFINITION)
    yield ask
    ask("DeleteTable", {"TableName": TABLE})
    connection.close()


def differences(seed: int, count: int, there: Ask) -> Counter[str]:
    """Return how many answers differ, by the known reason. Fails for one that has none."""
    here = Database(**{TABLE: Schema(key={HASH: "S", RANGE: "N"})}).answer
    for item in PARTITION_ITEMS:
        put(item, here, there)
    found: Counter[str] = Counter()
    current: Any = None
    for drawn in drawn_expressions.requests(seed, count):
        if drawn.item is not current:
            put(drawn.item, here, there)
            current = drawn.item
        ours, theirs = (comparable(ask(drawn.operation, drawn.request)) for ask in (here, there))
        assert code(ours) != "InternalFailure", f"{drawn.text}\n{told(ours)}"
        if drawn.operation not in {"Query", "GetItem"} and not code(ours) == code(theirs) != "":
            current = None  # what was written is put back
        if ours != theirs:
            reason = next((one for one in KNOWN if one(drawn, ours, theirs)), None)
            assert reason is not None, f"{drawn.text}\n{drawn.item}\n{ours}\n{theirs}"
            found[reason.__name__] += 1
    return found


def put(item: Any, *databases: Ask) -> None:
    for ask in databases:
        assert "__type" not in ask("PutItem", {"TableName": TABLE, "Item": item})


def test_a_sample_of_drawn_expressions_is_answered_as_dynamodb_local_answers_it(there):
    assert differences(0, SAMPLE, there).total() <= MOST_DIFFERENT_OF_SAMPLE


@pytest.mark.prove
@pytest.mark.parametrize("shard", range(SHARDS))
def test_drawn_expressions_are_answered_as_dynamodb_local_answers_them(shard, there):
    found = differences(1 + shard, EACH, there)
    assert found.total() <= MOST_DIFFERENT * EACH, found
