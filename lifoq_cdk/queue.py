"""What works on the table: the trigger, the processor, the sweep, and the loop between them.

The loop: a change of the table runs the trigger, which publishes a kick to the processor's topic;
a processor that leaves tasks behind publishes a kick to the trigger's topic (the tail call).
Kicks carry no data, any of them may be lost, and the sweep replaces a lost one.
"""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq import environment, schema
from lifoq.environment import Variable
from lifoq_cdk import wake_ups
from lifoq_cdk.alarms import AlarmBoard, add_queue_alarms
from lifoq_cdk.asset import Asset
from lifoq_cdk.dashboard import QueueDashboard
from lifoq_cdk.dead_letters import DeadLetters
from lifoq_cdk.function import QueueFunction
from lifoq_cdk.nag import acknowledge, import_of
from lifoq_cdk.queries import save_queries
from lifoq_cdk.schedule import Invocation
from lifoq_cdk.state import StateStack
from stacks.config import MINUTE, StageConfig

TRIGGER_TIMEOUT_SECONDS: Final = 30
SWEEP_TIMEOUT_SECONDS: Final = 60
DEAD_LETTER_DAYS: Final = 14
SPARE_KICK_DAYS: Final = 1


class QueueStack(cdk.Stack):
    """The functions and topics; it holds no data, and can be deleted and deployed again."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: StageConfig,
        asset: Asset,
        state: StateStack,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"lifoq {stage.name}: trigger, processor and sweep",
            termination_protection=stage.protected,
        )
        self._stage = stage
        self._asset = asset
        self._state = state
        self._key = state.key

        self.dead_letters = DeadLetters(
            self, "DeadLetters", key=self._key, retention_days=DEAD_LETTER_DAYS
        )
        # A kick that finds the one processor busy until it is too old ends here. Under load that is
        # how kicks are coalesced, so it is kept apart from what somebody has to look at.
        self.spare_kicks = DeadLetters(
            self, "SpareKicks", key=self._key, retention_days=SPARE_KICK_DAYS
        )
        self.trigger_topic = self._topic("TriggerTopic")
        self.process_tasks_topic = self._topic("ProcessTasksTopic")

        self.trigger = self._trigger()
        self.process_tasks = self._process_tasks()
        self.sweep = self._sweep()
        self._subscribe(self.trigger_topic, self.trigger)
        self._subscribe(self.process_tasks_topic, self.process_tasks)

        self._watch()

        cdk.CfnOutput(self, "TriggerTopicArn", value=self.trigger_topic.topic_arn)
        cdk.CfnOutput(self, "ProcessTasksTopicArn", value=self.process_tasks_topic.topic_arn)
        cdk.CfnOutput(self, "TriggerFunctionName", value=self.trigger.function_name)
        cdk.CfnOutput(self, "ProcessTasksFunctionName", value=self.process_tasks.function_name)
        cdk.CfnOutput(self, "SweepFunctionName", value=self.sweep.function_name)

    def _topic(self, construct_id: str) -> sns.Topic:
        return sns.Topic(self, construct_id, enforce_ssl=True, master_key=self._key)

    def _subscribe(self, topic: sns.Topic, function: lambda_.IFunction) -> None:
        """With a queue for kicks that SNS could not hand over to Lambda at all."""
        topic.add_subscription(
            subscriptions.LambdaSubscription(function, dead_letter_queue=self.dead_letters)
        )

    def _function(
        self,
        construct_id: str,
        *,
        package: str,
        description: str,
        variables: dict[str, str],
        timeout_seconds: int,
        dead_letters: sqs.IQueue | None = None,
        memory_mb: int = 256,
        reserved_concurrency: int | None = None,
        recursive_loop: lambda_.RecursiveLoop | None = None,
    ) -> QueueFunction:
        return QueueFunction(
            self,
            construct_id,
            stage=self._stage,
            key=self._key,
            asset=self._asset,
            handler=f"functions.{package}.handler.handle",
            description=description,
            environment={
                **environment.of_queue(self._state.table.table_name, self._stage.lifetimes),
                **variables,
            },
            timeout_seconds=timeout_seconds,
            invocation=self._stage.async_invocation,
            dead_letters=dead_letters or self.dead_letters,
            memory_mb=memory_mb,
            reserved_concurrency=reserved_concurrency,
            recursive_loop=recursive_loop,
        )

    def _trigger(self) -> QueueFunction:
        function = self._function(
            "TriggerFunction",
            package="trigger",
            description="Turns changes of the table into kicks, and counts what was shed",
            variables={Variable.PROCESS_TOPIC.value: self.process_tasks_topic.topic_arn},
            timeout_seconds=TRIGGER_TIMEOUT_SECONDS,
            # The tail call is a loop on purpose; Lambda would cut it after about 16 rounds.
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
        )
        function.allow(["sns:Publish"], self.process_tasks_topic.topic_arn)
        self._follow_stream(function)
        return function

    def _follow_stream(self, function: QueueFunction) -> None:
        table = self._state.table
        stream_arn = table.table_stream_arn
        if stream_arn is None:
            raise ValueError("The table has no stream: nothing would wake the queue.")
        function.allow(
            ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"],
            stream_arn,
        )
        # Lambda looks for the table's streams before it reads one.
        function.allow(["dynamodb:ListStreams"], f"{table.table_arn}/stream/*")
        acknowledge(
            function.execution_role,
            f"IAM5[Resource::{import_of(self._state, table.table_arn)}/stream/*]",
            "ListStreams asks for all streams of the one table; it shows no data.",
        )
        stream = self._stage.stream
        lambda_.CfnEventSourceMapping(
            function,
            "TableStream",
            function_name=function.function_name,
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
            maximum_batching_window_in_seconds=stream.batching_window_seconds,
            # By default a record that fails blocks its shard for a day.
            maximum_retry_attempts=stream.retry_attempts,
            maximum_record_age_in_seconds=stream.max_record_age_seconds,
            bisect_batch_on_function_error=True,
            function_response_types=["ReportBatchItemFailures"],
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(
                    destination=self.dead_letters.queue_arn
                )
            ),
        )

    def _process_tasks(self) -> QueueFunction:
        function = self._function(
            "ProcessTasksFunction",
            package="process_tasks",
            description="Claims the newest waiting tasks and runs them",
            variables={
                Variable.TRIGGER_TOPIC.value: self.trigger_topic.topic_arn,
                **environment.of_worker(self._stage.worker),
                **self._stage.task_environment,
            },
            timeout_seconds=self._stage.processor_timeout_seconds,
            dead_letters=self.spare_kicks,
            memory_mb=self._stage.processor_memory_mb,
            # What protects the downstream: no more processors than this, however many kicks.
            reserved_concurrency=self._stage.processor_concurrency,
            # The tail call is a loop on purpose; Lambda would cut it after about 16 rounds.
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
        )
        function.allow(["dynamodb:Query"], *self._index_arns())
        function.allow(
            ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"],
            self._state.table.table_arn,
        )
        function.allow(["sns:Publish"], self.trigger_topic.topic_arn)
        return function

    def _sweep(self) -> QueueFunction:
        function = self._function(
            "SweepFunction",
            package="sweep",
            description="Returns expired leases and due tasks, replaces lost kicks, takes stock",
            variables={
                Variable.PROCESS_TOPIC.value: self.process_tasks_topic.topic_arn,
                **environment.of_worker(self._stage.worker),
            },
            timeout_seconds=SWEEP_TIMEOUT_SECONDS,
        )
        function.allow(["dynamodb:Query"], *self._index_arns())
        function.allow(
            ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:UpdateItem"],
            self._state.table.table_arn,
        )
        function.allow(["sns:Publish"], self.process_tasks_topic.topic_arn)
        minutes = self._stage.sweep_minutes
        Invocation(
            self,
            "SweepSchedule",
            target_arn=function.function_arn,
            action="lambda:InvokeFunction",
            expression=f"rate({minutes} minute{'' if minutes == 1 else 's'})",
            description=f"lifoq {self._stage.name}: sweep",
            dead_letters=self.dead_letters,
            key=self._key,
            max_event_age_seconds=minutes * MINUTE,
        )
        return function

    def _watch(self) -> None:
        functions = {
            "trigger": self.trigger,
            "processor": self.process_tasks,
            "sweep": self.sweep,
        }
        board = AlarmBoard(self, "Alarms", topic=self._state.alarm_topic)
        board.add_dead_letter_alarm(self.dead_letters)
        board.add_function_alarms(list(functions.values()))
        board.add_unlimited_function_alarms([self.trigger, self.sweep])
        add_queue_alarms(
            board,
            stage=self._stage,
            table=self._state.table,
            trigger=self.trigger,
            process_tasks=self.process_tasks,
            trigger_topic=self.trigger_topic,
        )
        QueueDashboard(
            self,
            "Overview",
            stage=self._stage,
            table=self._state.table,
            functions=functions,
            topics={"processor": self.process_tasks_topic, "trigger": self.trigger_topic},
            queues={"dead letters": self.dead_letters, "spare kicks": self.spare_kicks},
        )
        save_queries(
            self,
            stage_name=self._stage.name,
            log_groups=[function.logs for function in functions.values()],
        )

    def _index_arns(self) -> list[str]:
        table_arn = self._state.table.table_arn
        return [
            f"{table_arn}/index/{index}"
            for index in (schema.STATUS_CREATED_INDEX, schema.DUE_INDEX)
        ]
