"""A stage that has everything that a queue can be told, none of it at its default."""

from collections.abc import Callable, Collection
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
from lifoq.worker.handlers.backoff import Backoff
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
STATES_OWN: Final = {"large_payloads", "alarm_topic", "encryption_key", "removal_policy"}
"""Properties that a queue with a state of its own refuses."""
GIVEN: Final = {"self", "scope", "construct_id", "queue_name", "state", "tasks"}
SWITCHES: Final = {
    *("key", "email", "large_payloads", "environment", "secrets", "memory", "recurring", "load"),
    *("producers", "ingest", "existing_sources", "api", "long_tasks", "spot", "reports"),
    *("protected", "tags"),
}
"""The switches beside the properties of the queue itself. ``existing_sources``: queue, topic and
broker, which must be there."""


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
        "schedules": True,
        "stream": StreamReading(batch_size=10),
        "kicks": AsyncInvocation(max_event_age=seconds(120), retry_attempts=0),
        "alarm_thresholds": AlarmThresholds(begun_in_time=0.97, fewest_shed=7),
        "detailed_monitoring": True,
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


def plain(*off: str) -> Callable[[cdk.App], None]:
    """Return a stage like ``prod`` with all defaults that decide about no resource; but for a
    deadline that is longer than a schedule can try."""
    optional = {"rate_limit_per_second", "adaptive_threshold", "total_in_flight"}
    at_default = {*numbers(), "backoff", "stream", "kicks", "log_retention"} - optional
    return everything("prod", off={*at_default, *off}, deadline=cdk.Duration.days(7))


def everything(
    name: str = "all", *, off: Collection[str] = (), **others: Any
) -> Callable[[cdk.App], None]:
    """``off``: switches, or properties of the queue. ``others``: properties with other values."""

    def build(app: cdk.App) -> None:
        tags = {} if "tags" in off else {"team": "pictures"}
        put_everything(Stage(app, name, protected="protected" not in off, tags=tags), off, **others)

    return build


def put_everything(stage: Stage, off: Collection[str] = (), **others: Any) -> None:
    on = SWITCHES.difference(off)
    state = stage.state(
        encryption_key=stage.key() if "key" in on else None,
        alarm_email="operators@example.com" if "email" in on else None,
        large_payload_retention=cdk.Duration.days(90) if "large_payloads" in on else None,
    )
    stack = stage.stack("queue", "trigger, processor and sweep")
    needs: dict[str, Any] = {"memory_size": 1024} if "memory" in on else {}
    if "environment" in on:
        needs["environment"] = {"DOWNSTREAM_URL": "https://downstream.example.com"}
    if "secrets" in on:
        needs["secrets"] = {"DOWNSTREAM_KEY": _secret(stack, "downstream/key")}
    kept = {name: value for name, value in properties().items() if name not in off}
    queue = LifoQueue(
        stack,
        "Default",
        queue_name=stage.name,
        state=state,
        tasks=task_code(**needs),
        **kept | others,
    )
    if "producers" in on:
        queue.grant_put(iam.ArnPrincipal("arn:aws:iam::210987654321:role/producer"))
        if "schedules" not in off:
            queue.grant_schedule(queue.processor)
    if "ingest" in on:
        _ingest(stack, queue, existing="existing_sources" in on)
    if "api" in on:
        QueueApi(stack, "Api", queue=queue, requests_per_second=7, burst=9)
    if "long_tasks" in on:
        images = ecr.Repository.from_repository_name(stack, "Images", "videos")
        LongTasks(
            stack,
            "Encoders",
            queue=queue,
            types=["video.encode"],
            image=ecs.ContainerImage.from_ecr_repository(images, "v1"),
            scaling=WorkerScaling(max_workers=3),
            spot="spot" in on,
        )
    _generator(stage, queue, recurring="recurring" in on, load="load" in on)
    if "reports" in on:
        analytics = stage.stack("analytics", "exports and the report on them")
        QueueReports(analytics, "Default", queue=queue, window=cdk.Duration.minutes(30))


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
