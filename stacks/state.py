"""What must survive: deployed apart from what changes often."""

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from lifoq_cdk import QueueState
from lifoq_cdk.state import retention_of_objects
from stacks.config import Analytics, StageConfig


class KeyStack(cdk.Stack):
    """A key of one's own. It has a stack of its own, so that the others can drop it one by one when
    it is switched off; it stays as long as something is encrypted with it."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: StageConfig) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"lifoq {stage.name}: the key of table, exports, topics, queues and logs",
            termination_protection=stage.protected,
        )
        self.key = kms.Key(
            self,
            "Key",
            description=f"lifoq {stage.name}: table, exports, topics, queues and logs",
            enable_key_rotation=True,
            removal_policy=removal_policy(stage),
        )
        self.export_value(self.key.key_arn)


class StateStack(cdk.Stack):
    """The table and the export bucket; a protected stage keeps both, whatever is deleted."""

    def __init__(
        self, scope: Construct, construct_id: str, *, stage: StageConfig, key: kms.IKey | None
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"lifoq {stage.name}: the queue's table and its exports",
            termination_protection=stage.protected,
        )
        analytics = stage.analytics or Analytics()
        self.state = QueueState(
            self,
            "Default",
            encryption_key=key,
            export_retention=cdk.Duration.days(analytics.export_retention_days),
            report_retention=cdk.Duration.days(analytics.report_retention_days),
            large_payload_retention=(
                retention_of_objects(stage.lifetimes) if stage.large_payloads else None
            ),
            deletion_protection=stage.protected,
            removal_policy=removal_policy(stage),
        )
        self.state.keep_exports()
        if stage.alarms.email:
            self.state.alarm_topic.add_subscription(
                subscriptions.EmailSubscription(stage.alarms.email)
            )
        cdk.CfnOutput(self, "TableName", value=self.state.table.table_name)
        cdk.CfnOutput(self, "TableArn", value=self.state.table.table_arn)
        cdk.CfnOutput(self, "ExportBucketName", value=self.state.export_bucket.bucket_name)
        cdk.CfnOutput(self, "AlarmTopicArn", value=self.state.alarm_topic.topic_arn)


def removal_policy(stage: StageConfig) -> cdk.RemovalPolicy:
    return cdk.RemovalPolicy.RETAIN if stage.protected else cdk.RemovalPolicy.DESTROY
