"""What works on the table."""

from dataclasses import replace
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq.ingest.mapping import IngestMapping
from lifoq_cdk import (
    AlarmThresholds,
    AsyncInvocation,
    BrokerQueue,
    LifoQueue,
    LongTasks,
    QueueApi,
    QueueIngest,
    StreamReading,
    TaskCode,
    TaskEvents,
)
from lifoq_cdk.asset import Asset
from lifoq_cdk.findings import accept_secret
from stacks import config
from stacks.config import Api, Ingest, LogRetentionDays, StageConfig
from stacks.state import StateStack

TASKS: Final = "functions.tasks"
"""Where this repository keeps task code."""
RETENTION: Final[dict[LogRetentionDays, logs.RetentionDays]] = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
    731: logs.RetentionDays.TWO_YEARS,
}


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
        self.queue = self._queue(stage, asset, state)
        for role_arn in stage.producer_role_arns:
            self.queue.grant_put(iam.ArnPrincipal(role_arn))
        self.ingest = self._ingest(stage.ingest) if stage.ingest else None
        self.api = self._api(stage.api) if stage.api else None
        for name, settings in stage.long_tasks.items():
            self._long_tasks(name, settings)
        queue = self.queue
        cdk.CfnOutput(self, "TriggerTopicArn", value=queue.trigger_topic.topic_arn)
        cdk.CfnOutput(self, "ProcessTasksTopicArn", value=queue.process_tasks_topic.topic_arn)
        cdk.CfnOutput(self, "TriggerFunctionName", value=queue.trigger.function_name)
        cdk.CfnOutput(self, "ProcessTasksFunctionName", value=queue.processor.function_name)
        cdk.CfnOutput(self, "SweepFunctionName", value=queue.sweep.function_name)
        if stage.events and stage.events.topic:
            cdk.CfnOutput(self, "TaskEventsTopicArn", value=queue.events_topic.topic_arn)

    def _queue(self, stage: StageConfig, asset: Asset, state: StateStack) -> LifoQueue:
        seconds, worker, lifetimes = cdk.Duration.seconds, stage.worker, stage.lifetimes
        threshold = worker.adaptive_threshold
        return LifoQueue(
            self,
            "Default",
            queue_name=stage.name,
            state=state.state,
            tasks=self._tasks(stage, asset),
            deadline=seconds(lifetimes.deadline),
            success_retention=seconds(lifetimes.success_retention),
            failure_retention=seconds(lifetimes.failure_retention),
            window=seconds(worker.window),
            task_timeout=seconds(worker.task_timeout),
            lease=seconds(worker.lease),
            heartbeat=seconds(worker.heartbeat),
            in_flight=worker.in_flight,
            page=worker.page,
            max_attempts=worker.max_attempts,
            backoff=worker.backoff,
            rate_limit_per_second=worker.rate_limit,
            adaptive_threshold=None if threshold is None else seconds(threshold),
            shared_limits=stage.shared_limits,
            total_in_flight=worker.total_in_flight,
            fair_share=worker.fair_share,
            types_elsewhere=worker.types_elsewhere,
            unknown_types=worker.unknown_types,
            processor_concurrency=stage.processor_concurrency,
            sweep_interval=cdk.Duration.minutes(stage.sweep_minutes),
            events=TaskEvents(**stage.events.model_dump()) if stage.events else None,
            stream=StreamReading(
                batch_size=stage.stream.batch_size,
                max_batching_window=seconds(stage.stream.batching_window_seconds),
                retry_attempts=stage.stream.retry_attempts,
                max_record_age=seconds(stage.stream.max_record_age_seconds),
            ),
            kicks=AsyncInvocation(
                max_event_age=seconds(stage.async_invocation.max_event_age_seconds),
                retry_attempts=stage.async_invocation.retry_attempts,
            ),
            alarm_thresholds=AlarmThresholds(
                oldest_waiting_percent_of_deadline=stage.alarms.oldest_waiting_percent_of_deadline,
                shed_per_minute=stage.alarms.shed_per_minute,
                failures_per_minute=stage.alarms.failures_per_minute,
                idle_rounds_per_minute=stage.alarms.idle_rounds_per_minute,
                iterator_age=seconds(stage.alarms.iterator_age_seconds),
            ),
            log_retention=RETENTION[stage.log_retention_days],
            tracing=lambda_.Tracing.ACTIVE if stage.tracing else lambda_.Tracing.DISABLED,
        )

    def _tasks(self, stage: StageConfig, asset: Asset) -> TaskCode:
        secrets = {
            variable: secretsmanager.Secret.from_secret_name_v2(self, f"Secret-{variable}", name)
            for variable, name in stage.task_secrets.items()
        }
        return TaskCode(
            asset,
            module=TASKS,
            environment=stage.task_environment,
            secrets=secrets,
            targets={name: target.as_library() for name, target in stage.targets.items()},
            memory_size=stage.processor_memory_mb,
        )

    def _ingest(self, settings: Ingest) -> QueueIngest:
        queues = [
            sqs.Queue.from_queue_arn(self, f"SourceQueue{number}", arn)
            for number, arn in enumerate(settings.queue_arns)
        ]
        topics = [
            sns.Topic.from_topic_arn(self, f"SourceTopic{number}", arn)
            for number, arn in enumerate(settings.topic_arns)
        ]
        rules = [
            events.Rule(
                self,
                f"SourceRule{number}",
                event_pattern=events.EventPattern(
                    source=one.source or None,
                    detail_type=one.detail_type or None,
                    detail=one.detail or None,
                ),
            )
            for number, one in enumerate(settings.events)
        ]
        brokers = [
            BrokerQueue(
                broker_arn=one.arn,
                queue_name=one.queue,
                login=secretsmanager.Secret.from_secret_name_v2(
                    self, f"SourceBroker{number}", one.secret
                ),
                virtual_host=one.virtual_host,
            )
            for number, one in enumerate(settings.brokers)
        ]
        ingest = QueueIngest(
            self,
            "Ingest",
            queue=self.queue,
            sources=[*queues, *topics, *rules, *brokers],
            mapping=IngestMapping(**settings.mapping.model_dump()),
        )
        cdk.CfnOutput(self, "IngestFunctionName", value=ingest.ingest.function_name)
        return ingest

    def _api(self, settings: Api) -> QueueApi:
        api = QueueApi(
            self,
            "Api",
            queue=self.queue,
            requests_per_second=settings.requests_per_second,
            burst=settings.burst,
        )
        cdk.CfnOutput(self, "ApiFunctionName", value=api.function.function_name)
        cdk.CfnOutput(self, "ApiUrl", value=api.url)
        return api

    def _long_tasks(self, name: str, settings: config.LongTasks) -> None:
        queue, tasks = self.queue, self.queue.tasks
        repository = ecr.Repository.from_repository_name(
            self, f"Repository-{name}", settings.repository
        )
        names = {variable: secret.secret_name for variable, secret in tasks.secrets.items()}
        wait = settings.longest_wait_seconds
        workers = LongTasks(
            self,
            name,
            queue=queue,
            types=settings.types,
            image=ecs.ContainerImage.from_ecr_repository(repository, settings.tag),
            scaling=replace(
                settings.scaling(),
                longest_wait=None if wait is None else cdk.Duration.seconds(wait),
            ),
            cpu=settings.cpu,
            memory_limit_mib=settings.memory_mb,
            spot=settings.spot,
            environment={**tasks.environment, **names},
        )
        for secret in tasks.secrets.values():
            secret.grant_read(workers.task_role)
            accept_secret(workers, secret)
