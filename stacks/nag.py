"""Findings of cdk-nag that are right as they are, each with its reason."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from lifoq_cdk.dead_letters import DeadLetters
from lifoq_cdk.function import QueueFunction
from lifoq_cdk.long_tasks import LongTasks
from lifoq_cdk.state import QueueState


def acknowledge(construct: Construct, finding: str, reason: str) -> None:
    """Accept ``finding`` (``RULE`` or ``RULE[detail]``) on ``construct`` and what is below it."""
    cdk.Validations.of(construct).acknowledge(
        cdk.Acknowledgment(id=f"AwsSolutions::AwsSolutions-{finding}", reason=reason)
    )


def acknowledge_dead_letters(*queues: DeadLetters) -> None:
    for queue in queues:
        acknowledge(queue, "SQS3", "This is a dead-letter queue; it needs none itself.")


def acknowledge_tracing(*functions: QueueFunction) -> None:
    for function in functions:
        acknowledge(
            function.execution_role,
            "IAM5[Resource::*]",
            "Active tracing writes to X-Ray, whose actions know no resources.",
        )


def acknowledge_secret(function: QueueFunction, name: str) -> None:
    _acknowledge_secret(function.execution_role, name)


def _acknowledge_secret(construct: Construct, name: str) -> None:
    acknowledge(
        construct,
        "IAM5[Resource::arn:<AWS::Partition>:secretsmanager:<AWS::Region>:"
        f"<AWS::AccountId>:secret:{name}-??????]",
        "Six characters that Secrets Manager adds to the name of the one secret.",
    )


def acknowledge_long_tasks(workers: LongTasks, secrets: Sequence[str]) -> None:
    """``secrets``: names of those that the task code may read."""
    task = f"<AWS::AccountId>:task/<{_logical_id(workers.cluster)}>/*"
    for finding, reason in (
        ("ECS2", "Settings, as the functions have them; a secret is given by its name."),
        ("ECS4", "Container Insights cost more than the workers; the queue's metrics tell enough."),
        ("VPC7", "There is nobody to watch: nobody gets in, and the workers hold no address long."),
        (
            f"IAM5[Resource::arn:<AWS::Partition>:ecs:<AWS::Region>:{task}]",
            "A worker protects itself while it holds tasks; tasks have no names before they run.",
        ),
        ("IAM5[Resource::*]", "To log in to a registry knows no resources."),
    ):
        acknowledge(workers, finding, reason)
    for name in secrets:
        _acknowledge_secret(workers, name)


def acknowledge_objects(state: QueueState, who: Construct) -> None:
    if state.large_bucket is None:
        return
    imported = import_of(cdk.Stack.of(state), state.large_bucket.bucket_arn)
    acknowledge(
        who,
        f"IAM5[Resource::{imported}/*]",
        "Objects of the one bucket for large payloads, whose names are drawn.",
    )


def import_of(owner: cdk.Stack, value: str) -> str:
    """The name by which another stack imports ``value`` of ``owner``: findings spell ARNs so."""
    return str(owner.resolve(owner.export_value(value))["Fn::ImportValue"])


def _logical_id(cluster: ecs.ICluster) -> str:
    stack = cdk.Stack.of(cluster)
    return str(stack.resolve(cluster.cluster_name)["Ref"])
