"""boto3 clients of a local cloud; they need nothing from the environment."""

import threading
from typing import Any

import boto3
from botocore.config import Config

from lifoq_localcloud.basics.credentials import Credentials


class Clients:
    """One client per service, made when it is first asked for."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self._lock = threading.Lock()
        self._clients: dict[str, Any] = {}
        self._session = boto3.Session()

    def __call__(self, service: str) -> Any:
        with self._lock:
            if service not in self._clients:
                self._clients[service] = self._session.client(  # type: ignore[call-overload] # any service
                    service,
                    **self.credentials.arguments(),
                    config=Config(
                        account_id_endpoint_mode="disabled",
                        proxies={},  # whatever HTTP_PROXY says: it leads elsewhere
                        retries={"total_max_attempts": 1},
                        max_pool_connections=50,
                        read_timeout=900,
                        s3={"addressing_style": "path"},
                    ),
                )
            return self._clients[service]
