"""What brings back, every minute, whatever fell by the wayside; and takes stock."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq.environment import Variable
from lifoq.errors import InvalidInput
from lifoq_cdk.function import AsyncInvocation, Surroundings
from lifoq_cdk.limits import MOST_SWEEP_MINUTES
from lifoq_cdk.schedule import Invocation
from lifoq_cdk.task_function import TaskFunction, Work

TIMEOUT: Final = cdk.Duration.seconds(60)


class Sweep(TaskFunction):
    """Returns expired leases and due tasks, replaces lost kicks, measures the queue.

    It imports the task code, for the types' own numbers of attempts, and runs none of it: so it has
    the code's environment and layers, and none of its permissions.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        surroundings: Surroundings,
        work: Work,
        process_topic: sns.ITopic,
        minutes: int,
        asynchronous: AsyncInvocation,
        dead_letters: sqs.IQueue,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            surroundings=surroundings,
            name="sweep",
            description="Returns expired leases and due tasks, replaces lost kicks, takes stock",
            work=work,
            actions=["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:UpdateItem"],
            kicks=Variable.PROCESS_TOPIC,
            topic=process_topic,
            timeout=TIMEOUT,
            dead_letters=dead_letters,
            asynchronous=asynchronous,
            **work.tasks.loading(),
        )
        if work.lifetimes.sweep_sheds:
            self.allow(["dynamodb:DeleteItem"], work.state.table.table_arn)
        schedule = Invocation(
            scope,
            "SweepSchedule",
            target_arn=self.function_arn,
            action="lambda:InvokeFunction",
            expression=f"rate({minutes} minute{'' if minutes == 1 else 's'})",
            description=f"lifoq {surroundings.queue_name}: sweep",
            dead_letters=dead_letters,
            max_event_age=cdk.Duration.minutes(minutes),
        )
        self.schedule_name = schedule.schedule_name


def whole_minutes(interval: cdk.Duration) -> int:
    """Raises ``InvalidInput`` where a schedule could not keep the interval."""
    minutes = interval.to_minutes(integral=False)
    if minutes != round(minutes) or not 1 <= minutes <= MOST_SWEEP_MINUTES:
        raise InvalidInput(
            "sweep_interval", interval.to_human_string(), "must be whole minutes, 1 to 60"
        )
    return round(minutes)
