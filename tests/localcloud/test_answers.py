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
    "bytes": {"B": "AAE="},
    "names": {"SS": ["a", "b"]},
    "list": {"L": [{"N": "1"}, {"M": {"deep": {"L": []}}}]},
    "map": {"M": {"a.b": {"S": "dotted"}}},
}


def item() -> Item:
    return Item(DynamoType(ATTRIBUTES["id"]), None, ATTRIBUTES)


def test_every_type_of_value_arrives_as_it_was_stored() -> None:
    result = {
        "Items": [item().attrs],
        "Count": 1,
        "LastEvaluatedKey": {"id": DynamoType(ATTRIBUTES["id"])},
        "ConsumedCapacity": None,
    }

    assert json.loads(answers.as_json(result)) == {
        "Items": [ATTRIBUTES],
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
def test_an_index_shows_the_same_of_an_item_as_with_moto(projection: dict[str, Any]) -> None:
    schema = [
        {"AttributeName": "flag", "KeyType": "HASH"},
        {"AttributeName": "n", "KeyType": "RANGE"},
    ]
    index = GlobalSecondaryIndex("index", schema, projection, ["id"])
    expected = index.project(copy.deepcopy(item())).to_json()

    assert answers.project(index, copy.deepcopy(item())).to_json() == expected
