"""A Lambda function of a queue, with everything that each of them needs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq import environment
from lifoq.environment import Variable
from lifoq.errors import InvalidInput
from lifoq.items.lifetimes import Lifetimes
from lifoq.metrics import NAMESPACE, service
from lifoq.worker.settings import WorkerSettings
from lifoq_cdk import limits
from lifoq_cdk.findings import accept, accept_wildcard, allow
from lifoq_cdk.functions import AsyncInvocation, Row
from lifoq_cdk.packaged import deployed
from lifoq_cdk.state import OBJECTS, QueueState
from lifoq_cdk.task_code import Image, TaskCode
from lifoq_project import asset
from lifoq_project.asset import Asset

NAME_BYTES: Final = 64
"""The bytes of a name that CloudFormation makes, or about as many."""
_TOKEN: Final = re.compile(r"\$\{Token\[[^]]*\]\}")


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The surroundings that all functions of a queue share."""

    queue_name: str
    state: QueueState
    tasks: TaskCode
    lifetimes: Lifetimes
    worker: WorkerSettings
    log_retention: logs.RetentionDays
    tracing: lambda_.Tracing
    detailed_metrics: bool
    """True if functions send metrics that are 0, too."""

    @cached_property
    def package(self) -> Asset:
        return self.tasks.package()

    def log_group(
        self, scope: Construct, construct_id: str, name: str | None = None
    ) -> logs.LogGroup:
        """Make a log group. A function without one of its own makes one that keeps everything for
        ever. ``name``: where it must have one; then it goes with its stack, or it would be in the
        way of the next."""
        kept = cdk.RemovalPolicy.DESTROY if name else self.state.removal_policy
        return logs.LogGroup(
            scope,
            construct_id,
            log_group_name=name,
            retention=self.log_retention,
            encryption_key=self.state.encryption_key,
            removal_policy=kept,
        )

    def environment(self, row: Row, topic: sns.ITopic | None) -> dict[str, str]:
        told: dict[str, str] = {}
        if row.table:
            told |= environment.of_queue(self.state.table.table_name, self.lifetimes)
        if row.task_code:
            told |= environment.of_worker(self.worker)
        if row.kicks and topic:
            told[row.kicks.value] = topic.topic_arn
        if row.task_code:
            told |= {Variable.TASKS.value: self.tasks.imported, **self.tasks.variables}
        if self.detailed_metrics:
            told[Variable.DETAILED_METRICS.value] = "true"
        return told

    def props(self, row: Row) -> dict[str, Any]:
        """Lambda's."""
        if row.task_code == "runs":
            return self.tasks.running()
        if row.task_code == "imports":
            return self.tasks.loading()
        return {"architecture": self.tasks.architecture}


