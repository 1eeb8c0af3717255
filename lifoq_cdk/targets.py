"""Permissions of task types that are configured, not written."""

from collections.abc import Iterator, Mapping

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from lifoq.targets.configured import Target
from lifoq.targets.function import LambdaTarget
from lifoq.targets.https import HttpsTarget

__all__ = ["HttpsTarget", "LambdaTarget", "Target", "permissions", "secret_arn", "secrets"]


def secrets(targets: Mapping[str, Target]) -> list[str]:
    """The names of those that requests are sent with."""
    https = (target for target in targets.values() if isinstance(target, HttpsTarget))
    return sorted({name for target in https for name in target.secret_headers.values()})


def permissions(targets: Mapping[str, Target]) -> Iterator[iam.PolicyStatement]:
    """The narrowest."""
    if named := secrets(targets):
        yield iam.PolicyStatement(
            actions=["secretsmanager:GetSecretValue"],
            resources=[secret_arn(name) for name in named],
        )
    runs = (target for target in targets.values() if isinstance(target, LambdaTarget))
    if functions := sorted({target.function_arn for target in runs}):
        yield iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=functions)


def secret_arn(name: str) -> str:
    """Return the ARN of a secret, with the six characters that Secrets Manager adds to the name."""
    place = f"{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}"
    return f"arn:{cdk.Aws.PARTITION}:secretsmanager:{place}:secret:{name}-??????"
