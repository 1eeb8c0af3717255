"""DynamoDB's tables: TTL, recovery, protection, and their changes."""

import json
from typing import Any, Self

from moto.core.common_models import CloudFormationModel
from moto.dynamodb.models.table import Table

from lifoq_localcloud.deployments.resources.changes import between, text
from lifoq_localcloud.deployments.resources.resource import Properties, Resource, client
from lifoq_localcloud.moto_adapter import tables


class TableChangeError(Exception):
    """DynamoDB does not change a table like this."""


class DeployedTable(Resource, CloudFormationModel):
    """moto's table, with TTL and PITR, which it drops, and changes, which it cannot take."""

    TYPE = "AWS::DynamoDB::Table"
    NAME_PROPERTY = "TableName"
    CHANGES = frozenset(
        {
            *("AttributeDefinitions", "BillingMode", "DeletionProtectionEnabled"),
            *("GlobalSecondaryIndexes", "PointInTimeRecoverySpecification"),
            *("ProvisionedThroughput", "ResourcePolicy", "SSESpecification"),
            *("StreamSpecification", "TimeToLiveSpecification"),
        }
    )
    REPLACED = frozenset({"LocalSecondaryIndexes"})

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *place: Any, **_more: Any
    ) -> Self:
        Table.create_from_cloudformation_json(resource_name, cloudformation_json, *place)
        return super().create_from_cloudformation_json(resource_name, cloudformation_json, *place)

    @classmethod
    def complete(cls, resource: Self, properties: Properties) -> None:
        resource._settle(properties.keys(), {})

    @classmethod
    def check(cls, properties: Properties, before: Properties) -> None:
        _check_indexes(properties, before)
        new, old = (one.get("TimeToLiveSpecification", {}) for one in (properties, before))
        both_on = text(new.get("Enabled")) == text(old.get("Enabled")) == "true"
        if both_on and new["AttributeName"] != old["AttributeName"]:
            raise TableChangeError(
                "TimeToLive is active on a different AttributeName: current AttributeName is "
                f"{old['AttributeName']}"
            )

    def update(self, before: Properties) -> None:
        changed = between(before, self.properties)
        self._settle(changed, before)
        wanted = self.properties
        settings: dict[str, Any] = {}
        if "DeletionProtectionEnabled" in changed:
            told = text(wanted.get("DeletionProtectionEnabled", False))
            settings["DeletionProtectionEnabled"] = told == "true"
        if changed & {"BillingMode", "ProvisionedThroughput"}:
            settings["BillingMode"] = wanted.get("BillingMode", "PROVISIONED")
            if throughput := wanted.get("ProvisionedThroughput"):
                settings["ProvisionedThroughput"] = _numbers(throughput)
        if "GlobalSecondaryIndexes" in changed:
            settings["GlobalSecondaryIndexUpdates"] = self._index_changes()
        if "AttributeDefinitions" in changed:
            settings["AttributeDefinitions"] = wanted["AttributeDefinitions"]
        if settings:
            client("dynamodb").update_table(TableName=self.name, **settings)
        if "StreamSpecification" in changed:
            self._stream(before)

    def _settle(self, changed: Any, before: Properties) -> None:
        """Set what moto drops from a template."""
        dynamodb, wanted = client("dynamodb"), self.properties
        if "TimeToLiveSpecification" in changed:
            off = {**before.get("TimeToLiveSpecification", {}), "Enabled": False}
            ttl = wanted.get("TimeToLiveSpecification", off)
            enabled = text(ttl["Enabled"]) == "true"
            known = dynamodb.describe_time_to_live(TableName=self.name)["TimeToLiveDescription"]
            # DynamoDB refuses what would change nothing, such as TTL that is off from the start.
            if enabled or known["TimeToLiveStatus"] == "ENABLED":
                dynamodb.update_time_to_live(
                    TableName=self.name, TimeToLiveSpecification={**ttl, "Enabled": enabled}
                )
        if "PointInTimeRecoverySpecification" in changed:
            recovery = wanted.get("PointInTimeRecoverySpecification", {})
            enabled = text(recovery.get("PointInTimeRecoveryEnabled", False)) == "true"
            dynamodb.update_continuous_backups(
                TableName=self.name,
                PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": enabled},
            )
        if "ResourcePolicy" in changed:
            table_arn = self.get_cfn_attribute("Arn")
            if policy := wanted.get("ResourcePolicy"):
                document = json.dumps(policy["PolicyDocument"])
                dynamodb.put_resource_policy(ResourceArn=table_arn, Policy=document)
            else:
                dynamodb.delete_resource_policy(ResourceArn=table_arn)
        if "SSESpecification" in changed:
            told = wanted.get("SSESpecification", {})
            by_kms = text(told.get("SSEEnabled", False)) == "true"
            tables.encrypt(self.name, by_kms=by_kms, key=told.get("KMSMasterKeyId"))

    def _index_changes(self) -> list[dict[str, Any]]:
        """Return what UpdateTable has to do, so that the indexes are those of the template."""
        found = client("dynamodb").describe_table(TableName=self.name)["Table"]
        there = {one["IndexName"] for one in found.get("GlobalSecondaryIndexes", [])}
        wanted = _indexes(self.properties)
        updates: list[dict[str, Any]] = [
            {"Delete": {"IndexName": name}} for name in there - wanted.keys()
        ]
        for name, index in wanted.items():
            told = {**index}
            if throughput := index.get("ProvisionedThroughput"):
                told["ProvisionedThroughput"] = _numbers(throughput)
            if name not in there:
                updates.append({"Create": told})
            elif throughput:
                told = {"IndexName": name, "ProvisionedThroughput": told["ProvisionedThroughput"]}
                updates.append({"Update": told})
        return updates

    def _stream(self, before: Properties) -> None:
        """A stream of another view is another stream, with another ARN."""
        dynamodb = client("dynamodb")
        if before.get("StreamSpecification"):
            off = {"StreamEnabled": False}
            dynamodb.update_table(TableName=self.name, StreamSpecification=off)
        if stream := self.properties.get("StreamSpecification"):
            on = {"StreamEnabled": True, "StreamViewType": stream["StreamViewType"]}
            dynamodb.update_table(TableName=self.name, StreamSpecification=on)

    def remove(self) -> None:
        client("dynamodb").delete_table(TableName=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        table = client("dynamodb").describe_table(TableName=self.name)["Table"]
        return str(table[{"Arn": "TableArn", "StreamArn": "LatestStreamArn"}[attribute]])


def _check_indexes(properties: Properties, before: Properties) -> None:
    """Raise what CloudFormation says where an update asks for more than DynamoDB does at a time."""
    new, old = _indexes(properties), _indexes(before)
    if len(new.keys() ^ old.keys()) > 1:
        raise TableChangeError(
            "Cannot perform more than one GSI creation or deletion in a single update"
        )
    can_change = {"ContributorInsightsSpecification", "ProvisionedThroughput"}
    if any(between(old[name], new[name]) - can_change for name in new.keys() & old.keys()):
        raise TableChangeError(
            "Cannot update GSI's properties other than Provisioned Throughput and Contributor "
            "Insights Specification. You can create a new GSI with a different name."
        )


def _indexes(properties: Properties) -> dict[str, Properties]:
    return {one["IndexName"]: one for one in properties.get("GlobalSecondaryIndexes", [])}


def _numbers(throughput: Properties) -> dict[str, int]:
    return {name: int(value) for name, value in throughput.items()}
