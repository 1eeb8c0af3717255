"""The group of schedules that a queue's clients make at run time."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq.errors import InvalidInput
from lifoq.schedules.target import ScheduleTarget
from lifoq_cdk.findings import accept_wildcard, allow
from lifoq_cdk.function import QueueFunction
from lifoq_cdk.schedule import service_role

SERVICE: Final = "scheduler.amazonaws.com"


class ScheduleGroup(Construct):
    """A group of schedules, and the role by which each of them invokes the function that puts its
    task. When the group is deleted, its schedules are as well."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        function: QueueFunction,
        dead_letters: sqs.IQueue,
        description: str,
    ) -> None:
        super().__init__(scope, construct_id)
        self._group = scheduler.CfnScheduleGroup(self, "Group")
        self._role = service_role(self, "Role", "scheduler", description)
        allow(self._role, ["lambda:InvokeFunction"], function.function_arn)
        allow(self._role, ["sqs:SendMessage"], dead_letters.queue_arn)
        self.target = ScheduleTarget(
            group=self._group.ref,
            function=function.function_arn,
            role=self._role.role_arn,
            dead_letters=dead_letters.queue_arn,
        )
        """The facts that clients are told."""

    def grant(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` make, change, delete and list the schedules of the group, and give them
        the role. InvalidInput for a principal of another account."""
        schedules = cdk.Stack.of(self).format_arn(
            service="scheduler", resource="schedule", resource_name=f"{self._group.ref}/*"
        )
        actions = [f"scheduler:{verb}Schedule" for verb in ("Create", "Delete", "Get", "Update")]
        grant = _grant(grantee, actions, schedules)
        if not grant.success:
            problem = "is of another account, and EventBridge Scheduler lets nobody in from there"
            raise InvalidInput("grantee", str(grantee), f"{problem}: grant to a role of this one")
        grant = grant.combine(_grant(grantee, ["scheduler:ListSchedules"], "*"))
        passes = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["iam:PassRole"],
            resource_arns=[self._role.role_arn],
            conditions={"StringEquals": {"iam:PassedToService": SERVICE}},
        )
        if isinstance(principal := grantee.grant_principal, Construct):  # a function's role
            accept_wildcard(principal, schedules, "The schedules of one group, by whatever names.")
            accept_wildcard(principal, "*", "The list of schedules knows no resources.")
        return grant.combine(passes)


def _grant(grantee: iam.IGrantable, actions: list[str], resource: str) -> iam.Grant:
    return iam.Grant.add_to_principal(grantee=grantee, actions=actions, resource_arns=[resource])
