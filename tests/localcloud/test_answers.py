"""What is answered faster than by moto is the same answer."""

import copy
import json
from typing import Any

import pytest
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import GlobalSecondaryIndex

from localcloud.moto_adapter import answers

ATTRIBUTES: dict[str, Any] = {
    "id": {"S": 'ü "quoted" \n'},
    "n": {"N": "-1.50"},
    "flag": {"BOOL": False},
    "nothing": {"NULL": True},
    "bytes": {"B": b"\x00\xff"},
    "several": {"BS": [b"\x00", b"\xff"]},
    "names": {"SS": ["a", "b"]},
    "list": {"L": [{"N": "1"}, {"M": {"deep": {"B": b"\x00\xff"}}}]},
    "map": {"M": {"a.b": {"S": "dotted"}}},
}


def item() -> Item:
    return Item(DynamoType(ATTRIBUTES["id"]), None, ATTRIBUTES)


def test_every_type_of_value_arrives_as_it_was_stored():
    result = {
        "Items": [item().attrs],
        "Count": 1,
        "LastEvaluatedKey": {"id": DynamoType(ATTRIBUTES["id"])},
        "ConsumedCapacity": None,
    }

    as_sent = {
        **ATTRIBUTES,
        "bytes": {"B": "AP8="},
        "several": {"BS": ["AA==", "/w=="]},
        "list": {"L": [{"N": "1"}, {"M": {"deep": {"B": "AP8="}}}]},
    }
    assert json.loads(answers.as_json(result)) == {
        "Items": [as_sent],
        "Count": 1,
        "LastEvaluatedKey": {"id": ATTRIBUTES["id"]},
    }


@pytest.mark.parametrize(
    "projection",
    [
        {"ProjectionType": "ALL"},
        {"ProjectionType": "KEYS_ONLY"},
        {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["map", "absent"]},
    ],
)
def test_an_index_shows_the_same_of_an_item_as_with_moto(projection):
    schema = [
        {"AttributeName": "flag", "KeyType": "HASH"},
        {"AttributeName": "n", "KeyType": "RANGE"},
    ]
    index = GlobalSecondaryIndex("index", schema, projection, ["id"])
    expected = index.project(copy.deepcopy(item())).to_json()

    assert answers.project(index, copy.deepcopy(item())).to_json() == expected
