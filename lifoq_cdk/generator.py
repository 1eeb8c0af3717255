"""The scheduled generator: recurring tasks, and load for trials."""

from typing import Final

import aws_cdk as cdk
from constructs import Construct

from lifoq import environment
from lifoq_cdk.alarms import AlarmBoard
from lifoq_cdk.asset import Asset
from lifoq_cdk.dead_letters import DeadLetters
from lifoq_cdk.function import QueueFunction
from lifoq_cdk.schedule import Invocation
from lifoq_cdk.state import StateStack
from stacks.config import MINUTE, Load, Schedule, StageConfig

LOAD_EXPRESSION: Final = "rate(1 minute)"
SCHEDULED_TIME: Final = "<aws.scheduler.scheduled-time>"
"""EventBridge Scheduler puts the time of the invocation in its place."""


class GeneratorStack(cdk.Stack):
    """``CreateTasksFunction`` and the schedules that run it."""

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
            description=f"lifoq {stage.name}: recurring tasks and load",
            termination_protection=stage.protected,
        )
        self._stage = stage
        self._key = state.key
        self.dead_letters = DeadLetters(self, "DeadLetters", key=self._key, retention_days=14)
        self.create_tasks = QueueFunction(
            self,
            "CreateTasksFunction",
            stage=stage,
            key=self._key,
            asset=asset,
            handler="functions.create_tasks.handler.handle",
            description="Puts recurring tasks, and makes load",
            environment=environment.of_queue(state.table.table_name, stage.lifetimes),
            timeout_seconds=stage.generator_timeout_seconds,
            invocation=stage.schedule_invocation,
            dead_letters=self.dead_letters,
        )
        self.create_tasks.allow(
            ["dynamodb:BatchWriteItem", "dynamodb:PutItem"],
            state.table.table_arn,
        )
        board = AlarmBoard(self, "Alarms", topic=state.alarm_topic)
        board.add_dead_letter_alarm(self.dead_letters)
        board.add_function_alarms([self.create_tasks])
        board.add_unlimited_function_alarms([self.create_tasks])
        for schedule in stage.schedules:
            self._recurring(schedule)
        cdk.CfnOutput(self, "CreateTasksFunctionName", value=self.create_tasks.function_name)
        if stage.load:
            load = self._load(stage.load)
            cdk.CfnOutput(self, "LoadScheduleName", value=load.schedule_name)

    def _recurring(self, schedule: Schedule) -> None:
        Invocation(
            self,
            f"Schedule-{schedule.name}",
            target_arn=self.create_tasks.function_arn,
            action="lambda:InvokeFunction",
            expression=schedule.expression,
            time_zone=schedule.time_zone,
            description=f"lifoq {self._stage.name}: {schedule.name}",
            # The id makes it one task, however often the invocation is repeated.
            event={
                "taskType": schedule.task_type,
                "payload": schedule.payload,
                "taskId": f"{schedule.name}-{SCHEDULED_TIME}",
            },
            dead_letters=self.dead_letters,
            key=self._key,
            max_event_age_seconds=max(MINUTE, round(self._stage.deadline_seconds)),
        )

    def _load(self, load: Load) -> Invocation:
        return Invocation(
            self,
            "LoadSchedule",
            target_arn=self.create_tasks.function_arn,
            action="lambda:InvokeFunction",
            expression=LOAD_EXPRESSION,
            description=f"lifoq {self._stage.name}: load",
            event=load.event(),
            dead_letters=self.dead_letters,
            key=self._key,
            max_event_age_seconds=MINUTE,
            enabled=load.enabled,
        )
