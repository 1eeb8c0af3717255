"""Errors that DynamoDB alone answers with, in lifoq's words; for the rest see
``lifoq.aws.errors``."""

from collections.abc import Sequence
from typing import Any, Final

from botocore.exceptions import ClientError

from lifoq.aws.dynamo_values import plain
from lifoq.aws.errors import DENIED, code_of, message_of
from lifoq.errors import ItemTooLarge, QueueMisconfigured, StoreUnavailable
from lifoq.items.change import ConditionFailed, Item, TransactionRefused, UnfitAttribute
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute

FOREIGN_KEYS: Final = (
    "key element does not match the schema",
    "missing the key",
    "required keys was not given",
)
"""Words with which DynamoDB refuses an item or key, as its table has other keys."""

NO_ROOM: Final = ("38 digits", "38 significant", "number overflow")
"""Words with which DynamoDB refuses to add to a number that it cannot hold."""


def meaning(error: ClientError, *, action: str, table: str, region: str) -> Exception | None:
    """The error of lifoq that an answer stands for; None where it is not understood."""
    code, message = code_of(error), message_of(error)
    if code == "ConditionalCheckFailedException":
        item: Any = error.response.get("Item")
        return ConditionFailed(plain(item) if item else None)
    if code == "ValidationException":
        return _validation(message, table)
    if code == "ResourceNotFoundException":
        return QueueMisconfigured(
            f"there is no table {table!r} in region {region!r} of this account: "
            "check the table's name, the region and the credentials"
        )
    if code in DENIED:
        return QueueMisconfigured(
            f"dynamodb:{action} on table {table!r} is not permitted to this caller: "
            f"grant it ({message})"
        )
    return None


def refusal(error: ClientError, items: Sequence[Item]) -> Exception:
    """Return the error of a cancelled transaction: its first reason is the update's, the others the
    puts'."""
    reasons: list[Any] = error.response.get("CancellationReasons", [])
    codes = [reason.get("Code", "None") for reason in reasons]
    if not codes or set(codes) - {"None", "ConditionalCheckFailed"}:
        invalid = [
            reason.get("Message") for reason in reasons if "Validation" in reason.get("Code", "")
        ]
        if invalid:  # it will be the next time, too; and of all bounds only the size is not ours
            return ItemTooLarge("; ".join(str(message) for message in invalid))
        return StoreUnavailable(f"TransactWriteItems: {error}")
    current = reasons[0].get("Item")
    return TransactionRefused(
        current=plain(current) if current else None,
        update_refused=codes[0] != "None",
        taken_ids=frozenset(
            str(item[Attribute.TASK_ID])
            for item, code in zip(items, codes[1:], strict=True)
            if code != "None"
        ),
    )


def _validation(message: str, table: str) -> Exception | None:
    lower = message.lower()
    if "size" in lower and "exceed" in lower:
        return ItemTooLarge(message)
    if ("operand" in lower and "type" in lower) or any(text in lower for text in NO_ROOM):
        return UnfitAttribute(message)
    if "specified index" in lower or "doesn't have the index" in lower:
        return QueueMisconfigured(
            f"table {table!r} lacks an index of the queue ({message}): "
            f"it needs {STATUS_CREATED_INDEX} and due-index, as `deploy` creates them"
        )
    if any(text in lower for text in FOREIGN_KEYS):
        return QueueMisconfigured(
            f"table {table!r} has other keys than a queue's table ({message}): "
            "name the queue's own table"
        )
    return None
