"""Queries on an index give moto's own answers, without sorting the whole table."""

import random
from typing import Any
from unittest.mock import Mock

import pytest
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table

from lifoq.items import schema
from lifoq_localcloud.moto_adapter.tables import JournaledTable

STATUSES = ("PENDING", "TAKEN", "FAILURE")


def new(kind: type[Table]) -> Any:
    definition = schema.table_definition("queue")
    return kind(
        "queue",
        account_id="123456789012",
        region="us-east-1",
        schema=definition["KeySchema"],
        attr=definition["AttributeDefinitions"],
        global_indexes=definition["GlobalSecondaryIndexes"],
        streams=dict(definition["StreamSpecification"]) if kind is JournaledTable else None,
    )


def item(chance: random.Random, key: str) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "taskId": {"S": key},
        "taskStatus": {"S": chance.choice(STATUSES)},
        "payload": {"S": "x" * chance.randrange(50)},
    }
    if chance.random() < 0.8:
        # Few values, so that ties are broken by the table's key.
        attributes["taskCreated"] = {"N": str(chance.randrange(0, 1200, 100))}
    return attributes


def ask(table: Any, query: dict[str, Any], start: dict[str, Any] | None) -> Any:
    results, scanned, last = table.query(
        hash_key=None,
        exclusive_start_key=start,
        projection_expressions=None,
        index_name=schema.STATUS_CREATED_INDEX,
        **query,
    )
    return [one.to_json() for one in results], scanned, last


def pages(table: Any, query: dict[str, Any]) -> list[Any]:
    """Without an empty one at the end, which moto adds where more lies beyond the bounds."""
    found, start = [], None
    while True:
        results, scanned, last = ask(table, query, start)
        found.append((results, scanned))
        if last is None:
            return [page for page in found if page[0]]
        start = {name: value.to_json() for name, value in last.items()}


@pytest.mark.parametrize("seed", range(20))
def test_every_query_answers_as_moto_does_page_by_page(seed):
    chance = random.Random(seed)
    plain, journaled = new(Table), new(JournaledTable)
    for _ in range(150):
        attributes = item(chance, f"task-{chance.randrange(60)}")
        plain.put_item(dict(attributes))
        journaled.put_item(dict(attributes))
        if chance.random() < 0.2:
            key = DynamoType({"S": f"task-{chance.randrange(60)}"})
            plain.delete_item(key, None)
            journaled.delete_item(key, None)
        journaled.commit()

    for _ in range(20):
        low, high = sorted(chance.sample(range(0, 1300, 50), 2))
        comparison = chance.choice([None, "BETWEEN", ">=", "<", "=", ">", "<="])
        operands = {None: [], "BETWEEN": [low, high]}.get(comparison, [low])
        status = DynamoType({"S": chance.choice(STATUSES)})
        values = [DynamoType({"N": str(one)}) for one in operands]
        query = {
            "range_comparison": comparison,
            "range_objs": values,
            "limit": chance.choice([None, 1, 3, 10]),
            "scan_index_forward": chance.choice([True, False]),
            "hash_key_conditions": [("taskStatus", status)],
            "range_key_conditions": [("taskCreated", comparison, values)] if comparison else None,
        }
        assert pages(journaled, query) == pages(plain, query)


def test_only_what_the_answer_needs_is_looked_at(monkeypatch):
    table = new(JournaledTable)
    for number in range(500):
        status, created = {"S": "PENDING"}, {"N": str(number)}
        table.put_item({"taskId": {"S": str(number)}, "taskStatus": status, "taskCreated": created})
    table.commit()
    looked_at = Mock(side_effect=table.sorted_items)
    monkeypatch.setattr(table, "sorted_items", looked_at)
    newest_first = {
        "range_comparison": None,
        "range_objs": [],
        "limit": 10,
        "scan_index_forward": False,
        "hash_key_conditions": [("taskStatus", DynamoType({"S": "PENDING"}))],
        "range_key_conditions": None,
    }
    results, _, _ = ask(table, newest_first, None)

    found = [int(one["Attributes"]["taskId"]["S"]) for one in results]
    assert found == list(range(499, 489, -1))
    ((_, _, items),) = [call.args for call in looked_at.mock_calls]
    assert len(items) == 11
