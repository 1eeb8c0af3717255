"""TriggerFunction: turns changes of the table, and tail calls, into kicks; counts what was shed."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from functions.kick import Kicker
from functions.measure import emit, metrics
from lifoq.environment import Environment
from lifoq.items.schema import WAITING, Attribute, Status
from lifoq.metrics import Metric

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
    """Whether the change made a task PENDING that was not, or is new."""
    return status(record, "NewImage") == Status.PENDING != status(record, "OldImage")


def count_shed(records: Iterable[Mapping[str, Any]]) -> int:
    """TTL deletions of tasks that waited; a deletion of a finished one is its retention's end."""
    return sum(
        is_ttl_deletion(record) and status(record, "OldImage") in WAITING for record in records
    )


def is_ttl_deletion(record: Mapping[str, Any]) -> bool:
    identity = record.get("userIdentity") or {}
    return record.get("eventName") == "REMOVE" and identity.get("principalId") == TTL_PRINCIPAL


def status(record: Mapping[str, Any], image: str) -> str | None:
    attributes = record.get("dynamodb", {}).get(image) or {}
    value: str | None = attributes.get(Attribute.TASK_STATUS, {}).get("S")
    return value
