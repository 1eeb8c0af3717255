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
    def complete(cls, resource: FakeBucket, properties: Properties) -> None:
        cls.change(resource, properties, {})

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
    if rules := [_lifecycle(rule) for rule in (wanted or {}).get("Rules", [])]:
        client("s3").put_bucket_lifecycle_configuration(
            Bucket=bucket, LifecycleConfiguration={"Rules": rules}
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

_RENAMED: Final = {
    "ExpirationInDays": ("Expiration", "Days"),
    "ExpirationDate": ("Expiration", "Date"),
    "ExpiredObjectDeleteMarker": ("Expiration", "ExpiredObjectDeleteMarker"),
    "NoncurrentVersionExpirationInDays": ("NoncurrentVersionExpiration", "NoncurrentDays"),
}
"""Parts of a lifecycle rule that S3's API has within another part."""


def _lifecycle(rule: Properties) -> dict[str, Any]:
    """A rule as S3's API has it."""
    found: dict[str, Any] = {"Status": rule["Status"], "Filter": _filter(rule)}
    if "Id" in rule:
        found["ID"] = rule["Id"]
    for name, (part, inner) in _RENAMED.items():
        if name in rule:
            found.setdefault(part, {})[inner] = _scalar(rule[name])
    for part in ("AbortIncompleteMultipartUpload", "NoncurrentVersionExpiration"):
        if part in rule:
            found[part] = {name: _scalar(value) for name, value in rule[part].items()}
    for part, days in (("Transition", "Days"), ("NoncurrentVersionTransition", "NoncurrentDays")):
        moved = [*rule.get(f"{part}s", []), *([rule[part]] if part in rule else [])]
        if moved:
            names = {"TransitionInDays": days, "TransitionDate": "Date"}
            found[f"{part}s"] = [
                {names.get(name, name): _scalar(value) for name, value in one.items()}
                for one in moved
            ]
    return found


def _filter(rule: Properties) -> dict[str, Any]:
    """Return the objects that a rule is for."""
    sizes = ("ObjectSizeGreaterThan", "ObjectSizeLessThan")
    wanted: dict[str, Any] = {name: int(rule[name]) for name in sizes if name in rule}
    if "Prefix" in rule:
        wanted["Prefix"] = rule["Prefix"]
    tags = rule.get("TagFilters", [])
    if len(wanted) + len(tags) > 1:
        return {"And": {**wanted, **({"Tags": tags} if tags else {})}}
    return {"Tag": tags[0]} if tags else wanted or {"Prefix": ""}


def _scalar(value: Any) -> Any:
    """Return a number or a truth value where CloudFormation may have its text."""
    told = text(value)
    return int(told) if told.isdecimal() else {"true": True, "false": False}.get(told, value)
