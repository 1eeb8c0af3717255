"""Recurring tasks, and load for trials."""

import aws_cdk as cdk
from constructs import Construct

from lifoq_cdk import AsyncInvocation, Load, QueueGenerator, RecurringTask
from stacks import config
from stacks.config import StageConfig
from stacks.queue import QueueStack


class GeneratorStack(cdk.Stack):
    """The generator of the queue that ``queue`` deploys."""

    def __init__(
        self, scope: Construct, construct_id: str, *, stage: StageConfig, queue: QueueStack
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"lifoq {stage.name}: recurring tasks and load",
            termination_protection=stage.protected,
        )
        generator = QueueGenerator(
            self,
            "Default",
            queue=queue.queue,
            recurring=[
                RecurringTask(
                    name=schedule.name,
                    task_type=schedule.task_type,
                    payload=schedule.payload,
                    schedule=schedule.expression,
                    time_zone=schedule.time_zone,
                )
                for schedule in stage.schedules
            ],
            load=_load(stage.load) if stage.load else None,
            asynchronous=AsyncInvocation(
                max_event_age=cdk.Duration.seconds(stage.schedule_invocation.max_event_age_seconds),
                retry_attempts=stage.schedule_invocation.retry_attempts,
            ),
        )
        cdk.CfnOutput(self, "CreateTasksFunctionName", value=generator.create_tasks.function_name)
        if generator.load_schedule:
            name = generator.load_schedule.schedule_name
            cdk.CfnOutput(self, "LoadScheduleName", value=name)


def _load(load: config.Load) -> Load:
    return Load(
        task_type=load.task_type,
        payload=load.payload,
        profile=load.profile,
        tasks_per_second=load.tasks_per_second,
        peak_tasks_per_second=load.peak_tasks_per_second,
        period=cdk.Duration.seconds(load.period_seconds) if load.period_seconds else None,
        seconds=load.seconds,
        enabled=load.enabled,
    )
