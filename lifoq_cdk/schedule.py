"""An EventBridge schedule that invokes one target."""

import json
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq_cdk.limits import SCHEDULE_EVENT_AGE_SECONDS


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
        role = iam.Role(
            self,
            "Role",
            description=description,
            # No other account's schedule can have the service borrow the role.
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}},
            ),
        )
        role.add_to_policy(iam.PolicyStatement(actions=[action], resources=[target_arn]))
        role.add_to_policy(
            iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[dead_letters.queue_arn])
        )
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
                    maximum_event_age_in_seconds=_within_limits(max_event_age),
                    maximum_retry_attempts=3,
                ),
                dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(
                    arn=dead_letters.queue_arn
                ),
            ),
        )
        # The schedule's first run must not find a role that cannot do anything yet.
        schedule.node.add_dependency(role)
        self.schedule_name = schedule.ref


def _within_limits(age: cdk.Duration) -> int:
    """The age in seconds, or the nearest that EventBridge Scheduler knows."""
    shortest, longest = SCHEDULE_EVENT_AGE_SECONDS
    return min(longest, max(shortest, round(age.to_seconds(integral=False))))
