"""Acknowledge what cdk-nag finds in these constructs and is right as it is: where it is, with the
reason.

CDK itself keeps what is acknowledged, so nobody has to have cdk-nag.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import aws_cdk as cdk
import jsii
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import IConstruct, IValidation

SIX_CHARACTERS: Final = "Six characters that Secrets Manager adds to the name of the one secret."


def accept(construct: IConstruct, rule: str, why: str) -> None:
    """``rule``: such as ``AwsSolutions-S1``, of ``construct`` and what is below it."""
    pack = rule.partition("-")[0]
    cdk.Validations.of(construct).acknowledge(cdk.Acknowledgment(id=f"{pack}::{rule}", reason=why))


def accept_wildcard(construct: IConstruct, resource: str, why: str) -> None:
    """``resource``: as a policy below ``construct`` names it."""
    construct.node.add_validation(_Wildcard(construct, resource, why))


def allow(
    role: iam.IRole,
    actions: Sequence[str],
    *resources: str,
    why: str | None = None,
    conditions: Mapping[str, Any] | None = None,
) -> None:
    """Let ``role`` do these, and nothing beside: CDK's grants are wider than lifoq's calls.
    ``why``: the resources are not named more narrowly."""
    role.add_to_principal_policy(
        iam.PolicyStatement(actions=list(actions), resources=list(resources), conditions=conditions)
    )
    for resource in resources if why else ():
        accept_wildcard(role, resource, str(why))


def accept_secret(construct: IConstruct, secret: secretsmanager.ISecret) -> None:
    """Accept that ``secret`` may be read. CDK cannot tell the ARN of a secret that is known by its
    name."""
    if secret.secret_full_arn is None:
        accept_wildcard(construct, f"{secret.secret_arn}-??????", SIX_CHARACTERS)


@jsii.implements(IValidation)
class _Wildcard:
    """Named in the last moment, when it is known how stacks refer to each other."""

    def __init__(self, construct: IConstruct, resource: str, why: str) -> None:
        self._construct, self._resource, self._why = construct, resource, why

    def validate(self) -> list[str]:
        named = _spelled(cdk.Stack.of(self._construct).resolve(self._resource))
        accept(self._construct, f"AwsSolutions-IAM5[Resource::{named}]", self._why)
        return []


def _spelled(value: Any) -> str:
    """A value of a template, as cdk-nag writes it."""
    match value:
        case {"Fn::Join": [str(between), [*parts]]}:
            return between.join(_spelled(part) for part in parts)
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{resource}.{attribute}>"
        case {"Fn::ImportValue": name}:
            return str(name)
        case {"Ref": name}:
            return f"<{name}>"
        case _:
            return str(value)
