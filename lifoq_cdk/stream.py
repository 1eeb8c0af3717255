"""A function that reads the table's stream."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from lifoq.ends.changes import Pattern
from lifoq_cdk.function import QueueFunction
from lifoq_cdk.state import QueueState

AT_ONCE: Final = cdk.Duration.seconds(0)
AN_HOUR: Final = cdk.Duration.hours(1)


@dataclass(frozen=True, kw_only=True)
class StreamReading:
    """Lambda's reading of the table's stream.

    Examples:
        >>> stream = StreamReading(max_batching_window=cdk.Duration.seconds(1))
        >>> queue = LifoQueue(stack, "Prices", tasks="thumbnails", stream=stream)
    """

    batch_size: int = 1000
    """Changes of the table that one event holds, at the most."""
    max_batching_window: cdk.Duration = AT_ONCE
    """The time for which Lambda waits for more changes of a batch."""
    retry_attempts: int = 3
    """The number of tries after the first, of an event that failed."""
    max_record_age: cdk.Duration = AN_HOUR
    """The age beyond which a change is put aside."""


def follow(
    function: QueueFunction,
    patterns: Sequence[Pattern],
    *,
    state: QueueState,
    reading: StreamReading,
    dead_letters: sqs.IQueue,
) -> str:
    """Invoke ``function`` with the stream's records that match one of ``patterns``; the mapping."""
    stream_arn = state.table.table_stream_arn
    if stream_arn is None:
        raise ValueError("The table has no stream: nothing would wake the queue.")
    function.allow(
        ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"],
        stream_arn,
    )
    # Lambda looks for the table's streams before it reads one.
    function.allow(
        ["dynamodb:ListStreams"],
        f"{state.table.table_arn}/stream/*",
        why="It asks for all streams of the one table, and shows no data.",
    )
    mapping = lambda_.CfnEventSourceMapping(
        function,
        "TableStream",
        function_name=function.function_name,
        event_source_arn=stream_arn,
        # LATEST can miss what is put while the mapping is being created.
        starting_position="TRIM_HORIZON",
        filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
            filters=[
                lambda_.CfnEventSourceMapping.FilterProperty(pattern=json.dumps(pattern))
                for pattern in patterns
            ]
        ),
        batch_size=reading.batch_size,
        maximum_batching_window_in_seconds=reading.max_batching_window.to_seconds(),
        # By default a record that fails blocks its shard for a day.
        maximum_retry_attempts=reading.retry_attempts,
        maximum_record_age_in_seconds=reading.max_record_age.to_seconds(),
        bisect_batch_on_function_error=True,
        function_response_types=["ReportBatchItemFailures"],
        destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
            on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(
                destination=dead_letters.queue_arn
            )
        ),
    )
    return mapping.ref
