"""IngestFunction: makes tasks of the messages of other services."""

from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from lifoq.client.queue import Queue
from lifoq.environment import Environment
from lifoq.errors import DamagedTask, InvalidInput, StoreUnavailable
from lifoq.ingest.mapping import IngestMapping
from lifoq.ingest.message import Delivery, deliveries
from lifoq.metrics import Metric

from ..ingest.put_aside import put_aside
from ..measure import emit, metrics

LONGEST_PUT: Final = 26_000
"""Milliseconds that one put may take while DynamoDB does not answer. No put begins in less: a
function that ran out of time would tell nobody what it has done."""

logger = Logger()
environment = Environment.of_this_process()
queue = Queue.connect(
    table=environment.table_name, lifetimes=environment.lifetimes(), bucket=environment.bucket
)
mapping = IngestMapping.decode(environment.ingest_mapping)


@logger.inject_lambda_context
@metrics.log_metrics
def handle(event: Any, context: LambdaContext) -> dict[str, Any]:
    """``event``: of SQS, SNS, EventBridge, or an Amazon MQ broker.

    What DynamoDB does not confirm comes again: message by message where SQS asks for them, else
    with the whole event. A message that comes twice is one task, by its id.
    """
    created = refused = 0
    left: list[Delivery] = []
    groups: set[str] = set()
    for delivery in deliveries(event):
        if delivery.group in groups or context.get_remaining_time_in_millis() < LONGEST_PUT:
            left.append(delivery)
            continue
        try:
            created += put(delivery)
        except (InvalidInput, DamagedTask) as reason:
            put_aside(environment.dead_letters_url, delivery.event, reason)
            refused += 1
        except StoreUnavailable as error:
            logger.warning("a task was perhaps not stored; its message comes again: %s", error)
            left.append(delivery)
            if delivery.group is not None:
                groups.add(delivery.group)
    emit({Metric.TASKS_CREATED: created, Metric.MESSAGES_REFUSED: refused})
    return {"batchItemFailures": [{"itemIdentifier": receipt_of(one)} for one in left]}


def put(delivery: Delivery) -> int:
    """How many tasks it made: none, where the message had come before."""
    outcome = queue.put_many([mapping.new_task(delivery.message())])[0]
    if outcome.error is not None:
        raise outcome.error
    return int(outcome.created)


def receipt_of(delivery: Delivery) -> str:
    """StoreUnavailable where only the whole event can come again."""
    if delivery.receipt is None:
        raise StoreUnavailable("a message was not put: its whole event is tried again")
    return delivery.receipt
