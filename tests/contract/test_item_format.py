"""The page for producers of other languages: what it says is what the library writes and runs."""

import json
import re
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from lifoq import NewTask, Status
from lifoq.aws.dynamo_expressions import put_request
from lifoq.client.connection import VERSION, Connection
from lifoq.items.schema import (
    ATTRIBUTE_TYPES,
    MAX_ID_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_TASK_KEY_BYTES,
    MAX_TYPE_BYTES,
    Preview,
)
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost

PAGE = (Path(__file__).parents[2] / "docs" / "item-format.md").read_text()
SETTINGS, PUT, DELAYED_PUT = (
    json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
)
LIFETIMES = Connection.decode(json.dumps(SETTINGS), source="the page").lifetimes


@pytest.mark.parametrize(
    ("request_", "delay"), [(PUT, None), (DELAYED_PUT, 60)], ids=["at once", "delayed"]
)
def test_the_library_writes_what_the_page_says(request_, delay):
    item = request_["Item"]
    new = NewTask(
        task_type="device.check",
        payload={"device": "d-17"},
        task_id=item["taskId"]["S"],
        delay=delay,
    )
    table = MemoryTable(SETTINGS["table"])
    store = Store(table, lifetimes=LIFETIMES, host=ManualHost())
    written = put_request(table.name, store.new_item(new))

    names = written.pop("ExpressionAttributeNames")
    written["ConditionExpression"] = re.sub(
        r"#\w+", lambda alias: names[alias[0]], written["ConditionExpression"]
    )
    assert written == request_


def test_what_is_put_by_the_pages_request_runs_and_is_kept_and_shown_where_it_is_there(
    dynamodb_local_endpoint, new_dynamo_table
):
    store = Store(new_dynamo_table(dynamodb_local_endpoint), host=ManualHost())
    request, client = {**PUT, "TableName": store.table.name}, store.table._calls.client
    client.put_item(**request)
    assert store.claim("d-17-connected-4711", claim_id="c", lease=30).attempts == 1

    with pytest.raises(ClientError) as refused:
        client.put_item(**request)

    assert refused.value.response["Item"]["claimId"] == {"S": "c"}
    assert refused.value.response["Item"]["enqueuedAt"] == request["Item"]["taskUpdated"]


def test_the_page_names_every_attribute_and_field_of_look_with_its_type():
    rows = re.findall(r"^\| (`.+?) \| ([A-Z])\b", PAGE, re.MULTILINE)
    named = {name: kind for names, kind in rows for name in re.findall(r"`(\w+)`", names)}
    assert named == {
        **{str(name): kind for name, kind in ATTRIBUTE_TYPES.items()},
        **dict.fromkeys(Preview, "N"),
    }


def test_the_page_names_every_status_the_limits_and_the_settings_as_a_queue_writes_them():
    assert PAGE.startswith(f"# Item format {VERSION}\n")
    shown = Connection(table=SETTINGS["table"], region="eu-west-1", lifetimes=LIFETIMES)
    assert json.loads(shown.encode()) == SETTINGS
    assert all(f"`{status}`" in PAGE for status in Status)
    for limit in (MAX_ID_BYTES, MAX_TYPE_BYTES, MAX_TASK_KEY_BYTES, MAX_PAYLOAD_BYTES):
        assert f"{limit:,} bytes" in PAGE
