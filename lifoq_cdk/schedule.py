"""An EventBridge schedule that invokes one target."""

import json
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq.schedules.target import RETRIES, event_age
from lifoq_cdk.findings import allow


class Invocation(Construct):
    """Does ``action`` on ``target_arn`` by ``expression``, with a role that can do nothing else."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        target_arn: str,
        action: str,
        expression: str,
        description: str,
        dead_letters: sqs.IQueue,
        max_event_age: cdk.Duration,
        event: Any = None,
        time_zone: str = "UTC",
        enabled: bool = True,
    ) -> None:
        super().__init__(scope, construct_id)
        role = service_role(self, "Role", "scheduler", description)
        allow(role, [action], target_arn)
        allow(role, ["sqs:SendMessage"], dead_letters.queue_arn)
        schedule = scheduler.CfnSchedule(
            self,
            "Schedule",
            description=description,
            schedule_expression=expression,
            schedule_expression_timezone=time_zone,
            state="ENABLED" if enabled else "DISABLED",
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=target_arn,
                role_arn=role.role_arn,
                input=None if event is None else json.dumps(event),
                # Later than this, the next invocation does the work.
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_event_age_in_seconds=event_age(
                        max_event_age.to_seconds(integral=False)
                    ),
                    maximum_retry_attempts=RETRIES,
                ),
                dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(
                    arn=dead_letters.queue_arn
                ),
            ),
        )
        # The schedule's first run must not find a role that cannot do anything yet.
        schedule.node.add_dependency(role)
        self.schedule_name = schedule.ref


def service_role(scope: Construct, construct_id: str, service: str, description: str) -> iam.Role:
    """A role that an AWS service has, for this account alone: no other account's resource can have
    the service borrow it."""
    return iam.Role(
        scope,
        construct_id,
        description=description,
        assumed_by=iam.ServicePrincipal(
            f"{service}.amazonaws.com",
            conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}},
        ),
    )
