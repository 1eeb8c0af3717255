"""Changes of the table, as its stream tells them: which are ends, and which wake the queue.

Each is a question about a record, and a filter by which Lambda invokes a function with hardly any
other record. A filter sees less than the question asks, so the functions ask again.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from lifoq.basics.clock import CLOCK_OFF_AT_MOST
from lifoq.basics.host import MICROSECONDS
from lifoq.items.schema import TERMINAL, WAITING, Attribute, Status

TTL_PRINCIPAL: Final = "dynamodb.amazonaws.com"
"""The service that deletes expired items
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html)."""
DEADLINE_TOLERANCE: Final = int(CLOCK_OFF_AT_MOST) + 1
"""Seconds by which a task may seem to be deleted before its deadline, and was shed all the same: a
record tells the second in which it was written, and the clock of the sweep may be ahead."""

Record = Mapping[str, Any]
Pattern = dict[str, Any]
"""An event filter. Of several, one is enough; Lambda takes five at the most."""


def _pattern(*events: str, **images: Pattern) -> Pattern:
    return {"eventName": [*events], "dynamodb": images}


def _image(*statuses: str, **more: Any) -> Pattern:
    return {Attribute.TASK_STATUS.value: {"S": sorted(map(str, statuses))}, **more}


def _exists(*, exists: bool) -> Pattern:
    return {"S": [{"exists": exists}]}


_WAITED: Final = _image(*WAITING)
_LIVED: Final = _image(*WAITING, Status.TAKEN)
_SHED: Final = _pattern("REMOVE", OldImage=_WAITED)
"""Deleted by TTL, or by the sweep where somebody waits to be told."""
WAKING: Final[Sequence[Pattern]] = (
    # A task that can be claimed: a new one, or one that returns (a due retry, an expired lease, a
    # redrive). From PENDING to PENDING goes a put over a task that was shed, which begins anew; and
    # one that has expired and falls back, which the function passes over.
    _pattern("INSERT", "MODIFY", NewImage=_image(Status.PENDING)),
    # What follows wakes nobody, but is counted. A delayed put over a task that was shed.
    _pattern("MODIFY", NewImage=_image(Status.DELAYED), OldImage=_WAITED),
    _SHED,
)
"""All else, most of all the processor's own claims and settlements, invokes nothing."""
ENDS: Final[Sequence[Pattern]] = (
    _pattern("MODIFY", OldImage=_LIVED, NewImage=_image(*TERMINAL)),
    _SHED,
    # Shed, since a put of its id began anew; or replaced, so that a token has to be answered. A
    # retry that waits has an error, which a new task has not. A delayed put that falls due looks
    # like one to a filter, and the function passes it over.
    _pattern(
        "MODIFY",
        OldImage=_LIVED,
        NewImage=_image(*WAITING, **{Attribute.ERROR.value: _exists(exists=False)}),
    ),
)


def ends_with_token() -> Sequence[Pattern]:
    """The ends of tasks that Step Functions wait for. The old image has the token in any case: an
    end takes it away from nobody."""
    token = {Attribute.TASK_TOKEN.value: _exists(exists=True)}
    images = (pattern["dynamodb"] for pattern in ENDS)
    return [
        {**pattern, "dynamodb": {**each, "OldImage": {**each["OldImage"], **token}}}
        for pattern, each in zip(ENDS, images, strict=True)
    ]


def status(record: Record, image: str) -> str | None:
    """Return the status in an image of a stream record; None if it has none."""
    return attribute(record, image, Attribute.TASK_STATUS, "S")


def was_shed(record: Record) -> bool:
    """True if the record shows that a task was shed: its deletion, or a put over it that came
    before the deletion. A finished task's deletion is the end of its retention."""
    waited = status(record, "OldImage") in WAITING
    return waited and (is_deletion_for_age(record) or begins_anew(record))


def has_ended(record: Record) -> bool:
    """True if the record shows a task coming to SUCCESS, FAILURE or CANCELLED."""
    was, became = status(record, "OldImage"), status(record, "NewImage")
    return became in TERMINAL and was is not None and was not in TERMINAL


def was_replaced(record: Record) -> bool:
    """True if a newer put took the place of one with a token, while it waited or after its run."""
    if status(record, "NewImage") not in WAITING or status(record, "OldImage") in TERMINAL:
        return False
    token = attribute(record, "OldImage", Attribute.TASK_TOKEN, "S")
    return token is not None and token != (attribute(record, "NewImage", Attribute.TASK_TOKEN, "S"))


def is_deletion_for_age(record: Record) -> bool:
    """Return True if the item was deleted by TTL; or past its deadline, as the sweep deletes where
    somebody waits to be told."""
    if record.get("eventName") != "REMOVE":
        return False
    identity = record.get("userIdentity") or {}
    if identity.get("principalId") == TTL_PRINCIPAL:
        return True
    second = Decimal(str(record["dynamodb"].get("ApproximateCreationDateTime", 0)))
    expired = time(record, "OldImage", Attribute.EXPIRES_AT)
    return expired <= (second + DEADLINE_TOLERANCE) * MICROSECONDS


def begins_anew(record: Record) -> bool:
    """True if the change is a put over a task that was past its deadline. ``enqueuedAt`` of a task
    that waits and has expired moves in one other case only: a producer learns that its clock was
    off."""
    put = status(record, "NewImage") in WAITING
    since = time(record, "NewImage", Attribute.TASK_UPDATED)
    return put and is_another(record) and time(record, "OldImage", Attribute.EXPIRES_AT) <= since


def is_another(record: Record) -> bool:
    """True if another put of the id has come into the place of the one before."""
    return time(record, "NewImage", Attribute.ENQUEUED_AT) != (
        time(record, "OldImage", Attribute.ENQUEUED_AT)
    )


def time(record: Record, image: str, name: Attribute) -> Decimal:
    """Epoch microseconds; a damaged item may lack it."""
    return Decimal(attribute(record, image, name, "N") or 0)


def attribute(record: Record, image: str, name: Attribute, kind: str) -> str | None:
    """Return an attribute in an image of a stream record, of DynamoDB's type ``kind``; None if it
    has none."""
    attributes = record.get("dynamodb", {}).get(image) or {}
    value: str | None = attributes.get(name, {}).get(kind)
    return value
