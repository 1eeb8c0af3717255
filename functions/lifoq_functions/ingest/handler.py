"""IngestFunction: makes tasks of the messages of other services."""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from lifoq.environment import Environment
from lifoq.errors import DamagedTask, InvalidInput, StoreUnavailable
from lifoq.ingest.mapping import IngestMapping
from lifoq.ingest.message import Delivery, deliveries
from lifoq.metrics import Metric
from lifoq_functions import started
from lifoq_functions.connected import store_of
from lifoq_functions.end_when_credentials_expire import end_if_expired, ends_with_credentials
from lifoq_functions.ingest.put_aside import put_aside
from lifoq_functions.measure import emit, measured

LONGEST_PUT: Final = 15_000
"""Milliseconds that one put may take: two calls that DynamoDB does not answer. No put begins in
less: a function that ran out of time would tell nobody what it has done."""
PAUSES: Final = (0.0, 0.5, 2.0, 5.0)
"""Seconds before each time that what was not confirmed is tried: behind all others, which it would
hold up if its call was repeated at once."""

COUNTED: Final = (Metric.TASKS_CREATED, Metric.MESSAGES_REFUSED)

logger = Logger()
environment = Environment.of_this_process()
store = store_of(environment, repeats=False)
mapping = IngestMapping.decode(environment.ingest_mapping)
started()


@logger.inject_lambda_context
@measured
@ends_with_credentials
def handle(event: Any, context: LambdaContext) -> dict[str, Any]:
    """``event``: of SQS, SNS, EventBridge, or an Amazon MQ broker.

    What DynamoDB does not confirm comes again: message by message where SQS asks for them, else
    with the whole event. A message that comes twice is one task, by its id.
    """
    left, counts = list(deliveries(event)), Counter(dict.fromkeys(COUNTED, 0))
    for pause in PAUSES:
        if left and context.get_remaining_time_in_millis() >= LONGEST_PUT + 1000 * pause:
            time.sleep(pause)
            left = _try(left, counts, context)
    emit(counts)
    return {"batchItemFailures": [{"itemIdentifier": receipt_of(one)} for one in left]}


def _try(
    todo: Sequence[Delivery], counts: Counter[Metric], context: LambdaContext
) -> list[Delivery]:
    """Put the deliveries, and return those that were not put."""
    left: list[Delivery] = []
    groups: set[str] = set()
    for delivery in todo:
        if delivery.group in groups or context.get_remaining_time_in_millis() < LONGEST_PUT:
            left.append(delivery)
            continue
        try:
            counts[Metric.TASKS_CREATED] += put(delivery)
        except (InvalidInput, DamagedTask) as reason:
            put_aside(environment.dead_letters_url, delivery.event, reason)
            counts[Metric.MESSAGES_REFUSED] += 1
        except StoreUnavailable as error:
            end_if_expired(error)
            logger.warning("a task was perhaps not stored; its message comes again: %s", error)
            left.append(delivery)
            if delivery.group is not None:
                groups.add(delivery.group)
    return left


def put(delivery: Delivery) -> int:
    """Put the tasks of a message, and return their number: none if the message had come before."""
    outcome = store.put_many([mapping.new_task(delivery.message())])[0]
    if outcome.error is not None:
        raise outcome.error
    return int(outcome.created)


def receipt_of(delivery: Delivery) -> str:
    """Return the receipt of a message that is to come again. Raises StoreUnavailable where only the
    whole event can."""
    if delivery.receipt is None:
        raise StoreUnavailable("a message was not put: its whole event is tried again")
    return delivery.receipt
