"""An operator's access to the note that lies beside a pause (see ``health.pause_note``)."""

import json
from dataclasses import asdict
from typing import Any

from lifoq.health import pause_note
from lifoq.health.pause_note import ITEM, PauseNote, made_here
from lifoq.items.schema import Attribute
from lifoq.operating.aws_calls import Account

__all__ = ["ITEM", "PauseNote", "made_here", "read", "remove", "write"]


def write(account: Account, table: str, note: PauseNote) -> None:
    """Replace the note in ``table``. Raises what ``Account.call`` raises."""
    account.call(
        "dynamodb",
        "update_item",
        UpdateExpression="SET #note = :note",
        ExpressionAttributeNames={"#note": Attribute.PAYLOAD.value},
        ExpressionAttributeValues={":note": {"S": json.dumps(asdict(note))}},
        **_item(table),
    )


def remove(account: Account, table: str) -> None:
    """Delete the note in ``table``, if there is one. Raises what ``Account.call`` raises."""
    account.call("dynamodb", "delete_item", **_item(table))


def read(account: Account, table: str) -> PauseNote | None:
    """Return the note in ``table``; None if there is none, or none that can be understood. Raises
    what ``Account.call`` raises."""
    found = account.call("dynamodb", "get_item", **_item(table)).get("Item", {})
    return pause_note.of({Attribute.PAYLOAD: found.get(Attribute.PAYLOAD.value, {}).get("S")})


def _item(table: str) -> dict[str, Any]:
    return {"TableName": table, "Key": {Attribute.TASK_ID.value: {"S": ITEM}}}
