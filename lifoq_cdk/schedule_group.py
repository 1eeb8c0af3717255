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
LIST: Final = "ListSchedules"


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
        passes = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["iam:PassRole"],
            resource_arns=[self._role.role_arn],
            conditions={"StringEquals": {"iam:PassedToService": SERVICE}},
        )
        _grant_list(grantee)
        if isinstance(principal := grantee.grant_principal, Construct):  # a function's role
            accept_wildcard(principal, schedules, "The schedules of one group, by whatever names.")
        return grant.combine(passes)


def _grant_list(grantee: iam.IGrantable) -> None:
    """Let ``grantee`` list schedules. Of a role that CDK makes, by a policy of its own: that this
    one names no resources is accepted, and nothing that the role may do otherwise."""
    principal, actions = grantee.grant_principal, ["scheduler:ListSchedules"]
    if not isinstance(principal, iam.Role):
        _grant(grantee, actions, "*")
    elif principal.node.try_find_child(LIST) is None:
        policy = iam.Policy(principal, LIST)
        policy.add_statements(iam.PolicyStatement(actions=actions, resources=["*"]))
        policy.attach_to_role(principal)
        accept_wildcard(policy, "*", "The list of schedules knows no resources.")


def _grant(grantee: iam.IGrantable, actions: list[str], resource: str) -> iam.Grant:
    return iam.Grant.add_to_principal(grantee=grantee, actions=actions, resource_arns=[resource])
