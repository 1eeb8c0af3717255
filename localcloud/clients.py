"""boto3 clients of a local cloud; they need nothing from the environment."""

import threading
from typing import Any

import boto3
from botocore.config import Config

from . import credentials
from .account import REGION


class Clients:
    """One client per service, made when it is first asked for."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._clients: dict[str, Any] = {}
        self._session = boto3.Session(
            aws_access_key_id=credentials.access_key(""),
            aws_secret_access_key=credentials.SECRET,
            region_name=REGION,
        )

    def __call__(self, service: str) -> Any:
        with self._lock:
            if service not in self._clients:
                self._clients[service] = self._session.client(  # type: ignore[call-overload] # any service
                    service,
                    endpoint_url=self._endpoint,
                    config=Config(
                        account_id_endpoint_mode="disabled",
                        retries={"total_max_attempts": 1},
                        max_pool_connections=50,
                        read_timeout=900,
                        s3={"addressing_style": "path"},
                    ),
                )
            return self._clients[service]
