"""What every table promises the store: memory, moto, DynamoDB Local; and what DynamoDB's alone."""

import pytest

from lifoq.items.change import Change
from lifoq.items.schema import Attribute
from lifoq.tables.dynamo import DynamoTable
from lifoq.testing.contract.table import *  # noqa: F403
from lifoq.testing.contract.table import item


@pytest.mark.parametrize("table", ["dynamodb-local"], indirect=True)
def test_only_who_asks_for_the_item_is_sent_its_payload_again(table: DynamoTable):
    answers = []
    table._client.meta.events.register(
        "after-call.dynamodb.UpdateItem", lambda parsed, **_: answers.append(set(parsed))
    )
    table.put(item("a", payload="x" * 300_000))
    change = Change(when=(), set={Attribute.TASK_UPDATED: 7})
    table.update("a", change)
    table.update_and_get("a", change)
    assert answers == [{"ResponseMetadata"}, {"ResponseMetadata", "Attributes"}]
