"""Encryption keys of KMS, and their other names."""

import json

from moto.core.common_models import CloudFormationModel
from moto.kms.models import Alias

from lifoq_localcloud.deployments.resources.changes import ByMoto, text
from lifoq_localcloud.deployments.resources.resource import Properties, Resource, client


class EncryptionKey(Resource, CloudFormationModel):
    """moto takes a key's tags by other names than CloudFormation has, and no change of a key."""

    TYPE = "AWS::KMS::Key"
    CHANGES = frozenset({"Description", "EnableKeyRotation", "KeyPolicy"})

    def create(self) -> None:
        answer = client("kms").create_key(
            Policy=json.dumps(self.properties["KeyPolicy"]),
            Description=self.properties.get("Description", ""),
        )
        self.name = answer["KeyMetadata"]["KeyId"]
        self._rotate()

    def update(self, before: Properties) -> None:  # noqa: ARG002 - as for all types
        kms = client("kms")
        policy = json.dumps(self.properties["KeyPolicy"])
        kms.put_key_policy(KeyId=self.name, PolicyName="default", Policy=policy)
        description = self.properties.get("Description", "")
        kms.update_key_description(KeyId=self.name, Description=description)
        self._rotate()

    def _rotate(self) -> None:
        if text(self.properties.get("EnableKeyRotation")) == "true":
            client("kms").enable_key_rotation(KeyId=self.name)
        else:
            client("kms").disable_key_rotation(KeyId=self.name)

    def remove(self) -> None:
        client("kms").schedule_key_deletion(KeyId=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        return str(client("kms").describe_key(KeyId=self.name)["KeyMetadata"][attribute])


class DeployedAlias(ByMoto, Alias, CloudFormationModel):
    CHANGES = frozenset({"TargetKeyId"})
