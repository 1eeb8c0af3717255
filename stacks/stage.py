"""The parts of a stage: stacks of its own, task code, the stacks' outputs, and their check."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns_subscriptions as subscriptions
from cdk_nag import AwsSolutionsChecks
from constructs import IConstruct

from lifoq.errors import InvalidInput
from lifoq_cdk import (
    LifoQueue,
    QueueApi,
    QueueGenerator,
    QueueState,
    TaskCode,
)

FUNCTIONS: Final = Path(__file__).resolve().parents[1] / "functions"
TASKS: Final = "functions.tasks"
"""The module of this repository's task code."""
NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,19}")


class Stage:
    """One queue with everything around it, in stacks named ``lifoq-STAGE-…``."""

    def __init__(
        self,
        app: cdk.App,
        name: str,
        *,
        protected: bool = False,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """``protected``: keep tables and buckets, whatever is deleted, and let no stack be deleted.
        ``tags``: on every resource, beside ``application`` and ``stage``. Raises ``InvalidInput``
        for a name that no stack can have."""
        if not NAME.fullmatch(name):
            problem = "must be at most 20 lower-case letters, digits and '-', a letter first"
            raise InvalidInput("stage", name, problem)
        self._app = app
        self.name = name
        self._protected = protected
        keep, destroy = cdk.RemovalPolicy.RETAIN, cdk.RemovalPolicy.DESTROY
        self._removal_policy = keep if protected else destroy
        for tag, value in {"application": "lifoq", "stage": name, **(tags or {})}.items():
            cdk.Tags.of(app).add(tag, value)

    def stack(self, part: str, holds: str) -> cdk.Stack:
        """``part``: the last word of its name. ``holds``: what CloudFormation's console says."""
        return cdk.Stack(
            self._app,
            f"lifoq-{self.name}-{part}",
            description=f"lifoq {self.name}: {holds}",
            termination_protection=self._protected,
        )

    def key(self) -> kms.Key:
        """A key of one's own, for all that holds data. It has a stack of its own, so that the
        others can drop it one by one when it is switched off; it stays as long as something is
        encrypted with it."""
        stack = self.stack("key", "the key of table, exports, topics, queues and logs")
        key = kms.Key(
            stack,
            "Key",
            description=f"lifoq {self.name}: table, exports, topics, queues and logs",
            enable_key_rotation=True,
            removal_policy=self._removal_policy,
        )
        stack.export_value(key.key_arn)
        return key

    def state(self, *, alarm_email: str | None = None, **props: Any) -> QueueState:
        """Make the stack of what must survive, apart from what changes often. ``alarm_email``: who
        is told when an alarm rings. ``props``: those of ``QueueState``."""
        state = QueueState(
            self.stack("state", "the queue's table and its exports"),
            "Default",
            deletion_protection=self._protected,
            removal_policy=self._removal_policy,
            **props,
        )
        state.keep_exports()
        if alarm_email:
            state.alarm_topic.add_subscription(subscriptions.EmailSubscription(alarm_email))
        return state


def task_code(**needs: Any) -> TaskCode:
    """Return this repository's task code, in ``functions/tasks.py``. ``needs``: what ``TaskCode``
    takes beside."""
    return TaskCode(FUNCTIONS, module=TASKS, **needs)


def build(app: cdk.App, stage: Callable[[cdk.App], None]) -> None:
    """Put a stage's stacks into ``app``, and have cdk-nag check them when it is synthesized. Raises
    ``InvalidInput`` for settings that cannot work."""
    stage(app)
    put_out(app)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks())


def put_out(app: cdk.App) -> None:
    """Have each stack tell the names that pages and programs ask it for. ``lifoq doctor`` finds all
    other parts of a queue."""
    for construct in app.node.find_all():
        for name, value in _told(construct):
            cdk.CfnOutput(cdk.Stack.of(construct), name, value=value)


def _told(construct: IConstruct) -> Iterator[tuple[str, str]]:
    match construct:
        case QueueState():
            yield "TableName", construct.table.table_name
        case LifoQueue():
            yield "TriggerFunctionName", construct.trigger.function_name
            yield "ProcessTasksFunctionName", construct.processor.function_name
            yield "SweepFunctionName", construct.sweep.function_name
            if construct.publishes_events:
                yield "TaskEventsTopicArn", construct.events_topic.topic_arn
        case QueueApi():
            yield "ApiUrl", construct.url
        case QueueGenerator():
            yield "CreateTasksFunctionName", construct.create_tasks.function_name
