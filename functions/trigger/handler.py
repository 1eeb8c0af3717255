"""TriggerFunction: turns changes of the table, and tail calls, into kicks; counts what was shed."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from lifoq.environment import Environment
from lifoq.items.schema import WAITING, Attribute, Status
from lifoq.metrics import Metric

from ..kick import Kicker
from ..measure import emit, metrics

TTL_PRINCIPAL: Final = "dynamodb.amazonaws.com"
"""Who deletes expired items
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html)."""

logger = Logger()
processor = Kicker(Environment.of_this_process().process_topic_arn)


@logger.inject_lambda_context
@metrics.log_metrics
def handle(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """``event`` holds stream records, or the SNS message of a tail call.

    One kick for the whole batch is enough. It comes first: where it fails, the batch is tried
    again, and nothing of it has been counted yet.
    """
    records = event["Records"]
    wakes = any(is_tail_call(record) or makes_claimable(record) for record in records)
    if wakes:
        processor.kick("there are tasks to claim")
    shed = count_shed(records)
    emit({Metric.KICKS: int(wakes), Metric.TASKS_SHED: shed})
    return {"batchItemFailures": []}


def is_tail_call(record: Mapping[str, Any]) -> bool:
    return record.get("EventSource") == "aws:sns"


def makes_claimable(record: Mapping[str, Any]) -> bool:
    """Whether the change left a PENDING task. Claims do not, and no task that waits is changed but
    by a put that begins anew."""
    return status(record, "NewImage") == Status.PENDING


def count_shed(records: Iterable[Mapping[str, Any]]) -> int:
    """TTL deletions of tasks that waited, and puts over those that TTL had not come to yet. A
    deletion of a finished task is its retention's end."""
    return sum(
        status(record, "OldImage") in WAITING and (is_ttl_deletion(record) or begins_anew(record))
        for record in records
    )


def begins_anew(record: Mapping[str, Any]) -> bool:
    """Whether the change is a put over a task that was past its deadline. Nothing else moves
    ``enqueuedAt`` of a task that waits, but a producer that learns that its clock was off."""
    put = status(record, "NewImage") in WAITING
    moved = time(record, "NewImage", Attribute.ENQUEUED_AT) != (
        time(record, "OldImage", Attribute.ENQUEUED_AT)
    )
    since = time(record, "NewImage", Attribute.TASK_UPDATED)
    return put and moved and time(record, "OldImage", Attribute.EXPIRES_AT) <= since


def is_ttl_deletion(record: Mapping[str, Any]) -> bool:
    identity = record.get("userIdentity") or {}
    return record.get("eventName") == "REMOVE" and identity.get("principalId") == TTL_PRINCIPAL


def status(record: Mapping[str, Any], image: str) -> str | None:
    return attribute(record, image, Attribute.TASK_STATUS, "S")


def time(record: Mapping[str, Any], image: str, name: Attribute) -> Decimal:
    """Epoch microseconds; a damaged item may lack it."""
    return Decimal(attribute(record, image, name, "N") or 0)


def attribute(record: Mapping[str, Any], image: str, name: Attribute, kind: str) -> str | None:
    attributes = record.get("dynamodb", {}).get(image) or {}
    value: str | None = attributes.get(name, {}).get(kind)
    return value
