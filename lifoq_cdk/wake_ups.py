"""Which changes of the table are worth waking the queue, as Lambda's event filters."""

from typing import Any, Final

from lifoq.items.schema import Attribute, Status

_STATUS: Final = Attribute.TASK_STATUS.value


def _status_is(*patterns: Any) -> dict[str, Any]:
    return {_STATUS: {"S": list(patterns)}}


_WAITING: Final = (Status.PENDING.value, Status.DELAYED.value)

PATTERNS: Final[tuple[dict[str, Any], ...]] = (
    # A task that can be claimed: a new one, or one that returns (a due retry, an expired lease, a
    # redrive). From PENDING to PENDING goes only a put over a task that was shed: it begins anew.
    {
        "eventName": ["INSERT", "MODIFY"],
        "dynamodb": {"NewImage": _status_is(Status.PENDING.value)},
    },
    # What follows wakes nobody, but is counted. A delayed put over a task that was shed.
    {
        "eventName": ["MODIFY"],
        "dynamodb": {
            "NewImage": _status_is(Status.DELAYED.value),
            "OldImage": _status_is(*_WAITING),
        },
    },
    # A task that was shed: TTL deleted it while it waited; or the sweep, where somebody waits to be
    # told. Who it was, the function sees.
    {"eventName": ["REMOVE"], "dynamodb": {"OldImage": _status_is(*_WAITING)}},
)
"""OR-ed. All else, most of all the processor's own claims and settlements, invokes nothing."""
