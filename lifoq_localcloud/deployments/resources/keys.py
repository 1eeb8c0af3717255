"""Encryption keys of KMS."""

import json

from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.deployments.resources.resource import Resource, client


class EncryptionKey(Resource, CloudFormationModel):
    """moto takes a key's tags by other names than CloudFormation has, and no change of a key."""

    TYPE = "AWS::KMS::Key"

    def create(self) -> None:
        answer = client("kms").create_key(
            Policy=json.dumps(self.properties["KeyPolicy"]),
            Description=self.properties.get("Description", ""),
        )
        self.name = answer["KeyMetadata"]["KeyId"]

    def update(self) -> None:
        client("kms").put_key_policy(
            KeyId=self.name, PolicyName="default", Policy=json.dumps(self.properties["KeyPolicy"])
        )

    def remove(self) -> None:
        client("kms").schedule_key_deletion(KeyId=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        return str(client("kms").describe_key(KeyId=self.name)["KeyMetadata"][attribute])
