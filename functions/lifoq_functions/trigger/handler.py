"""TriggerFunction: turns changes of the table, and tail calls, into kicks; counts what was shed."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from lifoq.ends.changes import is_another, status, was_shed
from lifoq.environment import Environment
from lifoq.items.schema import Status
from lifoq.metrics import Metric
from lifoq_functions import started
from lifoq_functions.end_when_credentials_expire import ends_with_credentials
from lifoq_functions.kick import Kicker
from lifoq_functions.measure import emit, measured
from lifoq_functions.records_before_deployment import came_since_deployment

logger = Logger()
environment = Environment.of_this_process()
processor = Kicker(environment.process_topic_arn)
processor.connect()
started()


@logger.inject_lambda_context
@measured
@ends_with_credentials
def handle(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """``event`` holds stream records, or the SNS message of a tail call.

    One kick for the whole batch is enough. It comes first: where it fails, the batch is tried
    again, and nothing of it has been counted yet.
    """
    records = event["Records"]
    wakes = any(is_tail_call(record) or makes_claimable(record) for record in records)
    if wakes:
        processor.kick("there are tasks to claim")
    shed = sum(was_shed(record) and came_since_deployment(record) for record in records)
    emit({Metric.KICKS: int(wakes), Metric.TASKS_SHED: shed})
    return {"batchItemFailures": []}


def is_tail_call(record: Mapping[str, Any]) -> bool:
    return record.get("EventSource") == "aws:sns"


def makes_claimable(record: Mapping[str, Any]) -> bool:
    """True if the change left a PENDING task that was none before. Claims do not. A waiting task
    changes in two cases only: a put begins it anew, or it has expired and falls back."""
    same = status(record, "OldImage") == Status.PENDING and not is_another(record)
    return status(record, "NewImage") == Status.PENDING and not same
