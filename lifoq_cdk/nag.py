"""Findings of cdk-nag that are right as they are, each with its reason."""

import aws_cdk as cdk
from constructs import Construct


def acknowledge(construct: Construct, finding: str, reason: str) -> None:
    """Accept ``finding`` (``RULE`` or ``RULE[detail]``) on ``construct`` and what is below it."""
    cdk.Validations.of(construct).acknowledge(
        cdk.Acknowledgment(id=f"AwsSolutions::AwsSolutions-{finding}", reason=reason)
    )


def import_of(owner: cdk.Stack, value: str) -> str:
    """The name by which another stack imports ``value`` of ``owner``: findings spell ARNs so."""
    return str(owner.resolve(owner.export_value(value))["Fn::ImportValue"])
