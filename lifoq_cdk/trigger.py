"""What wakes the queue: it turns changes of the table, and tail calls, into kicks."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq import environment
from lifoq.ends.changes import WAKING
from lifoq.environment import Variable
from lifoq.items.lifetimes import Lifetimes
from lifoq_cdk.function import AsyncInvocation, QueueFunction, Surroundings
from lifoq_cdk.state import QueueState
from lifoq_cdk.stream import StreamReading, follow

TIMEOUT: Final = cdk.Duration.seconds(30)


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
        # A group without schedules: CloudFormation tells its date, which no update moves, and of
        # nothing else that a queue has.
        birth = scheduler.CfnScheduleGroup(self, "Birth")
        self.add_environment(Variable.DEPLOYED.value, birth.attr_creation_date)
        self.allow(["sns:Publish"], process_topic.topic_arn)
        mapping = follow(
            self,
            state=state,
            patterns=WAKING,
            reading=stream,
            dead_letters=dead_letters,
        )
        self.stream_mapping = mapping.ref
