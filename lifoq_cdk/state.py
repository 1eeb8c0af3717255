"""The parts that must survive a queue's functions: its table, its exports, and the topic of its
alarms."""

import math
from typing import Any, Final

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

import lifoq
from lifoq.items import schema
from lifoq.items.lifetimes import DAY, KEPT_DAYS, Lifetimes, object_prefix
from lifoq.operating.deployment import RELEASE_TAG
from lifoq_cdk import known
from lifoq_cdk.findings import accept
from lifoq_cdk.key import open_to_services

EXPORTS_PREFIX: Final = "exports"
"""The prefix of table exports in the export bucket."""
REPORTS_PREFIX: Final = "reports"
"""The prefix of the Spark job's results."""
GET_OBJECT: Final = "s3:GetObject"
PUT_OBJECT: Final = "s3:PutObject"
DELETE_OBJECT: Final = "s3:DeleteObject"
LIST_BUCKET: Final = "s3:ListBucket"
"""The permission to list. A caller without it is told of an object that is gone that it may not be
read."""
OBJECTS: Final = "Objects of the one bucket for large payloads, whose names are drawn."
"""Why whoever may use some of them may use all."""
POINT_IN_TIME_DAYS: Final = 35


class QueueState(Construct):
    """The table, the export bucket and the alarm topic of one queue.

    ``LifoQueue`` makes one itself, unless it is given one: put it into a stack of its own, so that
    the functions can be deleted and deployed again beside their tasks.

    Examples:
        >>> state = QueueState(stack, "State", deletion_protection=True)
        >>> queue = LifoQueue(stack, "Prices", tasks="thumbnails", state=state)
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        encryption_key: kms.IKey | kms.Key | None = None,
        alarm_topic: sns.ITopic | sns.Topic | None = None,
        export_retention: cdk.Duration | None = None,
        report_retention: cdk.Duration | None = None,
        large_payload_retention: cdk.Duration | None = None,
        deletion_protection: bool = False,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN,
    ) -> None:
        """``encryption_key``: for all that holds data, here and beside the functions; none: AWS's.

        ``alarm_topic``: one that exists; none: a new one, for people to subscribe to.
        ``export_retention``, ``report_retention``: by default 35 and 400 days.
        ``large_payload_retention``: with it, payloads, results and checkpoints that no item holds
        go to a bucket; how long they stay there, at least ``Lifetimes.of_objects``.
        ``removal_policy``: what becomes of table and buckets when their stack is deleted.
        """
        super().__init__(scope, construct_id)
        self.encryption_key = encryption_key
        self.removal_policy = removal_policy
        if encryption_key:
            open_to_services(encryption_key, self)
        self.table = self._table(deletion_protection=deletion_protection)
        self.export_bucket = self._export_bucket(
            exports=export_retention or cdk.Duration.days(35),
            reports=report_retention or cdk.Duration.days(400),
        )
        known.check(large_payload_retention=large_payload_retention)
        accept(
            self.export_bucket,
            "AwsSolutions-S1",
            "Only table exports and reports lie here, written by roles of this deployment; an "
            "account that wants to know who read them has CloudTrail's data events.",
        )
        self.large_payload_retention = large_payload_retention
        # It is there in any case: what is switched off for a while must be found again, and another
        # stack may still import it.
        self._objects = self._bucket(
            "LargePayloadBucket",
            *_rules_of_objects(large_payload_retention),
        )
        accept(
            self._objects,
            "AwsSolutions-S1",
            "Parts of tasks, which whoever may read the table may read; CloudTrail's data events "
            "tell who did.",
        )
        self.large_bucket = self._objects if large_payload_retention else None
        """The bucket for large values; None where the queue has none."""
        self.alarm_topic = alarm_topic or self._alarm_topic()

    @property
    def index_arns(self) -> list[str]:
        return [
            f"{self.table.table_arn}/index/{index}"
            for index in (schema.STATUS_CREATED_INDEX, schema.DUE_INDEX)
        ]

    def on_objects(self, *actions: str) -> list[tuple[list[str], list[str]]]:
        """Actions and resources of the statements that let somebody do ``actions`` to what lies in
        the bucket for large payloads; none, where there is no such bucket."""
        bucket = self.large_bucket
        if bucket is None:
            return []
        looks = [([LIST_BUCKET], [bucket.bucket_arn])] if GET_OBJECT in actions else []
        return [(list(actions), [bucket.arn_for_objects("*")]), *looks]

    def keep_exports(self) -> None:
        """Export to other stacks what they may import, whether one imports it yet or not.

        CloudFormation refuses to drop an export in use. So a stack that imports from this one can
        only be taken out of an application when the export does not go with it.
        """
        stack = cdk.Stack.of(self)
        for value in (
            self.table.table_arn,
            self.table.table_name,
            self.table.table_stream_arn,
            self.export_bucket.bucket_arn,
            self.export_bucket.bucket_name,
            self.alarm_topic.topic_arn,
            self._objects.bucket_arn,
            self._objects.bucket_name,
        ):
            stack.export_value(value)

    def _table(self, *, deletion_protection: bool) -> dynamodb.Table:
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
                if self.encryption_key
                else dynamodb.TableEncryption.DEFAULT
            ),
            encryption_key=self.encryption_key,
            deletion_protection=deletion_protection,
            removal_policy=self.removal_policy,
        )
        for index in definition["GlobalSecondaryIndexes"]:
            _add_index(table, index)
        cdk.Tags.of(table).add(RELEASE_TAG, lifoq.__version__)
        return table

    def _export_bucket(self, *, exports: cdk.Duration, reports: cdk.Duration) -> s3.Bucket:
        return self._bucket(
            "ExportBucket",
            # The prefixes end without a slash: Spark's markers lie beside the folders.
            s3.LifecycleRule(id="forget-exports", prefix=EXPORTS_PREFIX, expiration=exports),
            s3.LifecycleRule(id="forget-reports", prefix=REPORTS_PREFIX, expiration=reports),
        )

    def _bucket(self, construct_id: str, *rules: s3.LifecycleRule) -> s3.Bucket:
        key = self.encryption_key
        return s3.Bucket(
            self,
            construct_id,
            encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=key,
            bucket_key_enabled=True if key else None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            removal_policy=self.removal_policy,
            lifecycle_rules=[
                *rules,
                s3.LifecycleRule(
                    id="drop-unfinished-uploads",
                    abort_incomplete_multipart_upload_after=cdk.Duration.days(1),
                ),
            ],
        )

    def _alarm_topic(self) -> sns.Topic:
        """Make the topic of the alarms. It is here since a subscription that somebody confirmed is
        state, too."""
        topic = sns.Topic(self, "AlarmTopic", enforce_ssl=True, master_key=self.encryption_key)
        # A topic policy replaces the default one, which lets the account's alarms publish.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="Alarms",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}},
            )
        )
        return topic


def _rules_of_objects(retention: cdk.Duration | None) -> list[s3.LifecycleRule]:
    """A rule for each class, whatever is asked for now: a rule applies to the objects that are
    there already, and tasks may still name those that were put under longer lifetimes. A class is
    kept for its own days at the least."""
    longest = math.ceil(retention.to_seconds() / DAY) if retention else 0
    return [
        s3.LifecycleRule(
            id=f"forget-payloads-{days}",
            prefix=object_prefix(days),
            expiration=cdk.Duration.days(max(days, longest)),
        )
        for days in KEPT_DAYS
    ]


def retention_of_objects(lifetimes: Lifetimes) -> cdk.Duration:
    """Return the time for which a bucket for large payloads has to keep them, in whole days."""
    return cdk.Duration.days(math.ceil(lifetimes.of_objects / 86_400))


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
