"""A function that imports the task code: the processor, which runs it, and the sweep."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_sns as sns
from constructs import Construct

from lifoq import environment
from lifoq.environment import Variable
from lifoq.items.lifetimes import Lifetimes
from lifoq.worker.settings import WorkerSettings
from lifoq_cdk.function import QueueFunction
from lifoq_cdk.state import QueueState
from lifoq_cdk.task_code import TaskCode


@dataclass(frozen=True, kw_only=True)
class Work:
    """What there is to do, and how: the same for both."""

    state: QueueState
    tasks: TaskCode
    lifetimes: Lifetimes
    worker: WorkerSettings


class TaskFunction(QueueFunction):
    """Looks into the indexes, does ``actions`` to the table, and kicks by a topic."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        work: Work,
        actions: Sequence[str],
        kicks: Variable,
        topic: sns.ITopic,
        **props: Any,
    ) -> None:
        """``kicks``: the variable that tells the function its topic. ``props``: as those of
        ``QueueFunction``."""
        state, tasks = work.state, work.tasks
        super().__init__(
            scope,
            construct_id,
            environment={
                **environment.of_queue(state.table.table_name, work.lifetimes),
                **environment.of_worker(work.worker),
                kicks.value: topic.topic_arn,
                Variable.TASKS.value: tasks.imported,
                **tasks.variables,
            },
            image=tasks.image,
            **props,
        )
        self.allow(["dynamodb:Query"], *state.index_arns)
        self.allow(actions, state.table.table_arn)
        self.allow(["sns:Publish"], topic.topic_arn)
