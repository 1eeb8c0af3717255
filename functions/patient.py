"""boto3's clients, with the product's patience: for what is not called without boto3."""

from typing import Any

import boto3
from botocore.config import Config


def client(service: str, *, connections: int = 10) -> Any:
    """``connections``: as many calls as are made at once."""
    patient = Config(
        connect_timeout=2,
        read_timeout=5,
        retries={"mode": "standard", "total_max_attempts": 4},
        max_pool_connections=connections,
    )
    make: Any = boto3.client
    return make(service, config=patient)
