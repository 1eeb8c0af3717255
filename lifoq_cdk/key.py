"""Permissions on the key that encrypts a queue."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

SERVICES: Final = ("dynamodb", "s3", "sns", "sqs")
"""Services that hold a queue's data, and use its key for whoever calls them."""
USE: Final = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey*",
    "kms:ReEncrypt*",
)


def open_to_services(key: kms.IKey, scope: Construct) -> None:
    """Let the services that hold a queue's data use ``key``.

    As with AWS's own keys, whoever of the account may use a table, topic or queue may also use the
    key, through that service alone. So no role asks for the key, and switching it on denies no
    call between the update of the table's stack and that of the functions'. A key that is only
    referenced keeps its policy; it has to say the same itself.
    """
    stack = cdk.Stack.of(scope)
    for statement in (_through_services(stack), _logs(stack), _publishers(stack)):
        key.add_to_resource_policy(statement, allow_no_op=True)


def _through_services(stack: cdk.Stack) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid="ThroughServices",
        principals=[iam.AnyPrincipal()],
        actions=list(USE),
        resources=["*"],
        conditions={
            "StringEquals": {
                "kms:CallerAccount": stack.account,
                "kms:ViaService": [f"{name}.{stack.region}.amazonaws.com" for name in SERVICES],
            }
        },
    )


def _logs(stack: cdk.Stack) -> iam.PolicyStatement:
    groups = stack.format_arn(
        service="logs",
        resource="log-group",
        resource_name="*",
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
    )
    return iam.PolicyStatement(
        sid="Logs",
        principals=[iam.ServicePrincipal(f"logs.{stack.region}.amazonaws.com")],
        actions=["kms:Encrypt", "kms:Decrypt", "kms:GenerateDataKey*", "kms:DescribeKey"],
        resources=["*"],
        conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
    )


def _publishers(stack: cdk.Stack) -> iam.PolicyStatement:
    """Topics and rules hand over to queues, and alarms to topics."""
    return iam.PolicyStatement(
        sid="TopicsAndRulesToQueuesAndAlarmsToTopics",
        principals=[
            iam.ServicePrincipal(f"{name}.amazonaws.com")
            for name in ("cloudwatch", "events", "sns")
        ],
        actions=["kms:Decrypt", "kms:GenerateDataKey*"],
        resources=["*"],
        conditions={"StringEquals": {"aws:SourceAccount": stack.account}},
    )
