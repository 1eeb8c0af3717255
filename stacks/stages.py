"""The stages: ``-c stage=NAME`` chooses one. Change them, and add your own beside them.

A stage is one queue with everything around it. Two of them share nothing, and can live side by side
in one account and region. What a queue can be told: docs/constructs.md.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_logs as logs

from lifoq.targets.https import HttpsTarget
from lifoq.worker.handlers.backoff import Backoff
from lifoq_cdk import LifoQueue, Load, QueueGenerator, QueueReports
from stacks.stage import Stage, task_code


def dev(app: cdk.App) -> None:
    """For trying things out: nothing is protected. Its load is switched off."""
    stage = Stage(app, "dev", tags={"environment": "development"})
    queue = LifoQueue(
        stage.stack("queue", "trigger, processor and sweep"),
        "Default",
        queue_name="dev",
        state=stage.state(),
        tasks=task_code(),
        log_retention=logs.RetentionDays.ONE_WEEK,
    )
    QueueGenerator(
        stage.stack("generator", "recurring tasks and load"),
        "Default",
        queue=queue,
        load=Load(task_type="greet", payload="world", tasks_per_second=5, enabled=False),
    )


def prod(app: cdk.App) -> None:
    """For production: what holds data is kept and protected; with hourly exports and reports."""
    stage = Stage(app, "prod", protected=True, tags={"environment": "production"})
    queue = LifoQueue(
        stage.stack("queue", "trigger, processor and sweep"),
        "Default",
        queue_name="prod",
        state=stage.state(),
        tasks=task_code(),
        log_retention=logs.RetentionDays.THREE_MONTHS,
    )
    QueueGenerator(stage.stack("generator", "recurring tasks and load"), "Default", queue=queue)
    QueueReports(stage.stack("analytics", "exports and the report on them"), "Default", queue=queue)


def demo(app: cdk.App) -> None:
    """For ``make demo`` on one machine: deadlines in seconds. ``-c downstream=URL``: the service
    that its tasks ask."""
    stage = Stage(app, "demo", tags={"environment": "demonstration"})
    downstream = app.node.try_get_context("downstream") or "http://localhost:8055/work"
    seconds = cdk.Duration.seconds
    queue = LifoQueue(
        stage.stack("queue", "trigger, processor and sweep"),
        "Default",
        queue_name="demo",
        state=stage.state(),
        tasks=task_code(),
        targets={
            "device.check": HttpsTarget(
                url=downstream, timeout=5, allowed_networks=("127.0.0.0/8", "::1/128")
            )
        },
        deadline=seconds(10),
        window=seconds(12),
        task_timeout=seconds(5),
        lease=seconds(6),
        heartbeat=seconds(2),
        in_flight=4,
        backoff=Backoff(min_seconds=0.5, max_seconds=5),
        log_retention=logs.RetentionDays.ONE_DAY,
    )
    QueueGenerator(
        stage.stack("generator", "recurring tasks and load"),
        "Default",
        queue=queue,
        load=Load(
            task_type="device.check",
            payload={"device": "demo"},
            tasks_per_second=5,
            enabled=False,
        ),
    )


DEFAULT: Final = "dev"
STAGES: Final[Mapping[str, Callable[[cdk.App], None]]] = MappingProxyType(
    {stage.__name__: stage for stage in (dev, prod, demo)}
)
