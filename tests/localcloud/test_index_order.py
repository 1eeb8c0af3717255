"""Queries on an index answer as if all items were sorted, page by page, without sorting them."""

import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from lifoq_localcloud.table_rules.keys import Schema
from tests.localcloud.stored import Database

STATUSES = ("PENDING", "TAKEN", "FAILURE")
INDEX = "by-status"
SCHEMA = Schema(key={"id": "S"}, indexes={INDEX: {"status": "S", "created": "N"}})
Item = dict[str, dict[str, Any]]


def item(chance: random.Random, key: str) -> Item:
    attributes: Item = {
        "id": {"S": key},
        "status": {"S": chance.choice(STATUSES)},
        "payload": {"S": "x" * chance.randrange(50)},
    }
    if chance.random() < 0.8:
        # Few values, so that ties are broken by the table's key.
        attributes["created"] = {"N": str(chance.randrange(0, 1200, 100))}
    return attributes


def pages(database: Database, request: dict[str, Any]) -> Iterator[list[Item]]:
    start: Item | None = None
    while True:
        asked = request if start is None else {**request, "ExclusiveStartKey": start}
        told = database.ask("Query", asked)
        assert told["ScannedCount"] == told["Count"] == len(told["Items"])
        yield told["Items"]
        start = told.get("LastEvaluatedKey")
        if start is None:
            return


CONDITIONS: dict[str, Any] = {
    "": lambda *_: True,
    " AND created BETWEEN :low AND :high": lambda at, low, high: low <= at <= high,
    " AND created >= :low": lambda at, low, _: at >= low,
    " AND created > :low": lambda at, low, _: at > low,
    " AND created < :low": lambda at, low, _: at < low,
    " AND created <= :low": lambda at, low, _: at <= low,
    " AND :low = created": lambda at, low, _: at == low,
}


def stored(chance: random.Random, database: Database) -> dict[str, Item]:
    """Put and delete items. Return those that are left."""
    there: dict[str, Item] = {}
    for _ in range(150):
        drawn = item(chance, f"task-{chance.randrange(60)}")
        there[drawn["id"]["S"]] = drawn
        database.ask("PutItem", {"TableName": "tasks", "Item": drawn})
        if chance.random() < 0.2:
            key = f"task-{chance.randrange(60)}"
            there.pop(key, None)
            database.ask("DeleteItem", {"TableName": "tasks", "Key": {"id": {"S": key}}})
    return there


def query(
    values: dict[str, Any], condition: str = "", *, forward: bool = False, **more: Any
) -> dict[str, Any]:
    return {
        "TableName": "tasks",
        "IndexName": INDEX,
        "KeyConditionExpression": f"#s = :s{condition}",
        "ExpressionAttributeNames": {"#s": "status"},
        "ExpressionAttributeValues": values,
        "ScanIndexForward": forward,
        **more,
    }


@pytest.mark.parametrize("seed", range(2))
def test_every_query_answers_as_if_all_were_sorted_page_by_page(seed):
    chance = random.Random(seed)
    database = Database(tasks=SCHEMA)
    there = stored(chance, database)
    for _ in range(20):
        low, high = sorted(chance.sample(range(0, 1300, 50), 2))
        condition = chance.choice([*CONDITIONS])
        status, forward = chance.choice(STATUSES), chance.choice([True, False])
        limit = chance.choice([None, 1, 3, 10])
        bounds = {":low": {"N": str(low)}, ":high": {"N": str(high)}}
        values = {name: value for name, value in bounds.items() if name in condition}
        more = {"Limit": limit} if limit else {}
        request = query({":s": {"S": status}, **values}, condition, forward=forward, **more)
        expected = sorted(
            (
                one
                for one in there.values()
                if one["status"]["S"] == status
                and "created" in one
                and CONDITIONS[condition](int(one["created"]["N"]), low, high)
            ),
            key=lambda one: (Decimal(one["created"]["N"]), one["id"]["S"]),
            reverse=not forward,
        )
        found = [*pages(database, request)]
        assert [one for page in found for one in page] == expected
        assert limit is None or {len(page) for page in found[:-1]} <= {limit}


def test_a_scan_finds_each_item_once_whatever_its_pages_and_segments():
    chance = random.Random(1)
    database = Database(tasks=SCHEMA)
    there = stored(chance, database)
    for segments, limit in ((1, 7), (3, 1), (4, 100)):
        found: list[str] = []
        for segment in range(segments):
            start: Item | None = None
            before = len(found)
            while True:
                asked = {"TableName": "tasks", "Limit": limit}
                asked |= {"Segment": segment, "TotalSegments": segments}
                told = database.ask("Scan", {**asked, "ExclusiveStartKey": start or {}})
                found += [one["id"]["S"] for one in told["Items"]]
                start = told.get("LastEvaluatedKey")
                if start is None:
                    break
            assert len(found) > before, "each segment has its share"
        assert sorted(found) == sorted(there)


def test_only_what_the_answer_needs_is_looked_at(monkeypatch):
    database = Database(tasks=SCHEMA)
    for number in range(500):
        attributes = {"status": {"S": "PENDING"}, "created": {"N": str(number)}}
        drawn = {"id": {"S": str(number)}, **attributes}
        database.ask("PutItem", {"TableName": "tasks", "Item": drawn})
    rows = database.tables["tasks"].rows
    looked_at = []
    at = rows.at
    monkeypatch.setattr(rows, "at", lambda entry: looked_at.append(entry) or at(entry))
    told = database.ask("Query", query({":s": {"S": "PENDING"}}, Limit=10))
    assert [int(one["id"]["S"]) for one in told["Items"]] == list(range(499, 489, -1))
    assert len(looked_at) == 10
