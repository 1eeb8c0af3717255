"""DynamoDB's tables: TTL, recovery, protection, and their changes."""

from typing import Any, Self

from moto.core.common_models import CloudFormationModel
from moto.dynamodb.models.table import Table

from lifoq_localcloud.deployments.resources.resource import Properties, Resource, client


class DeployedTable(Resource, CloudFormationModel):
    """moto's table, with TTL and PITR, which it drops, and changes, which it cannot take."""

    TYPE = "AWS::DynamoDB::Table"
    NAME_PROPERTY = "TableName"

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *place: Any, **_more: Any
    ) -> Self:
        Table.create_from_cloudformation_json(resource_name, cloudformation_json, *place)
        return super().create_from_cloudformation_json(resource_name, cloudformation_json, *place)

    def create(self) -> None:
        dynamodb = client("dynamodb")
        if ttl := self.properties.get("TimeToLiveSpecification"):
            dynamodb.update_time_to_live(TableName=self.name, TimeToLiveSpecification=ttl)
        if pitr := self.properties.get("PointInTimeRecoverySpecification"):
            dynamodb.update_continuous_backups(
                TableName=self.name, PointInTimeRecoverySpecification=pitr
            )

    def update(self) -> None:
        self.create()
        client("dynamodb").update_table(
            TableName=self.name,
            DeletionProtectionEnabled=self.properties.get("DeletionProtectionEnabled", False),
        )

    def remove(self) -> None:
        client("dynamodb").delete_table(TableName=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        table = client("dynamodb").describe_table(TableName=self.name)["Table"]
        return str(table[{"Arn": "TableArn", "StreamArn": "LatestStreamArn"}[attribute]])
