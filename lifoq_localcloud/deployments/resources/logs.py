"""Log groups: how long they keep their events, and by which key."""

from typing import Any

from moto.core.common_models import CloudFormationModel
from moto.logs.models import LogGroup, LogResourcePolicy

from lifoq_localcloud.deployments.resources.changes import ByMoto
from lifoq_localcloud.deployments.resources.resource import Properties, client


class DeployedLogGroup(LogGroup, CloudFormationModel):
    """moto's log group, which moto does not change."""

    CHANGES = frozenset({"KmsKeyId", "RetentionInDays"})

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *place: Any, **more: Any
    ) -> LogGroup:
        group = LogGroup.create_from_cloudformation_json(
            resource_name, cloudformation_json, *place, **more
        )
        group.kms_key_id = cloudformation_json["Properties"].get("KmsKeyId")
        return group

    @classmethod
    def change(cls, resource: LogGroup, properties: Properties, before: Properties) -> None:  # noqa: ARG003 - as for all types
        logs = client("logs")
        if days := properties.get("RetentionInDays"):
            logs.put_retention_policy(logGroupName=resource.name, retentionInDays=int(days))
        else:
            logs.delete_retention_policy(logGroupName=resource.name)
        resource.kms_key_id = properties.get("KmsKeyId")  # moto has no call for it


class DeployedLogPolicy(ByMoto, LogResourcePolicy, CloudFormationModel):
    CHANGES = frozenset({"PolicyDocument"})