class QueueFunction(lambda_.Function):
    """One of the table of functions: own log group, own role, and a place for events that it failed
    on."""

    def __init__(
        self,
        scope: Construct,
        row: Row,
        *,
        surroundings: Surroundings,
        dead_letters: sqs.IQueue,
        topic: sns.ITopic | None = None,
        timeout: cdk.Duration | None = None,
        asynchronous: AsyncInvocation | None = None,
        environment: Mapping[str, str] | None = None,
        **props: Any,
    ) -> None:
        """``topic``: by which it kicks. ``timeout``, ``asynchronous``: where the row has none, or
        another is asked for. ``environment``: beside what its row is told. ``props``: Lambda's own.
        """
        lasts = timeout or cdk.Duration.seconds(row.seconds or 0)
        asynchronous = asynchronous or row.asynchronous
        asynchronous.check(lasts)
        log_group = surroundings.log_group(scope, f"{row.construct}Logs")
        role = iam.Role(
            scope,
            f"{row.construct}Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"lifoq {surroundings.queue_name}: {row.construct}",
        )
        handler = asset.handler(row.folder)
        image = surroundings.tasks.image if row.task_code else None
        super().__init__(
            scope,
            row.construct,
            description=row.does,
            **_code(surroundings.package, image, handler),
            timeout=lasts,
            role=role,
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            tracing=surroundings.tracing,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if row.loops else None,
            **{"memory_size": 256, **surroundings.props(row), **props},
        )
        self._variables: dict[str, str] = {}
        told = {**surroundings.environment(row, topic), **(environment or {})}
        for variable, value in told.items():
            self.add_environment(variable, value)
        self.add_environment("POWERTOOLS_SERVICE_NAME", service(surroundings.queue_name))
        self.add_environment("POWERTOOLS_METRICS_NAMESPACE", NAMESPACE)
        self.add_environment("POWERTOOLS_LOG_LEVEL", "INFO")
        if image:
            _command(self, handler)
        self.execution_role = role
        self.logs = log_group
        self.allow(["logs:CreateLogStream", "logs:PutLogEvents"], log_group.log_group_arn)
        self.allow(["sqs:SendMessage"], dead_letters.queue_arn)
        self._put_aside(dead_letters, asynchronous)
        self._permit(row, surroundings, topic)
        if surroundings.tracing is lambda_.Tracing.ACTIVE:
            accept_wildcard(role, "*", "X-Ray's actions know no resources.")

    def _permit(self, row: Row, surroundings: Surroundings, topic: sns.ITopic | None) -> None:
        state, may = surroundings.state, row.may
        if may.indexes:
            self.allow(may.indexes, *state.index_arns)
        if may.table:
            self.allow(may.table, state.table.table_arn)
        if topic:
            self.allow(["sns:Publish"], topic.topic_arn)
        if may.objects:
            self._allow_objects(state, *may.objects)
        if row.task_code == "runs":
            surroundings.tasks.permit(self.execution_role)

    def add_environment(
        self, key: str, value: str, *, remove_in_edge: bool | None = None
    ) -> lambda_.Function:
        """Add environment variables, like CDK's method. Raises ``InvalidInput`` where Lambda would
        refuse their size."""
        self._variables[key] = value
        sizes = {name: _size(name, held) for name, held in self._variables.items()}
        if sum(sizes.values()) > limits.ENVIRONMENT_BYTES:
            largest = sorted(sizes.items(), key=lambda one: one[1], reverse=True)[:3]
            raise InvalidInput(
                "environment",
                self.node.path,
                f"has {sum(sizes.values()):,} bytes, and Lambda takes {limits.ENVIRONMENT_BYTES:,} "
                "of names and values together: shorten or leave out what fills it, most of all "
                + ", ".join(f"{name} ({size:,})" for name, size in largest),
            )
        return super().add_environment(key, value, remove_in_edge=remove_in_edge)

    def allow(self, actions: Sequence[str], *resources: str, why: str | None = None) -> None:
        """Let the function do these. ``why``: the resources are not named more narrowly."""
        allow(self.execution_role, actions, *resources, why=why)

    def _allow_objects(self, state: QueueState, *actions: str) -> None:
        """Tell the function the queue's bucket for large values, if there is one, and let it do
        these actions to the bucket's objects; and let it see if a task is there before it puts one
        with an object."""
        if state.large_bucket:
            self.add_environment(Variable.BUCKET.value, state.large_bucket.bucket_name)
            self.allow(["dynamodb:GetItem"], state.table.table_arn)
        for allowed, resources in state.on_objects(*actions):
            self.allow(allowed, *resources, why=OBJECTS)

    def _put_aside(self, dead_letters: sqs.IQueue, asynchronous: AsyncInvocation) -> None:
        accept(self, "Serverless-LambdaDLQ", "What fails goes to a queue, with the reason.")
        lambda_.CfnEventInvokeConfig(
            self,
            "AsyncInvocation",
            function_name=self.function_name,
            qualifier="$LATEST",
            maximum_event_age_in_seconds=asynchronous.max_event_age.to_seconds(),
            maximum_retry_attempts=asynchronous.retry_attempts,
            destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
                on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(
                    destination=dead_letters.queue_arn
                )
            ),
        )


def _size(name: str, value: str) -> int:
    """Return a size in bytes."""
    return len((name + _TOKEN.sub(" " * NAME_BYTES, value)).encode())


def _code(package: Asset, image: Image | None, handler: str) -> dict[str, Any]:
    if image:
        return {
            "code": image,
            "handler": lambda_.Handler.FROM_IMAGE,
            "runtime": lambda_.Runtime.FROM_IMAGE,
        }
    return {
        "code": deployed(package),
        "handler": handler,
        "runtime": lambda_.Runtime.PYTHON_3_14,
    }


def _command(function: lambda_.Function, handler: str) -> None:
    """One image serves several functions: each says which handler it is."""
    resource = function.node.default_child
    if isinstance(resource, lambda_.CfnFunction):
        resource.image_config = lambda_.CfnFunction.ImageConfigProperty(command=[handler])
