"""Buckets: their lifecycle, who is kept out, and their changes."""

from typing import Any, Final

from moto.core.common_models import CloudFormationModel
from moto.s3.models import FakeBucket

from lifoq_localcloud.deployments.resources.changes import between, text
from lifoq_localcloud.deployments.resources.resource import Properties, client


class DeployedBucket(FakeBucket, CloudFormationModel):
    """moto's bucket, with what it drops, such as its lifecycle and who is kept out."""

    CHANGES = frozenset(
        {
            *("BucketEncryption", "LifecycleConfiguration", "OwnershipControls"),
            *("PublicAccessBlockConfiguration", "Tags", "VersioningConfiguration"),
        }
    )

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *place: Any, **more: Any
    ) -> FakeBucket:
        bucket = FakeBucket.create_from_cloudformation_json(
            resource_name, cloudformation_json, *place, **more
        )
        properties = cloudformation_json.get("Properties", {})
        for name in properties.keys() & _SETTLED.keys():
            _SETTLED[name](bucket.name, properties[name])
        return bucket

    @classmethod
    def change(cls, resource: FakeBucket, properties: Properties, before: Properties) -> None:
        for name in between(before, properties) & _SETTLED.keys():
            _SETTLED[name](resource.name, properties.get(name))

    @classmethod
    def destroy(cls, resource: Any) -> None:
        """Delete it if it is empty. CDK's ``auto_delete_objects`` empties it first, on AWS by a
        function of its own."""
        s3 = client("s3")
        tags = resource.given_properties.get("Tags", [])
        if {"Key": "aws-cdk:auto-delete-objects", "Value": "true"} in tags:
            for page in s3.get_paginator("list_object_versions").paginate(Bucket=resource.name):
                for one in (*page.get("Versions", []), *page.get("DeleteMarkers", [])):
                    s3.delete_object(
                        Bucket=resource.name, Key=one["Key"], VersionId=one["VersionId"]
                    )
        s3.delete_bucket(Bucket=resource.name)


def _settle_lifecycle(bucket: str, wanted: Any) -> None:
    rules = (wanted or {}).get("Rules", [])
    if known := [_lifecycle(rule) for rule in rules if rule.keys() <= _OF_A_RULE]:
        client("s3").put_bucket_lifecycle_configuration(
            Bucket=bucket, LifecycleConfiguration={"Rules": known}
        )
    else:
        client("s3").delete_bucket_lifecycle(Bucket=bucket)


def _settle_public_access(bucket: str, wanted: Any) -> None:
    if wanted:
        blocked = {name: text(value) == "true" for name, value in wanted.items()}
        client("s3").put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=blocked)
    else:
        client("s3").delete_public_access_block(Bucket=bucket)


def _settle_versioning(bucket: str, wanted: Any) -> None:
    """A bucket that once had versions keeps those it has."""
    status = {"Status": (wanted or {}).get("Status", "Suspended")}
    client("s3").put_bucket_versioning(Bucket=bucket, VersioningConfiguration=status)


def _settle_encryption(bucket: str, wanted: Any) -> None:
    if not wanted:
        client("s3").delete_bucket_encryption(Bucket=bucket)
        return
    rules = [
        {
            "ApplyServerSideEncryptionByDefault": rule["ServerSideEncryptionByDefault"],
            "BucketKeyEnabled": text(rule.get("BucketKeyEnabled", False)) == "true",
        }
        for rule in wanted["ServerSideEncryptionConfiguration"]
    ]
    client("s3").put_bucket_encryption(
        Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": rules}
    )


def _settle_ownership(bucket: str, wanted: Any) -> None:
    if wanted:
        client("s3").put_bucket_ownership_controls(Bucket=bucket, OwnershipControls=wanted)
    else:
        client("s3").delete_bucket_ownership_controls(Bucket=bucket)


def _settle_tags(bucket: str, wanted: Any) -> None:
    if wanted:
        client("s3").put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": wanted})
    else:
        client("s3").delete_bucket_tagging(Bucket=bucket)


_SETTLED: Final = {
    "BucketEncryption": _settle_encryption,
    "LifecycleConfiguration": _settle_lifecycle,
    "OwnershipControls": _settle_ownership,
    "PublicAccessBlockConfiguration": _settle_public_access,
    "Tags": _settle_tags,
    "VersioningConfiguration": _settle_versioning,
}
"""The functions that give a bucket a property; None takes it away."""

_OF_A_RULE: Final = frozenset(
    {"AbortIncompleteMultipartUpload", "ExpirationInDays", "Id", "Prefix", "Status"}
)
"""The parts of a lifecycle rule that lifoq's buckets use. A rule with any other part is passed
over, as moto does with all rules."""


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
