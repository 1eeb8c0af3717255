"""What works through the queue: it claims the newest tasks, and runs their code."""

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq.environment import Variable
from lifoq.errors import InvalidInput
from lifoq.worker.settings import WorkerSettings
from lifoq_cdk import limits
from lifoq_cdk.access import WORK
from lifoq_cdk.function import AsyncInvocation, Surroundings
from lifoq_cdk.task_function import TaskFunction, Work


class Processor(TaskFunction):
    """Runs task code, with what it needs around it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        surroundings: Surroundings,
        work: Work,
        trigger_topic: sns.ITopic,
        concurrency: int,
        asynchronous: AsyncInvocation,
        dead_letters: sqs.IQueue,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            surroundings=surroundings,
            name="process_tasks",
            description="Claims the newest waiting tasks and runs them",
            work=work,
            actions=WORK.table,
            kicks=Variable.TRIGGER_TOPIC,
            topic=trigger_topic,
            timeout=_timeout(work.worker),
            dead_letters=dead_letters,
            asynchronous=asynchronous,
            # What protects the downstream: no more processors than this, however many kicks.
            reserved_concurrent_executions=concurrency,
            # The tail call is a loop on purpose; Lambda would cut it after about 16 rounds.
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
            **work.tasks.running(),
        )
        self.allow_objects(work.state, *WORK.objects)
        work.tasks.permit(self.execution_role)


def _timeout(worker: WorkerSettings) -> cdk.Duration:
    """Raises ``InvalidInput`` where Lambda does not let a function run so long."""
    seconds = limits.processor_timeout_seconds(
        window=worker.window, task_timeout=worker.task_timeout
    )
    if seconds > limits.LONGEST_RUN_SECONDS:
        raise InvalidInput(
            "window",
            worker.window,
            f"and the task timeout of {worker.task_timeout:g} s do not fit into the "
            f"{limits.LONGEST_RUN_SECONDS} s that Lambda gives a run: lower one until they add up "
            f"to at most {limits.LONGEST_RUN_SECONDS - limits.PROCESSOR_MARGIN_SECONDS}",
        )
    return cdk.Duration.seconds(seconds)
