"""Queues for what could not be handled."""

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq_cdk.findings import accept


class DeadLetters(sqs.Queue):
    """Holds messages that nobody consumes but an operator."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        encryption_key: kms.IKey | None,
        retention: cdk.Duration | None = None,
    ) -> None:
        """``retention``: by default two weeks, as long as SQS can."""
        super().__init__(
            scope,
            construct_id,
            retention_period=retention or cdk.Duration.days(14),
            encryption=(
                sqs.QueueEncryption.KMS if encryption_key else sqs.QueueEncryption.SQS_MANAGED
            ),
            encryption_master_key=encryption_key,
            enforce_ssl=True,
        )
        for rule in ("AwsSolutions-SQS3", "Serverless-SQSRedrivePolicy"):
            accept(self, rule, "This is a dead-letter queue; it needs none itself.")
