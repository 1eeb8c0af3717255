"""TaskEventsFunction: tells who asked for it how each task ended."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.utils import copy_config_to_registered_loggers
from aws_lambda_powertools.utilities.typing import LambdaContext
from botocore.exceptions import BotoCoreError, ClientError

from lifoq.aws import client_choice as own
from lifoq.aws.step_functions_calls import StepFunctionsCalls
from lifoq.aws.topics import Topics
from lifoq.ends.changes import Record
from lifoq.ends.end import End, Ending, end_of
from lifoq.ends.step_functions import StepFunctions
from lifoq.ends.topic import EventsTopic
from lifoq.environment import Environment
from lifoq_functions import started
from lifoq_functions.end_when_credentials_expire import end_if_expired, ends_with_credentials
from lifoq_functions.records_before_deployment import came_since_deployment

ANSWERS_AT_ONCE: Final = 10


def boto3_client(service: str) -> Any:
    from lifoq_functions.boto3_clients import client  # noqa: PLC0415 - a cold start less to import

    return client(service, connections=ANSWERS_AT_ONCE)


logger = Logger()
copy_config_to_registered_loggers(source_logger=logger, include={"lifoq"})
environment = Environment.of_this_process()
services = own.in_function("sns", "states")
topic = environment.events_topic_arn and EventsTopic(
    Topics(services[0]) if services else boto3_client("sns"),
    environment.events_topic_arn,
    queue=environment.queue_name,
)
step_functions = environment.task_tokens and StepFunctions(
    StepFunctionsCalls(services[1]) if services else boto3_client("stepfunctions")
)
answering = ThreadPoolExecutor(ANSWERS_AT_ONCE)
started()


@logger.inject_lambda_context
@ends_with_credentials
def handle(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """``event`` holds stream records. Lambda tries those again from the first that failed on: who
    is told twice is told the same id."""
    ends = [(record, end) for record in event["Records"] if (end := end_of(record)) is not None]
    told = [end for _, end in ends]
    failed = topic.publish(list(published(ends))) if topic else set()
    if step_functions:
        failed |= set(filter(None, answering.map(unanswered, told)))
    logger.info("told", extra={"ends": len(told), "failed": len(failed)})
    return {"batchItemFailures": list(failures(ends, failed))}


def published(ends: Iterable[tuple[Record, End]]) -> Iterable[End]:
    """Return the ends that subscribers are told. Where events are switched on, or off and on again,
    the stream still holds the ends of a day: nobody asked to be told of them, or was told of them
    then. Step Functions are answered all the same: a second answer does nothing, and a state may
    wait for its first."""
    return (
        end
        for record, end in ends
        if end.ending is not Ending.REPLACED and came_since_deployment(record)
    )


def unanswered(end: End) -> str | None:
    """The event's id, where Step Functions did not take the answer. The mapping counts, and in the
    end puts aside, what fails again."""
    try:
        if step_functions:
            step_functions.answer(end)
    except (ClientError, BotoCoreError) as error:
        end_if_expired(error)
        logger.exception("task %s is not answered", end.task_id)
        return end.event_id
    return None


def failures(ends: Iterable[tuple[Record, End]], failed: set[str]) -> Iterable[dict[str, str]]:
    return (
        {"itemIdentifier": record["dynamodb"]["SequenceNumber"]}
        for record, end in ends
        if end.event_id in failed
    )
