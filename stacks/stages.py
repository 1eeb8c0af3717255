"""The stages: ``-c stage=NAME`` chooses one. Change them, and add your own beside them.

A stage is one queue with everything around it. Two of them share nothing, and can live side by side
in one account and region. What a queue can be told: docs/constructs.md.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_logs as logs

from lifoq_cdk import LifoQueue, Load, QueueGenerator, QueueReports
from stacks.stage import Stage, task_code


def dev(app: cdk.App) -> None:
    """Build the stage for trying things out: nothing is protected. Its load is switched off."""
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
    """Build the stage for production, with hourly exports and reports. Tables and buckets are kept
    and protected."""
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


DEFAULT: Final = "dev"
STAGES: Final[Mapping[str, Callable[[cdk.App], None]]] = MappingProxyType(
    {stage.__name__: stage for stage in (dev, prod)}
)
