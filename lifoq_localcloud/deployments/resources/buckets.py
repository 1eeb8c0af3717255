"""Buckets: their lifecycle, who is kept out, and their changes."""

from typing import Any, Final

from moto.core.common_models import CloudFormationModel
from moto.s3.models import FakeBucket

from lifoq_localcloud.deployments.resources.resource import Properties, client


class DeployedBucket(FakeBucket, CloudFormationModel):
    """moto's bucket, with its lifecycle and who is kept out; a change of one whose name
    CloudFormation made up finds it."""

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *place: Any, **more: Any
    ) -> FakeBucket:
        bucket = FakeBucket.create_from_cloudformation_json(
            resource_name, cloudformation_json, *place, **more
        )
        _settle(bucket.name, cloudformation_json.get("Properties", {}))
        return bucket

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: FakeBucket,
        new_resource_name: str,
        cloudformation_json: Properties,
        *place: Any,
        **more: Any,
    ) -> FakeBucket:
        named = {"BucketName": original_resource.name, **cloudformation_json["Properties"]}
        _settle(original_resource.name, cloudformation_json["Properties"])
        return FakeBucket.update_from_cloudformation_json(
            original_resource,
            new_resource_name,
            {**cloudformation_json, "Properties": named},
            *place,
            **more,
        )


_OF_A_RULE: Final = frozenset(
    {"AbortIncompleteMultipartUpload", "ExpirationInDays", "Id", "Prefix", "Status"}
)
"""The parts of a lifecycle rule that lifoq's buckets use. A rule with any other part is passed
over, as moto does with all rules."""


def _settle(bucket: str, properties: Properties) -> None:
    rules = properties.get("LifecycleConfiguration", {}).get("Rules", [])
    if known := [_lifecycle(rule) for rule in rules if rule.keys() <= _OF_A_RULE]:
        client("s3").put_bucket_lifecycle_configuration(
            Bucket=bucket, LifecycleConfiguration={"Rules": known}
        )
    if closed := properties.get("PublicAccessBlockConfiguration"):
        client("s3").put_public_access_block(
            Bucket=bucket,
            PublicAccessBlockConfiguration={
                name: str(value).lower() == "true" for name, value in closed.items()
            },
        )


def _lifecycle(rule: Properties) -> dict[str, Any]:
    """A rule as S3's API has it."""
    found: dict[str, Any] = {
        "Status": rule["Status"],
        "Filter": {"Prefix": rule.get("Prefix", "")},
    }
    if "Id" in rule:
        found["ID"] = rule["Id"]
    if days := rule.get("ExpirationInDays"):
        found["Expiration"] = {"Days": int(days)}
    if unfinished := rule.get("AbortIncompleteMultipartUpload"):
        days = int(unfinished["DaysAfterInitiation"])
        found["AbortIncompleteMultipartUpload"] = {"DaysAfterInitiation": days}
    return found
