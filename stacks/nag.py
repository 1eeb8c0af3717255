"""Findings of cdk-nag that are right as they are, each with its reason."""

import aws_cdk as cdk
from constructs import Construct


def acknowledge(construct: Construct, finding: str, reason: str) -> None:
    """Accept ``finding`` (``RULE`` or ``RULE[detail]``) on ``construct`` and what is below it."""
    cdk.Validations.of(construct).acknowledge(
        cdk.Acknowledgment(id=f"AwsSolutions::AwsSolutions-{finding}", reason=reason)
    )
