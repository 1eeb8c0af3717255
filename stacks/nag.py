"""Findings of cdk-nag that are right as they are, each with its reason."""

import aws_cdk as cdk
from constructs import Construct

from lifoq_cdk.dead_letters import DeadLetters
from lifoq_cdk.function import QueueFunction


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
    acknowledge(
        function.execution_role,
        "IAM5[Resource::arn:<AWS::Partition>:secretsmanager:<AWS::Region>:"
        f"<AWS::AccountId>:secret:{name}-??????]",
        "Six characters that Secrets Manager adds to the name of the one secret.",
    )


def import_of(owner: cdk.Stack, value: str) -> str:
    """The name by which another stack imports ``value`` of ``owner``: findings spell ARNs so."""
    return str(owner.resolve(owner.export_value(value))["Fn::ImportValue"])
