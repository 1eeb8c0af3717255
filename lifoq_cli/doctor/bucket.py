"""Check that the bucket for large payloads has what the queue needs."""

import json
import math
from collections.abc import Iterator
from typing import Any, Final

from lifoq.operating.aws_calls import NotThere
from lifoq_cli.doctor.finding import Finding
from lifoq_cli.doctor.patient import Patient

DAY: Final = 86_400
CLOSED: Final = (
    *("BlockPublicAcls", "BlockPublicPolicy"),
    *("IgnorePublicAcls", "RestrictPublicBuckets"),
)


def large_payloads(patient: Patient) -> Iterator[Finding]:
    """Nothing is asked where the queue has no such bucket."""
    bucket = patient.connection.bucket
    if bucket is None:
        return
    try:
        _read(patient, bucket)
    except NotThere:
        yield Finding(
            wrong=f"There is no bucket {bucket}.",
            meaning="Payloads that no item holds can neither be put nor read: their tasks fail.",
            remedy=patient.deploy,
        )
        return
    yield from _kept(patient, bucket)
    yield from _closed(patient, bucket)


def _read(patient: Patient, bucket: str) -> None:
    """Read an object as clients do. NotAllowed says what this caller lacks, also of the key. Raises
    NotThere."""
    found = patient.account.call("s3", "list_objects_v2", Bucket=bucket, MaxKeys=1)
    for one in found.get("Contents", []):
        try:
            answer = patient.account.call("s3", "get_object", Bucket=bucket, Key=one["Key"])
        except NotThere:
            continue  # it was deleted just now
        answer["Body"].close()


def _kept(patient: Patient, bucket: str) -> Iterator[Finding]:
    """Objects are deleted by nothing else, so as not to be gone before their task is."""
    needed = math.ceil(patient.connection.lifetimes.of_objects / DAY)
    try:
        answer = patient.account.call("s3", "get_bucket_lifecycle_configuration", Bucket=bucket)
    except NotThere:
        answer = {}
    rules = answer.get("Rules", [])
    prefix = patient.connection.lifetimes.object_prefix
    days = [days for rule in rules if (days := _deletes_after(rule, prefix))]
    if days and min(days) >= needed:
        return
    # All rules of a bucket are written together: those that do something else are kept.
    mended = [
        *(_with_filter(rule) for rule in rules if not _deletes_after(rule, prefix)),
        {"Status": "Enabled", "Filter": {"Prefix": prefix}, "Expiration": {"Days": needed}},
    ]
    yield Finding(
        wrong=f"The bucket {bucket} forgets its objects after {min(days)} days."
        if days
        else f"Nothing deletes old objects from the bucket {bucket}.",
        meaning=f"A task can live for {needed} days, and be left without its payload."
        if days
        else "What was large stays for ever, when its task is long gone: the bucket grows.",
        remedy=patient.aws(
            "s3api",
            "put-bucket-lifecycle-configuration",
            bucket=bucket,
            lifecycle_configuration=json.dumps({"Rules": mended}, default=str),
        ),
    )


def _deletes_after(rule: dict[str, Any], prefix: str) -> int | None:
    """Days; None where it does not delete all objects under ``prefix``."""
    chosen = {"Prefix": rule.get("Prefix"), **rule.get("Filter", {})}
    others = [value for name, value in chosen.items() if name != "Prefix" and value]
    under = prefix.startswith(chosen["Prefix"] or "")
    if rule["Status"] != "Enabled" or others or not under:
        return None
    days: int | None = rule.get("Expiration", {}).get("Days")
    return days


def _with_filter(rule: dict[str, Any]) -> dict[str, Any]:
    """S3 takes no rule with a prefix of its own beside one with a filter."""
    rest = {name: value for name, value in rule.items() if name != "Prefix"}
    return {"Filter": {"Prefix": rule.get("Prefix", "")}, **rest}


def _closed(patient: Patient, bucket: str) -> Iterator[Finding]:
    try:
        answer = patient.account.call("s3", "get_public_access_block", Bucket=bucket)
    except NotThere:
        answer = {}
    found = answer.get("PublicAccessBlockConfiguration", {})
    if all(found.get(name) for name in CLOSED):
        return
    yield Finding(
        wrong=f"The bucket {bucket} may be opened to the public.",
        meaning="One wrong policy or ACL, and anybody reads what tasks are about.",
        remedy=patient.aws(
            "s3api",
            "put-public-access-block",
            bucket=bucket,
            public_access_block_configuration=",".join(f"{name}=true" for name in CLOSED),
        ),
    )
