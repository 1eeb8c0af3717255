"""A Lambda function of a queue, with everything that each of them needs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq.environment import Variable
from lifoq.errors import InvalidInput
from lifoq.metrics import NAMESPACE, service
from lifoq_cdk import known, limits
from lifoq_cdk.findings import accept, accept_wildcard
from lifoq_cdk.packaged import deployed
from lifoq_cdk.state import OBJECTS, QueueState
from lifoq_cdk.task_code import Image
from lifoq_project import asset
from lifoq_project.asset import Asset

NAME_BYTES: Final = 64
"""About as many as a name has that CloudFormation makes."""
_TOKEN: Final = re.compile(r"\$\{Token\[[^]]*\]\}")


@dataclass(frozen=True, kw_only=True)
class AsyncInvocation:
    """How long, and how often, Lambda tries an event that nobody waits for. An error is retried
    after one minute, and then after two."""

    max_event_age: cdk.Duration
    retry_attempts: int

    def check(self, timeout: cdk.Duration) -> None:
        """``InvalidInput`` where a function with this timeout is too old for its retries."""
        known.check(max_event_age=self.max_event_age, retry_attempts=self.retry_attempts)
        needed = limits.event_age_needed_seconds(
            retry_attempts=self.retry_attempts, timeout_seconds=round(timeout.to_seconds())
        )
        if self.max_event_age.to_seconds() < needed:
            raise InvalidInput(
                "max_event_age",
                self.max_event_age.to_human_string(),
                f"is too short for {self.retry_attempts} retries, which Lambda makes after one and "
                f"two minutes: raise it to at least {needed} s, or lower the retries",
            )


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What all functions of a queue have in common."""

    queue_name: str
    package: Asset
    encryption_key: kms.IKey | None
    log_retention: logs.RetentionDays
    removal_policy: cdk.RemovalPolicy
    tracing: lambda_.Tracing


class QueueFunction(lambda_.Function):
    """One of ``functions/``: own log group, own role, and a place for events that it failed on."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        surroundings: Surroundings,
        name: str,
        description: str,
        environment: Mapping[str, str],
        timeout: cdk.Duration,
        dead_letters: sqs.IQueue,
        asynchronous: AsyncInvocation,
        image: Image | None = None,
        **props: Any,
    ) -> None:
        """``name``: of the folder in ``functions/``. ``image``: in place of the package.
        ``props``: Lambda's own."""
        asynchronous.check(timeout)
        log_group = logs.LogGroup(
            scope,
            f"{construct_id}Logs",
            # Without a group of its own Lambda makes one that keeps everything for ever.
            retention=surroundings.log_retention,
            encryption_key=surroundings.encryption_key,
            removal_policy=surroundings.removal_policy,
        )
        role = iam.Role(
            scope,
            f"{construct_id}Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"lifoq {surroundings.queue_name}: {construct_id}",
        )
        handler = asset.handler(name)
        super().__init__(
            scope,
            construct_id,
            description=description,
            **_code(surroundings.package, image, handler),
            timeout=timeout,
            role=role,
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            tracing=surroundings.tracing,
            **{"memory_size": 256, "architecture": lambda_.Architecture.ARM_64, **props},
        )
        self._variables: dict[str, str] = {}
        for variable, value in environment.items():
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
        if surroundings.tracing is lambda_.Tracing.ACTIVE:
            accept_wildcard(role, "*", "X-Ray's actions know no resources.")

    def add_environment(
        self, key: str, value: str, *, remove_in_edge: bool | None = None
    ) -> lambda_.Function:
        """As CDK's. ``InvalidInput`` where Lambda would refuse what the variables come to."""
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
        """Let the function do these, and nothing beside: CDK's grants are wider than its calls.
        ``why``: the resources are not named more narrowly."""
        self.add_to_role_policy(
            iam.PolicyStatement(actions=list(actions), resources=list(resources))
        )
        for resource in resources if why else ():
            accept_wildcard(self.execution_role, resource, str(why))

    def allow_objects(self, state: QueueState, *actions: str) -> None:
        """Where the queue has a bucket for what is large: tell the function which, and let it do
        these to its objects; and see whether a task is there before it puts one with an object."""
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
    """In bytes."""
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
