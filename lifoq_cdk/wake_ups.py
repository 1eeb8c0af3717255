"""Which changes of the table are worth waking the queue, as Lambda's event filters."""

import json
from typing import Any, Final

from lifoq.items.schema import Attribute, Status

_STATUS: Final = Attribute.TASK_STATUS.value


def _status_is(*patterns: Any) -> dict[str, Any]:
    return {_STATUS: {"S": list(patterns)}}


_WAITING: Final = (Status.PENDING.value, Status.DELAYED.value)

PATTERNS: Final[tuple[dict[str, Any], ...]] = (
    # A new task that can be claimed.
    {"eventName": ["INSERT"], "dynamodb": {"NewImage": _status_is(Status.PENDING.value)}},
    # A task that returns: a due retry, an expired lease, a redrive.
    {
        "eventName": ["MODIFY"],
        "dynamodb": {
            "NewImage": _status_is(Status.PENDING.value),
            "OldImage": _status_is({"anything-but": [Status.PENDING.value]}),
        },
    },
    # A task that was shed: TTL deleted it while it waited. It wakes nobody, but it is counted.
    {
        "eventName": ["REMOVE"],
        "userIdentity": {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]},
        "dynamodb": {"OldImage": _status_is(*_WAITING)},
    },
)
"""OR-ed. All else, most of all the processor's own claims and settlements, invokes nothing."""


def filters() -> list[str]:
    """``PATTERNS`` as JSON text, which is how an event source mapping takes them."""
    return [json.dumps(pattern) for pattern in PATTERNS]
