"""DynamoDB by lifoq's own client."""

import base64
import json
import uuid
import zlib
from collections.abc import Mapping
from typing import Any, Final

from botocore.exceptions import ChecksumError

from lifoq.aws.connections import Answer
from lifoq.aws.own_client import Service, document, refusal_in_json

VERSION: Final = "DynamoDB_20120810"


class DynamoCalls:
    """Calls of DynamoDB by lifoq's own client."""

    def __init__(self, service: Service, *, attempts: int) -> None:
        """``attempts``: the most that a call is sent."""
        self._service = service
        self._attempts = attempts
        self.region = service.endpoint.region

    def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer, with bytes in base64. Raises what boto3's client would."""
        if operation == "TransactWriteItems":  # repeated, it is the same transaction
            request = {**request, "ClientRequestToken": str(uuid.uuid4())}
        return self._service.call(
            operation,
            {
                "x-amz-target": f"{VERSION}.{operation}",
                "content-type": "application/x-amz-json-1.0",
            },
            json.dumps(request, default=_base64).encode(),
            attempts=self._attempts,
            of_success=_read,
            of_refusal=refusal_in_json,
        )


def _read(answer: Answer) -> dict[str, Any]:
    """Return what an answer holds. Raises ChecksumError, and HTTPClientError where it is not of
    AWS."""
    told = answer.headers.get("x-amz-crc32")
    if told is not None and told != (found := str(zlib.crc32(answer.content))):
        raise ChecksumError(checksum_type="crc32", expected_checksum=told, actual_checksum=found)
    return document(answer.content)


def _base64(value: object) -> str:
    """Return bytes as text, since JSON has none."""
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    raise TypeError(f"{value!r} is no value of DynamoDB's")
