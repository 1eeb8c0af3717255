"""What wakes the queue: it turns changes of the table, and tail calls, into kicks."""

from dataclasses import dataclass
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq import environment
from lifoq.environment import Variable
from lifoq.items.transitions import Lifetimes
from lifoq_cdk import wake_ups
from lifoq_cdk.function import AsyncInvocation, QueueFunction, Surroundings
from lifoq_cdk.state import QueueState

TIMEOUT: Final = cdk.Duration.seconds(30)
AT_ONCE: Final = cdk.Duration.seconds(0)
AN_HOUR: Final = cdk.Duration.hours(1)


@dataclass(frozen=True, kw_only=True)
class StreamReading:
    """How Lambda reads the table's stream."""

    batch_size: int = 1000
    max_batching_window: cdk.Duration = AT_ONCE
    retry_attempts: int = 3
    max_record_age: cdk.Duration = AN_HOUR


class Trigger(QueueFunction):
    """Reads the table's stream, and publishes kicks to the processor's topic."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        surroundings: Surroundings,
        state: QueueState,
        lifetimes: Lifetimes,
        process_topic: sns.ITopic,
        stream: StreamReading,
        asynchronous: AsyncInvocation,
        dead_letters: sqs.IQueue,
        architecture: lambda_.Architecture,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            surroundings=surroundings,
            name="trigger",
            description="Turns changes of the table into kicks, and counts what was shed",
            environment={
                **environment.of_queue(state.table.table_name, lifetimes),
                Variable.PROCESS_TOPIC.value: process_topic.topic_arn,
            },
            timeout=TIMEOUT,
            dead_letters=dead_letters,
            asynchronous=asynchronous,
            architecture=architecture,
            # The tail call is a loop on purpose; Lambda would cut it after about 16 rounds.
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
        )
        self.allow(["sns:Publish"], process_topic.topic_arn)
        self._follow(state, stream, dead_letters)

    def _follow(self, state: QueueState, stream: StreamReading, dead_letters: sqs.IQueue) -> None:
        stream_arn = state.table.table_stream_arn
        if stream_arn is None:
            raise ValueError("The table has no stream: nothing would wake the queue.")
        self.allow(
            ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"],
            stream_arn,
        )
        # Lambda looks for the table's streams before it reads one.
        self.allow(["dynamodb:ListStreams"], f"{state.table.table_arn}/stream/*")
        mapping = lambda_.CfnEventSourceMapping(
            self,
            "TableStream",
            function_name=self.function_name,
            event_source_arn=stream_arn,
            # LATEST can miss what is put while the mapping is being created.
            starting_position="TRIM_HORIZON",
            filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
                filters=[
                    lambda_.CfnEventSourceMapping.FilterProperty(pattern=pattern)
                    for pattern in wake_ups.filters()
                ]
            ),
            batch_size=stream.batch_size,
            maximum_batching_window_in_seconds=stream.max_batching_window.to_seconds(),
            # By default a record that fails blocks its shard for a day.
            maximum_retry_attempts=stream.retry_attempts,
            maximum_record_age_in_seconds=stream.max_record_age.to_seconds(),
            bisect_batch_on_function_error=True,
            function_response_types=["ReportBatchItemFailures"],
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(
                    destination=dead_letters.queue_arn
                )
            ),
        )
        self.stream_mapping = mapping.ref
