"""The names that everything else stands on: attributes, statuses, indexes, and the table itself.

The CDK table, the stores, the local cloud and the Spark schema all read them from here. A name is
written down once; a new attribute starts its life in this file.

Units: an attribute that holds a time holds epoch **microseconds**, but ``ttl``, which holds epoch
**seconds**, because DynamoDB's TTL understands nothing else.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal


class Status(StrEnum):
    """The place of a task on its way from put to end.

    Examples:
        >>> queue.put("device.check").status is Status.PENDING
        True
    """

    PENDING = "PENDING"
    """Waits for a worker, and can be claimed."""
    DELAYED = "DELAYED"
    """Waits for its due time: a delayed put, or a retry that backs off."""
    TAKEN = "TAKEN"
    """Claimed by a worker, under a lease."""
    SUCCESS = "SUCCESS"
    """Finished; kept for its retention."""
    FAILURE = "FAILURE"
    """The task is out of attempts, or was refused. It waits for an operator's redrive, then for
    TTL."""
    CANCELLED = "CANCELLED"
    """Withdrawn by a client: while it waited, or while its handler ran, which then stopped."""


WAITING: Final = frozenset({Status.PENDING, Status.DELAYED})
TERMINAL: Final = frozenset({Status.SUCCESS, Status.FAILURE, Status.CANCELLED})


class Attribute(StrEnum):
    """An attribute of the task item."""

    TASK_ID = "taskId"
    TASK_STATUS = "taskStatus"
    TASK_CREATED = "taskCreated"
    ENQUEUED_AT = "enqueuedAt"
    TASK_UPDATED = "taskUpdated"
    FIRST_TAKEN_AT = "firstTakenAt"
    TAKEN_AT = "takenAt"
    FINISHED_AT = "finishedAt"
    EXPIRES_AT = "expiresAt"
    TTL = "ttl"
    TASK_TYPE = "taskType"
    TASK_KEY = "taskKey"
    PAYLOAD = "payload"
    ATTEMPTS = "attempts"
    CLAIM_ID = "claimId"
    LEASES_LOST = "leasesLost"
    LEASE_EXPIRES = "leaseExpires"
    DUE_AT = "dueAt"
    CHECKPOINT = "checkpoint"
    RESULT = "result"
    ERROR = "error"
    TASK_TOKEN = "taskToken"  # noqa: S105 - a name
    TRACEPARENT = "traceparent"
    HISTORY = "history"
    PUT_AT = "putAt"
    REPLACED = "replaced"
    PARKED = "parked"
    PARKED_AT = "parkedAt"
    CANCEL_ASKED = "cancelAsked"
    WANTED_UNTIL = "wantedUntil"
    MAX_ATTEMPTS = "maxAttempts"
    PREVIEW = "preview"
    """A map: see ``Preview``."""


class Preview(StrEnum):
    """A field of the attribute ``preview``: what has to be known of a task before it is claimed.

    Both indexes show the whole map, and CloudFormation cannot change what an index shows: a field
    that a later release needs at a poll goes in here. It is written by a put, and changes later
    only together with the key of ``status-created-index``, so that it costs no index write of its
    own. Who changes one field keeps the others, which a newer release may have written.
    """

    HEAD_START = "headStart"
    """N: microseconds."""
    TIMEOUT = "timeout"
    """N: microseconds."""
    WEIGHT = "weight"
    """N: units, such as tokens."""
    ALONE = "alone"
    """N: 1 if the task is to share no call of a handler with others (see ``run.shared_call``)."""


AttributeType = Literal["S", "N", "L", "M"]

ATTRIBUTE_TYPES: Final[dict[Attribute, AttributeType]] = {
    Attribute.TASK_ID: "S",
    Attribute.TASK_STATUS: "S",
    Attribute.TASK_CREATED: "N",
    Attribute.ENQUEUED_AT: "N",
    Attribute.TASK_UPDATED: "N",
    Attribute.FIRST_TAKEN_AT: "N",
    Attribute.TAKEN_AT: "N",
    Attribute.FINISHED_AT: "N",
    Attribute.EXPIRES_AT: "N",
    Attribute.TTL: "N",
    Attribute.TASK_TYPE: "S",
    Attribute.TASK_KEY: "S",
    Attribute.PAYLOAD: "S",
    Attribute.ATTEMPTS: "N",
    Attribute.CLAIM_ID: "S",
    Attribute.LEASES_LOST: "N",
    Attribute.LEASE_EXPIRES: "N",
    Attribute.DUE_AT: "N",
    Attribute.CHECKPOINT: "S",
    Attribute.RESULT: "S",
    Attribute.ERROR: "S",
    Attribute.TASK_TOKEN: "S",
    Attribute.TRACEPARENT: "S",
    Attribute.HISTORY: "L",
    Attribute.PUT_AT: "N",
    Attribute.REPLACED: "N",
    Attribute.PARKED: "M",
    Attribute.PARKED_AT: "N",
    Attribute.CANCEL_ASKED: "N",
    Attribute.WANTED_UNTIL: "N",
    Attribute.MAX_ATTEMPTS: "N",
    Attribute.PREVIEW: "M",
}
"""DynamoDB's type of each attribute."""

SMOKE_TYPE: Final = "lifoq.smoke"
"""The one task type that every processor has, beside the team's: `lifoq smoke` tries a queue by
it."""

HASH_KEY: Final = Attribute.TASK_ID
TTL_ATTRIBUTE: Final = Attribute.TTL

