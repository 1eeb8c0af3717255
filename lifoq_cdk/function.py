"""A Lambda function of the queue, with everything that each of them needs."""

from collections.abc import Mapping, Sequence
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq.metrics import NAMESPACE, service
from lifoq_cdk.asset import Asset
from lifoq_cdk.nag import acknowledge
from stacks.config import AsyncInvocation, LogRetentionDays, StageConfig

RETENTION: Final[dict[LogRetentionDays, logs.RetentionDays]] = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
    731: logs.RetentionDays.TWO_YEARS,
}


class QueueFunction(lambda_.Function):
    """One of ``functions/``: own log group, own role, and a place for events that it failed on."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: StageConfig,
        key: kms.IKey | None,
        asset: Asset,
        handler: str,
        description: str,
        environment: Mapping[str, str],
        timeout_seconds: int,
        invocation: AsyncInvocation,
        dead_letters: sqs.IQueue,
        memory_mb: int = 256,
        reserved_concurrency: int | None = None,
        recursive_loop: lambda_.RecursiveLoop | None = None,
    ) -> None:
        log_group = logs.LogGroup(
            scope,
            f"{construct_id}Logs",
            # Without a group of its own Lambda makes one that keeps everything for ever.
            retention=RETENTION[stage.log_retention_days],
            encryption_key=key,
            removal_policy=(
                cdk.RemovalPolicy.RETAIN if stage.protected else cdk.RemovalPolicy.DESTROY
            ),
        )
        role = iam.Role(
            scope,
            f"{construct_id}Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"lifoq {stage.name}: {construct_id}",
        )
        super().__init__(
            scope,
            construct_id,
            description=description,
            runtime=lambda_.Runtime.PYTHON_3_14,
            architecture=lambda_.Architecture.ARM_64,
            code=lambda_.Code.from_asset(str(asset.path), asset_hash=asset.digest),
            handler=handler,
            environment={
                **environment,
                "POWERTOOLS_SERVICE_NAME": service(stage.name),
                "POWERTOOLS_METRICS_NAMESPACE": NAMESPACE,
                "POWERTOOLS_LOG_LEVEL": "INFO",
            },
            timeout=cdk.Duration.seconds(timeout_seconds),
            memory_size=memory_mb,
            reserved_concurrent_executions=reserved_concurrency,
            recursive_loop=recursive_loop,
            role=role,
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            tracing=lambda_.Tracing.ACTIVE,
        )
        self.execution_role = role
        self.logs = log_group
        self.allow(["logs:CreateLogStream", "logs:PutLogEvents"], log_group.log_group_arn)
        self.allow(["sqs:SendMessage"], dead_letters.queue_arn)
        acknowledge(
            role,
            "IAM5[Resource::*]",
            "Active tracing writes to X-Ray, whose actions know no resources.",
        )
        if key:
            # The table, the topics and the queues are all encrypted with it.
            key.grant_encrypt_decrypt(self)
            for action in ("kms:GenerateDataKey*", "kms:ReEncrypt*"):
                acknowledge(
                    role,
                    f"IAM5[Action::{action}]",
                    "DynamoDB uses several actions of this name with its table's key.",
                )
        lambda_.CfnEventInvokeConfig(
            self,
            "AsyncInvocation",
            function_name=self.function_name,
            qualifier="$LATEST",
            maximum_event_age_in_seconds=invocation.max_event_age_seconds,
            maximum_retry_attempts=invocation.retry_attempts,
            destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
                on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(
                    destination=dead_letters.queue_arn
                )
            ),
        )

    def allow(self, actions: Sequence[str], *resources: str) -> None:
        """Let the function do these, and nothing beside: CDK's grants are wider than its calls."""
        self.add_to_role_policy(
            iam.PolicyStatement(actions=list(actions), resources=list(resources))
        )
