"""What tells who asked for it how tasks ended: a topic, and Step Functions."""

from dataclasses import dataclass
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq.ends.changes import ENDS, ends_with_token
from lifoq.environment import Variable
from lifoq.errors import InvalidInput
from lifoq_cdk.function import AsyncInvocation, QueueFunction, Surroundings
from lifoq_cdk.state import QueueState
from lifoq_cdk.stream import StreamReading, follow

TIMEOUT: Final = cdk.Duration.seconds(60)


@dataclass(frozen=True, kw_only=True)
class TaskEvents:
    """Who is told of each task's end: SUCCESS, FAILURE, CANCELLED, or SHED."""

    topic: bool = True
    """Whether all ends are published to ``TaskEventsTopic``."""
    step_functions: bool = False
    """Whether tasks with a ``task_token`` are answered to Step Functions."""
    shed_at_deadline: bool = True
    """Whether the topic is told of a shed task within one sweep of its deadline, which costs two
    more index writes for each task; else when DynamoDB's TTL deletes it, perhaps days later. A task
    with a token is always answered at its deadline."""

    def __post_init__(self) -> None:
        if not (self.topic or self.step_functions):
            raise InvalidInput(
                "events", self, "tell nobody: set topic or step_functions, or leave events out"
            )

    @property
    def all_shed_at_deadline(self) -> bool:
        return self.topic and self.shed_at_deadline


class TaskEventsFunction(QueueFunction):
    """The second reader of the table's stream; Lambda allows no third."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        surroundings: Surroundings,
        state: QueueState,
        topic: sns.ITopic | None,
        step_functions: bool,
        stream: StreamReading,
        asynchronous: AsyncInvocation,
        dead_letters: sqs.IQueue,
        architecture: lambda_.Architecture,
    ) -> None:
        told = {Variable.QUEUE.value: surroundings.queue_name}
        if topic:
            told[Variable.EVENTS_TOPIC.value] = topic.topic_arn
        if step_functions:
            told[Variable.TASK_TOKENS.value] = "true"
        super().__init__(
            scope,
            construct_id,
            surroundings=surroundings,
            name="task_events",
            description="Tells who asked for it how tasks ended",
            environment=told,
            timeout=TIMEOUT,
            dead_letters=dead_letters,
            asynchronous=asynchronous,
            architecture=architecture,
        )
        if topic:
            self.allow(["sns:Publish"], topic.topic_arn)
        if step_functions:
            self.allow(
                ["states:SendTaskFailure", "states:SendTaskSuccess"],
                "*",
                why="These know no resources; the token says which execution it is.",
            )
        mapping = follow(
            self,
            state=state,
            patterns=ENDS if topic else ends_with_token(),
            reading=stream,
            dead_letters=dead_letters,
        )
        self.stream_mapping = mapping.ref
