"""A stage that has everything that a queue can be told, none of it at its default."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

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
from lifoq.worker.backoff import Backoff
from lifoq_cdk import (
    AlarmThresholds,
    AsyncInvocation,
    BrokerQueue,
    HttpsTarget,
    LifoQueue,
    Load,
    LongTasks,
    QueueApi,
    QueueGenerator,
    QueueIngest,
    QueueReports,
    RecurringTask,
    StreamReading,
    TaskEvents,
    WorkerScaling,
)
from lifoq_cdk.ingest import Source
from stacks.stage import Stage, task_code

HERE: Final = "eu-west-1:123456789012"


def properties() -> dict[str, Any]:
    """The properties of ``LifoQueue``, but for what others give it: name, state, task code."""
    seconds = cdk.Duration.seconds
    return {
        "targets": {
            "price.refresh": HttpsTarget(
                url="https://shop.example.com/refresh",
                secret_headers={"Authorization": "shop/token"},
            )
        },
        "deadline": seconds(7200),
        "success_retention": cdk.Duration.days(1),
        "failure_retention": cdk.Duration.days(30),
        "window": seconds(50),
        "task_timeout": seconds(50),
        "lease": seconds(60),
        "heartbeat": seconds(20),
        "in_flight": 9,
        "max_attempts": 3,
        "backoff": Backoff(growth="linear", min_seconds=2),
        "rate_limit_per_second": 12.5,
        "adaptive_threshold": seconds(90.5),
        "shared_limits": True,
        "total_in_flight": 40,
        "fair_share": True,
        "types_elsewhere": ["video.cut"],
        "unknown_types": "fail",
        "processor_concurrency": 2,
        "sweep_interval": cdk.Duration.minutes(2),
        "events": TaskEvents(topic=True, step_functions=True, shed_at_deadline=True),
        "stream": StreamReading(batch_size=10),
        "kicks": AsyncInvocation(max_event_age=seconds(120), retry_attempts=0),
        "alarm_thresholds": AlarmThresholds(shed_per_minute=7),
        "log_retention": logs.RetentionDays.ONE_WEEK,
        "tracing": lambda_.Tracing.ACTIVE,
    }


def numbers() -> set[str]:
    """Properties that decide about no resource."""
    return {
        name
        for name, value in properties().items()
        if isinstance(value, int | float | cdk.Duration) and not isinstance(value, bool)
    }


STATES_OWN: Final = {"large_payloads", "alarm_topic", "encryption_key", "removal_policy"}
"""Properties that a queue with a state of its own refuses."""
GIVEN: Final = {"self", "scope", "construct_id", "queue_name", "state", "tasks"}


@dataclass(frozen=True)
class Everything:
    """What is switched on. ``properties``: of the queue itself, by name; None: all."""

    properties: Mapping[str, Any] | None = None
    key: bool = True
    email: bool = True
    large_payloads: bool = True
    environment: bool = True
    secrets: bool = True
    memory: bool = True
    recurring: bool = True
    load: bool = True
    producers: bool = True
    ingest: bool = True
    existing_sources: bool = True
    """Queue, topic and broker, which must be there."""
    api: bool = True
    long_tasks: bool = True
    spot: bool = True
    reports: bool = True
    protected: bool = True
    tags: bool = True

    def but(self, *off: str) -> "Everything":
        """Without these: switches, or properties of the queue."""
        switches = {one.name for one in fields(self)} & {*off}
        kept = properties() if self.properties is None else self.properties
        return replace(
            self,
            properties={name: value for name, value in kept.items() if name not in off},
            **dict.fromkeys(switches, False),
        )

    def with_default_numbers(self) -> "Everything":
        """But for a deadline that is longer than a schedule can try."""
        optional = {"rate_limit_per_second", "adaptive_threshold", "total_in_flight"}
        off = {*numbers(), "backoff", "stream", "kicks", "log_retention"} - optional
        plain = self.but(*off)
        week = {"deadline": cdk.Duration.days(7)}
        return replace(plain, properties={**(plain.properties or {}), **week})

    def stage(self, name: str = "all") -> Callable[[cdk.App], None]:
        def build(app: cdk.App) -> None:
            self._build(Stage(app, name, protected=self.protected, tags=self._tags), name)

        return build

    @property
    def _tags(self) -> dict[str, str]:
        return {"team": "pictures"} if self.tags else {}

    def _build(self, stage: Stage, name: str) -> None:
        key = stage.key() if self.key else None
        state = stage.state(
            encryption_key=key,
            alarm_email="operators@example.com" if self.email else None,
            large_payload_retention=cdk.Duration.days(90) if self.large_payloads else None,
        )
        stack = stage.stack("queue", "trigger, processor and sweep")
        needs: dict[str, Any] = {"memory_size": 1024} if self.memory else {}
        if self.environment:
            needs["environment"] = {"DOWNSTREAM_URL": "https://downstream.example.com"}
        if self.secrets:
            needs["secrets"] = {"DOWNSTREAM_KEY": _secret(stack, "downstream/key")}
        queue = LifoQueue(
            stack,
            "Default",
            queue_name=name,
            state=state,
            tasks=task_code(**needs),
            **(properties() if self.properties is None else self.properties),
        )
        if self.producers:
            queue.grant_put(iam.ArnPrincipal("arn:aws:iam::210987654321:role/producer"))
        if self.ingest:
            _ingest(stack, queue, existing=self.existing_sources)
        if self.api:
            QueueApi(stack, "Api", queue=queue, requests_per_second=7, burst=9)
        if self.long_tasks:
            images = ecr.Repository.from_repository_name(stack, "Images", "videos")
            LongTasks(
                stack,
                "Encoders",
                queue=queue,
                types=["video.encode"],
                image=ecs.ContainerImage.from_ecr_repository(images, "v1"),
                scaling=WorkerScaling(max_workers=3),
                spot=self.spot,
            )
        _generator(stage, queue, recurring=self.recurring, load=self.load)
        if self.reports:
            QueueReports(
                stage.stack("analytics", "exports and the report on them"),
                "Default",
                queue=queue,
                window=cdk.Duration.minutes(30),
            )


def _generator(stage: Stage, queue: LifoQueue, *, recurring: bool, load: bool) -> None:
    nightly = RecurringTask(
        name="nightly",
        task_type="device.check",
        payload={"device": "all"},
        schedule="cron(0 3 * * ? *)",
        time_zone="Europe/Berlin",
    )
    sine = Load(
        task_type="device.check",
        profile="sine",
        tasks_per_second=1,
        peak_tasks_per_second=30,
        period=cdk.Duration.seconds(600),
        enabled=False,
    )
    QueueGenerator(
        stage.stack("generator", "recurring tasks and load"),
        "Default",
        queue=queue,
        recurring=[nightly] if recurring else [],
        load=sine if load else None,
    )


def _ingest(stack: cdk.Stack, queue: LifoQueue, *, existing: bool) -> None:
    sources: list[Source] = [
        events.Rule(
            stack,
            "Created",
            event_pattern=events.EventPattern(
                detail_type=["order.created"], detail={"state": ["new"]}
            ),
        )
    ]
    if existing:
        sources += [
            sqs.Queue.from_queue_arn(stack, "Orders", f"arn:aws:sqs:{HERE}:orders.fifo"),
            sns.Topic.from_topic_arn(stack, "News", f"arn:aws:sns:{HERE}:news"),
            BrokerQueue(
                broker_arn=f"arn:aws:mq:{HERE}:broker:old:b-1",
                queue_name="orders",
                login=_secret(stack, "broker/login"),
                virtual_host="/",
            ),
        ]
    QueueIngest(
        stack,
        "Ingest",
        queue=queue,
        sources=sources,
        mapping=IngestMapping(task_type="'order.ship'", payload="body.order"),
    )


def _secret(scope: Construct, name: str) -> secretsmanager.ISecret:
    return secretsmanager.Secret.from_secret_name_v2(scope, f"Secret-{name}", name)
