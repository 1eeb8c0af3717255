"""Queues for what could not be handled."""

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq_cdk.nag import acknowledge


class DeadLetters(sqs.Queue):
    """Holds messages that nobody consumes but an operator."""

    def __init__(
        self, scope: Construct, construct_id: str, *, key: kms.IKey | None, retention_days: int
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            retention_period=cdk.Duration.days(retention_days),
            encryption=sqs.QueueEncryption.KMS if key else sqs.QueueEncryption.SQS_MANAGED,
            encryption_master_key=key,
            enforce_ssl=True,
        )
        acknowledge(self, "SQS3", "This is a dead-letter queue; it needs none itself.")
