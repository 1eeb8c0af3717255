"""Make tasks of the messages of other services: queues, topics, rules, brokers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq.environment import Variable
from lifoq.errors import InvalidInput
from lifoq.ingest.mapping import IngestMapping
from lifoq.operating import deployment
from lifoq_cdk.findings import accept, accept_secret
from lifoq_cdk.function import QueueFunction
from lifoq_cdk.functions import INGEST, PERSISTENT, AsyncInvocation
from lifoq_cdk.queue import LifoQueue

MOST_AT_A_TIME: Final = 100
"""Messages of one batch. Each is put by itself, and all have to be in some seconds."""
IN_THE_NETWORK: Final = (
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
)
"""The permissions by which Lambda gets to a broker
(https://docs.aws.amazon.com/lambda/latest/dg/with-mq.html)."""


@dataclass(frozen=True, kw_only=True)
class BrokerQueue:
    """A queue of an Amazon MQ broker.

    Examples:
        >>> orders = BrokerQueue(broker_arn=broker_arn, queue_name="orders", login=login)
        >>> ingest = QueueIngest(stack, "Ingest", queue=queue, sources=[orders])
    """

    broker_arn: str
    """The broker's ARN, such as ``CfnBroker.attr_arn``."""
    queue_name: str
    """The name of the queue in the broker."""
    login: secretsmanager.ISecret | secretsmanager.Secret
    """User name and password, as the keys ``username`` and ``password``."""
    virtual_host: str | None = None
    """RabbitMQ's; leave it out for ActiveMQ."""
    batch_size: int = MOST_AT_A_TIME
    """Messages of one event, at the most."""


Source = lambda_.IEventSource | sqs.IQueue | sns.ITopic | sns.Topic | events.Rule | BrokerQueue
"""The sources that can be subscribed to. ``SqsEventSource`` says more than a queue by itself."""


class QueueIngest(Construct):
    """``IngestFunction``, and what runs it.

    Examples:
        >>> orders = sqs.Queue(stack, "Orders", visibility_timeout=cdk.Duration.minutes(6))
        >>> mapping = IngestMapping(task_type="'order.created'", task_id="body.order.id")
        >>> ingest = QueueIngest(stack, "Ingest", queue=queue, sources=[orders], mapping=mapping)
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: LifoQueue,
        sources: Sequence[Source],
        mapping: IngestMapping | None = None,
        asynchronous: AsyncInvocation = PERSISTENT,
    ) -> None:
        """``mapping``: where in a message the task's type, id, payload and times are; by default in
        attributes of these names. ``asynchronous``: of topics and rules."""
        super().__init__(scope, construct_id)
        self._queue = queue
        self._mappings: list[lambda_.CfnEventSourceMapping] = []
        self.ingest = self._function(mapping or IngestMapping(), asynchronous)
        for number, source in enumerate(sources):
            self._subscribe(source, number)
        self._check_mappings()
        self._watch()

    def _function(self, mapping: IngestMapping, asynchronous: AsyncInvocation) -> QueueFunction:
        queue = self._queue
        function = QueueFunction(
            self,
            INGEST,
            surroundings=queue.surroundings,
            environment={
                Variable.DEAD_LETTERS.value: queue.dead_letters.queue_url,
                Variable.INGEST_MAPPING.value: mapping.encode(),
            },
            dead_letters=queue.dead_letters,
            asynchronous=asynchronous,
        )
        if mapping.may_replace:
            function.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], queue.table.table_arn)
        return function

    def _subscribe(self, source: Source, number: int) -> None:
        match source:
            case BrokerQueue():
                self._follow_broker(source, f"Broker{number}")
            case events.Rule():
                source.add_target(
                    targets.LambdaFunction(self.ingest, dead_letter_queue=self._queue.dead_letters)
                )
            case _ if _is_topic(source):
                source.add_subscription(
                    subscriptions.LambdaSubscription(
                        self.ingest, dead_letter_queue=self._queue.dead_letters
                    )
                )
            case _ if _is_queue(source):
                self.ingest.add_event_source(event_sources.SqsEventSource(source))
            case _ if _is_event_source(source):
                self.ingest.add_event_source(source)
            case _:
                problem = "is no queue, topic, rule, event source or BrokerQueue"
                raise InvalidInput(f"sources[{number}]", source, problem)

    def _follow_broker(self, source: BrokerQueue, construct_id: str) -> None:
        self.ingest.allow(["mq:DescribeBroker"], source.broker_arn)
        self.ingest.allow(
            IN_THE_NETWORK, "*", why="Actions on network interfaces know no resources."
        )
        source.login.grant_read(self.ingest)
        accept_secret(self.ingest.execution_role, source.login)
        access = [("BASIC_AUTH", source.login.secret_arn)]
        if source.virtual_host is not None:
            access.append(("VIRTUAL_HOST", source.virtual_host))
        mapping = lambda_.CfnEventSourceMapping(
            self,
            construct_id,
            function_name=self.ingest.function_name,
            event_source_arn=source.broker_arn,
            queues=[source.queue_name],
            batch_size=source.batch_size,
            source_access_configurations=[
                lambda_.CfnEventSourceMapping.SourceAccessConfigurationProperty(type=type_, uri=uri)
                for type_, uri in access
            ],
        )
        accept(
            mapping,
            "Serverless-LambdaEventSourceMappingDestination",
            "Lambda knows none for a broker, which keeps what was not confirmed.",
        )

    def _check_mappings(self) -> None:
        """Check the mappings, whoever made them: SQS is told which messages failed, or it would
        forget them all."""
        for each in self.node.find_all():
            if not isinstance(each, lambda_.CfnEventSourceMapping):
                continue
            _check(each)
            self._mappings.append(each)
            if each.queues is None:
                each.function_response_types = ["ReportBatchItemFailures"]

    def _watch(self) -> None:
        board = self._queue.alarm_board(self)
        board.add_function_alarms([self.ingest])
        board.add_event_alarms([self.ingest])
        self._queue.show(deployment.INGEST, self.ingest, alarms=board, mappings=self._mappings)


# CDK's interfaces are known by what they have: imported resources are of classes without a name.


def _is_topic(source: Any) -> TypeGuard[sns.ITopic]:
    return hasattr(source, "topic_arn")


def _is_queue(source: Any) -> TypeGuard[sqs.IQueue]:
    return hasattr(source, "queue_arn")


def _is_event_source(source: Any) -> TypeGuard[lambda_.IEventSource]:
    return hasattr(source, "bind")


def _check(mapping: Any) -> None:
    if mapping.starting_position is not None:
        problem = "is a stream's, whose records are no messages; give queues, topics, rules"
        raise InvalidInput("sources", mapping.node.path, problem)
    if (mapping.batch_size or 0) > MOST_AT_A_TIME:
        problem = f"is too large for messages that are put one by one; at most {MOST_AT_A_TIME}"
        raise InvalidInput("batch_size", mapping.batch_size, problem)
