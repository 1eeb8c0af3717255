"""boto3's clients, with the product's patience: for what the own client does not call."""

from typing import Any

from botocore.config import Config

from lifoq.aws.boto3_clients import new_client


def client(service: str, *, connections: int = 10) -> Any:
    """``connections``: as many calls as are made at once."""
    return new_client(service, config=Config(max_pool_connections=connections))
