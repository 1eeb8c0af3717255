"""What must survive: the table and the exports, deployed apart from what changes often."""

from typing import Any, Final

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from lifoq import schema
from lifoq_cdk.nag import acknowledge
from stacks.config import Analytics, StageConfig

EXPORTS_PREFIX: Final = "exports"
"""Where table exports lie in the export bucket."""
REPORTS_PREFIX: Final = "reports"
"""Where the Spark job writes its results."""
POINT_IN_TIME_DAYS: Final = 35


class StateStack(cdk.Stack):
    """The table and the export bucket; a protected stage keeps both, whatever is deleted."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: StageConfig) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"lifoq {stage.name}: the queue's table and its exports",
            termination_protection=stage.protected,
        )
        self._stage = stage
        self._removal = cdk.RemovalPolicy.RETAIN if stage.protected else cdk.RemovalPolicy.DESTROY
        self.key = self._key() if stage.customer_managed_key else None
        self.table = self._table()
        self.export_bucket = self._export_bucket()
        self.alarm_topic = self._alarm_topic()

        cdk.CfnOutput(self, "TableName", value=self.table.table_name)
        cdk.CfnOutput(self, "TableArn", value=self.table.table_arn)
        cdk.CfnOutput(self, "ExportBucketName", value=self.export_bucket.bucket_name)
        cdk.CfnOutput(self, "AlarmTopicArn", value=self.alarm_topic.topic_arn)

    def _table(self) -> dynamodb.Table:
        """``Table`` rather than ``TableV2``: one region, and the resource type that tools know."""
        definition = schema.table_definition("")
        table = dynamodb.Table(
            self,
            "QueueTable",
            partition_key=_attribute(schema.HASH_KEY),
            # Load comes in bursts by nature; an idle queue costs nothing.
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            # Sheds what waited too long, and forgets what is finished.
            time_to_live_attribute=schema.TTL_ATTRIBUTE.value,
            # New images tell who waits; old ones tell what a TTL deletion shed.
            stream=dynamodb.StreamViewType(definition["StreamSpecification"]["StreamViewType"]),
            # Exports read from it, and so does a restore.
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True,
                recovery_period_in_days=POINT_IN_TIME_DAYS,
            ),
            encryption=(
                dynamodb.TableEncryption.CUSTOMER_MANAGED
                if self.key
                else dynamodb.TableEncryption.DEFAULT
            ),
            encryption_key=self.key,
            deletion_protection=self._stage.protected,
            removal_policy=self._removal,
        )
        for index in definition["GlobalSecondaryIndexes"]:
            _add_index(table, index)
        return table

    def _export_bucket(self) -> s3.Bucket:
        analytics = self._stage.analytics or Analytics()
        bucket = s3.Bucket(
            self,
            "ExportBucket",
            encryption=s3.BucketEncryption.KMS if self.key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=self.key,
            bucket_key_enabled=True if self.key else None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            removal_policy=self._removal,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="forget-exports",
                    prefix=f"{EXPORTS_PREFIX}/",
                    expiration=cdk.Duration.days(analytics.export_retention_days),
                ),
                s3.LifecycleRule(
                    id="forget-reports",
                    prefix=f"{REPORTS_PREFIX}/",
                    expiration=cdk.Duration.days(analytics.report_retention_days),
                ),
                s3.LifecycleRule(
                    id="drop-unfinished-uploads",
                    abort_incomplete_multipart_upload_after=cdk.Duration.days(1),
                ),
            ],
        )
        acknowledge(
            bucket,
            "S1",
            "Only table exports and reports lie here, written by roles of this deployment; an "
            "account that wants to know who read them has CloudTrail's data events.",
        )
        return bucket

    def _alarm_topic(self) -> sns.Topic:
        """Here, because a subscription that somebody confirmed is state, too."""
        topic = sns.Topic(self, "AlarmTopic", enforce_ssl=True, master_key=self.key)
        # A topic policy replaces the default one, which lets the account's alarms publish.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="Alarms",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": self.account}},
            )
        )
        if self._stage.alarms.email:
            topic.add_subscription(subscriptions.EmailSubscription(self._stage.alarms.email))
        return topic

    def _key(self) -> kms.Key:
        key = kms.Key(
            self,
            "Key",
            description=f"lifoq {self._stage.name}: table, exports, topics, queues and logs",
            enable_key_rotation=True,
            removal_policy=self._removal,
        )
        # Roles are allowed through the key's account policy; these are AWS's own services.
        key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="Logs",
                principals=[iam.ServicePrincipal(f"logs.{self.region}.amazonaws.com")],
                actions=["kms:Encrypt", "kms:Decrypt", "kms:GenerateDataKey*", "kms:DescribeKey"],
                resources=["*"],
                conditions={
                    "ArnLike": {
                        "kms:EncryptionContext:aws:logs:arn": self.format_arn(
                            service="logs",
                            resource="log-group",
                            resource_name="*",
                            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
                        )
                    }
                },
            )
        )
        key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="TopicsToQueuesAndAlarmsToTopics",
                principals=[
                    iam.ServicePrincipal("sns.amazonaws.com"),
                    iam.ServicePrincipal("cloudwatch.amazonaws.com"),
                ],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],
                conditions={"StringEquals": {"aws:SourceAccount": self.account}},
            )
        )
        return key


def _attribute(name: schema.Attribute) -> dynamodb.Attribute:
    types = {"S": dynamodb.AttributeType.STRING, "N": dynamodb.AttributeType.NUMBER}
    return dynamodb.Attribute(name=name.value, type=types[schema.ATTRIBUTE_TYPES[name]])


def _add_index(table: dynamodb.Table, index: dict[str, Any]) -> None:
    hash_key, range_key = (schema.Attribute(key["AttributeName"]) for key in index["KeySchema"])
    projection = index["Projection"]
    table.add_global_secondary_index(
        index_name=index["IndexName"],
        partition_key=_attribute(hash_key),
        sort_key=_attribute(range_key),
        projection_type=dynamodb.ProjectionType(projection["ProjectionType"]),
        non_key_attributes=projection.get("NonKeyAttributes"),
    )
