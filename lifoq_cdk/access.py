"""The permissions of a queue: who may do what with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from lifoq.environment import Variable
from lifoq.errors import InvalidInput
from lifoq_cdk.findings import accept_wildcard
from lifoq_cdk.state import DELETE_OBJECT, GET_OBJECT, OBJECTS, PUT_OBJECT, QueueState

TOLD: Final = "lifoq:queue"
"""Metadata of a function that has been told which queue it puts to."""


@dataclass(frozen=True, kw_only=True)
class Permission:
    """Actions on the table, on its indexes, and on objects of its bucket for what is large."""

    table: tuple[str, ...]
    indexes: tuple[str, ...] = ()
    objects: tuple[str, ...] = (GET_OBJECT,)


_LOOK: Final = (
    "dynamodb:BatchGetItem",
    "dynamodb:DescribeTable",
    "dynamodb:GetItem",
    "dynamodb:Scan",
)

PUT: Final = Permission(
    table=(
        "dynamodb:BatchGetItem",
        "dynamodb:BatchWriteItem",
        "dynamodb:GetItem",
        "dynamodb:PutItem",
    ),
    objects=(GET_OBJECT, PUT_OBJECT),
)
REPLACE: Final = Permission(table=(*PUT.table, "dynamodb:UpdateItem"), objects=PUT.objects)
READ: Final = Permission(table=_LOOK, indexes=("dynamodb:Query",))
WORK: Final = Permission(
    table=("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"),
    indexes=("dynamodb:Query",),
    objects=(GET_OBJECT, PUT_OBJECT),
)
"""The permission to work: it has the puts of follow-ups, and of the slots of keys, too."""
OPERATE: Final = Permission(
    table=(*_LOOK, "dynamodb:DeleteItem", "dynamodb:UpdateItem"),
    indexes=("dynamodb:Query",),
    objects=(GET_OBJECT, PUT_OBJECT, DELETE_OBJECT),
)


@dataclass(frozen=True, kw_only=True)
class Access:
    """The permissions of one grantee on one queue."""

    queue_name: str
    state: QueueState
    parameter: ssm.IStringParameter
    grantee: iam.IGrantable

    def connect(self) -> iam.Grant:
        """The grant to find the queue by its name, and its name for a function."""
        self._tell()
        return iam.Grant.add_to_principal(
            grantee=self.grantee,
            actions=["ssm:GetParameter"],
            resource_arns=[self.parameter.parameter_arn],
        )

    def give(self, permission: Permission) -> iam.Grant:
        """The narrowest grant, and the queue's name for a function that is given it."""
        self._tell()
        grant = self._grant(permission.table, [self.state.table.table_arn])
        if permission.indexes:
            grant = grant.combine(self._grant(permission.indexes, self.state.index_arns))
        if not grant.resource_statements:
            return self._with_objects(grant.combine(self.connect()), permission)
        # A principal of another account: the parameter cannot be shared with it, and the key lets
        # in the callers of its own account alone.
        if self.state.encryption_key:
            self.state.encryption_key.grant_encrypt_decrypt(self.grantee)
        return grant

    def kick(self, topic: sns.ITopic) -> iam.Grant:
        """Return the grant to wake the processor. It is a role's of this account: another one
        cannot read the parameter, which tells of the topic."""
        return iam.Grant.add_to_principal(
            grantee=self.grantee, actions=["sns:Publish"], resource_arns=[topic.topic_arn]
        )

    def _with_objects(self, grant: iam.Grant, permission: Permission) -> iam.Grant:
        for actions, resources in self.state.on_objects(*permission.objects):
            grant = grant.combine(
                iam.Grant.add_to_principal(
                    grantee=self.grantee, actions=actions, resource_arns=resources
                )
            )
            if isinstance(self.grantee, Construct):
                for resource in resources:
                    accept_wildcard(self.grantee, resource, OBJECTS)
        return grant

    def _grant(self, actions: tuple[str, ...], resources: list[str]) -> iam.Grant:
        return iam.Grant.add_to_principal_or_resource(
            grantee=self.grantee,
            actions=list(actions),
            resource_arns=resources,
            # A table's own policy cannot name the table.
            resource_self_arns=["*"],
            resource=self.state.table,
        )

    def _tell(self) -> None:
        function = self.grantee
        if not isinstance(function, lambda_.Function):
            return
        told = _told(function)
        if told.get(TOLD, self.queue_name) != self.queue_name:
            raise InvalidInput(
                "grantee",
                function.node.path,
                f"is told of the queue {told[TOLD]!r} already, and Queue.connect() can mean one "
                "queue only: grant to its role (function.role), and name both queues in its code",
            )
        if TOLD not in told:
            function.node.add_metadata(TOLD, self.queue_name)
            function.add_environment(Variable.QUEUE.value, self.queue_name)


def _told(function: lambda_.Function) -> Mapping[str, str]:
    return {entry.type: str(entry.data) for entry in function.node.metadata}
