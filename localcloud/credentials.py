"""Who calls: every function has an access key of its own, which tells its requests apart."""

import hashlib
from typing import Any

from .account import REGION

SECRET = "local"  # noqa: S105 - there is nothing behind it


def access_key(caller: str) -> str:
    """The key of a function, by name; the empty name is any client outside."""
    return "LKIA" + hashlib.sha256(caller.encode()).hexdigest()[:16].upper()


def environment(endpoint: str, *, caller: str = "") -> dict[str, str]:
    """What points AWS's SDKs and tools at this cloud, and at nothing else."""
    return {
        "AWS_ACCESS_KEY_ID": access_key(caller),
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def arguments(endpoint: str) -> dict[str, Any]:
    """The same for one client of boto3's."""
    return {
        "aws_access_key_id": access_key(""),
        "aws_secret_access_key": SECRET,
        "region_name": REGION,
        "endpoint_url": endpoint,
    }