STATUS_CREATED_INDEX: Final = "status-created-index"
"""HASH ``taskStatus``, RANGE ``taskCreated``: the LIFO order, and what operators look through."""
STATUS_CREATED_PROJECTION: Final = (
    Attribute.EXPIRES_AT,
    Attribute.TASK_TYPE,
    Attribute.TASK_KEY,
    Attribute.LEASES_LOST,
    Attribute.PREVIEW,
)
"""The attributes that decide whether a row can start, and since when it waits; the claim's own
answer brings the payload. None of them costs an index write of its own: ``leasesLost`` (the number
of claims in a row that ended with a lost lease; most tasks have none) and ``preview`` change only
together with the index's key, the others never in a life."""

DUE_INDEX: Final = "due-index"
"""HASH ``taskStatus``, RANGE ``dueAt``: sparse, since only what the sweep has to look for has a
``dueAt``: a DELAYED task, until it enters the queue; and a PENDING one whose shedding somebody
waits to be told of, until its deadline."""
DUE_PROJECTION: Final = (Attribute.PREVIEW,)
"""Room for what a later release may have to know of a task that is due. Today whoever finds one
reads all of it."""
PROJECTIONS: Final = {STATUS_CREATED_INDEX: STATUS_CREATED_PROJECTION, DUE_INDEX: DUE_PROJECTION}
"""The attributes that each index shows beside the keys. Frozen: see ``Preview``."""

ANOTHER_QUEUE: Final = (
    "CloudFormation changes no index under its name: deploy a queue of another name beside this "
    "one, let producers go there, and let this one run empty"
)
"""The remedy for an index that has other keys, or shows less."""

MAX_ITEM_BYTES: Final = 400 * 1024
"""DynamoDB's limit for one item, names included
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html)."""
MAX_TRANSACTION_BYTES: Final = 4 * 1024 * 1024
"""DynamoDB's limit for all that one transaction writes."""
RESERVED_BYTES: Final = 20 * 1024
"""Kept free beside the payload for the queue's own attributes, a bounded error, and a checkpoint
of some 7 KB."""
MAX_PAYLOAD_BYTES: Final = MAX_ITEM_BYTES - RESERVED_BYTES
"""The longest JSON of a payload."""
MAX_LARGE_BYTES: Final = 16 * 1024 * 1024
"""The largest object of the bucket: read and parsed it takes ten times as much of a worker's
memory."""
LARGE_DELAY: Final = 30 * 86_400.0
"""Seconds by which a task can be delayed whose payload lies in the bucket: objects are deleted by
their age."""
MAX_ERROR_BYTES: Final = 8 * 1024
"""The largest ``error``, so that an attempt can always say how it failed."""
MAX_PAYLOAD_AND_CHECKPOINT_BYTES: Final = MAX_ITEM_BYTES - MAX_ERROR_BYTES - 5 * 1024
"""A checkpoint leaves room for the error, the history and the queue's own attributes."""
IMPOSSIBLE: Final = 10**18
"""The number that no time in microseconds, and no count, comes near; arithmetic with them stays in
DynamoDB's 38 digits."""
MAX_KEY_BYTES: Final = 2048
"""DynamoDB's limit for a hash key."""
MAX_TABLE_NAME_BYTES: Final = 1024
"""The longest name or ARN of a table."""
MAX_ID_BYTES: Final = 1024
"""The most bytes of ``taskId``."""
MAX_TYPE_BYTES: Final = 256
"""The most bytes of ``taskType``."""
MAX_TASK_KEY_BYTES: Final = 256
"""The most bytes of ``taskKey``."""
MAX_TOKEN_BYTES: Final = 2048
"""The most bytes of ``taskToken``
(https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html)."""
OWN_PREFIX: Final = "lifoq:own:"
"""The beginning of the ids of the queue's own items, which are no tasks: key slots, quota tables,
notes. ``put`` refuses such an id."""


def table_definition(table_name: str) -> dict[str, Any]:
    """The arguments of DynamoDB's ``CreateTable`` for a queue, without PITR and TTL,
    which have calls of their own."""
    keys = (Attribute.TASK_ID, Attribute.TASK_STATUS, Attribute.TASK_CREATED, Attribute.DUE_AT)

    def index(name: str, sort_key: Attribute) -> dict[str, Any]:
        return {
            "IndexName": name,
            "KeySchema": [
                {"AttributeName": Attribute.TASK_STATUS.value, "KeyType": "HASH"},
                {"AttributeName": sort_key.value, "KeyType": "RANGE"},
            ],
            "Projection": {
                "ProjectionType": "INCLUDE",
                "NonKeyAttributes": [shown.value for shown in PROJECTIONS[name]],
            },
        }

    return {
        "TableName": table_name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": name.value, "AttributeType": ATTRIBUTE_TYPES[name]} for name in keys
        ],
        "KeySchema": [{"AttributeName": HASH_KEY.value, "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [
            index(STATUS_CREATED_INDEX, Attribute.TASK_CREATED),
            index(DUE_INDEX, Attribute.DUE_AT),
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def not_projected(index: Mapping[str, Any], needed: Mapping[str, Any]) -> list[str]:
    """Return what an index, as DynamoDB describes it, does not show of what it should."""
    if index["Projection"]["ProjectionType"] == "ALL":
        return []
    shown = set(index["Projection"].get("NonKeyAttributes", ()))
    return sorted(set(needed["Projection"]["NonKeyAttributes"]) - shown)
