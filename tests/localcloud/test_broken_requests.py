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
from tests.localcloud.rows import rows
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


def filled(value: Any) -> Any:
    """Put in place of the words ITEM and KEY what they stand for, with another range key if a
    number follows."""
    if isinstance(value, dict):
        return {name: filled(one) for name, one in value.items()}
    if isinstance(value, list):
        return [filled(one) for one in value]
    word, _, number = value.partition(" ") if isinstance(value, str) else ("", "", "")
    meant = {"ITEM": ITEM, "KEY": KEY}.get(word, value)
    return {**meant, "r": {"N": number}} if meant is not value and number else meant


REQUESTS = [(operation, filled(call)) for operation, _, call in rows("broken_requests.txt")]
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
    database.ask("PutItem", {"TableName": "t", "Item": ITEM})
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
