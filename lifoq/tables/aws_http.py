"""A call of AWS's as HTTP: its signature, its sending, its answer. Errors are botocore's, which
take little time to import; the rest of it is not needed here."""

import base64
import hashlib
import hmac
import json
import ssl
import time
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ConnectionClosedError,
    HTTPClientError,
    NoCredentialsError,
    ReadTimeoutError,
    SSLError,
)

from lifoq.basics.host import MICROSECONDS
from lifoq.tables.aws_errors import refuse_half_answers
from lifoq.tables.connections import Answer, Connections, Headers

CONNECT_TIMEOUT: Final = 2
"""Seconds until a server must have taken a connection: AWS does so in milliseconds."""
READ_TIMEOUT: Final = 5
"""Seconds until the next bytes of an answer must have come: DynamoDB sends all at once."""
ATTEMPTS: Final = 4
"""Of a call that may be repeated: about 25 s in the worst case, less than the default lease."""
CONNECTIONS: Final = 320
"""Attempts claim and settle in threads of their own."""
DYNAMODB: Final = "DynamoDB_20120810"


class Credentials(NamedTuple):
    access_key: str
    secret_key: str
    token: str | None


def dynamodb_headers(operation: str, *, host: str, user_agent: str) -> Headers:
    return Headers(
        {
            "host": host,
            "x-amz-target": f"{DYNAMODB}.{operation}",
            "content-type": "application/x-amz-json-1.0",
            "user-agent": user_agent,
        }
    )


def body_of(request: Mapping[str, Any]) -> bytes:
    return json.dumps(request, default=_base64).encode()


def signed(
    headers: Headers,
    body: bytes,
    *,
    credentials: Credentials | None,
    now: int,
    region: str,
    service: str,
) -> Headers:
    """The headers of a POST to ``/``, by AWS's Signature Version 4. ``now``: epoch microseconds.
    NoCredentialsError."""
    if credentials is None:
        raise NoCredentialsError
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now // MICROSECONDS))
    found = Headers({**headers, "x-amz-date": stamp})
    if credentials.token:
        found["x-amz-security-token"] = credentials.token
    names = sorted(name for name in found if name == "host" or name.startswith("x-amz-"))
    lines, listed = "".join(f"{name}:{found[name]}\n" for name in names), ";".join(names)
    canonical = f"POST\n/\n\n{lines}\n{listed}\n{hashlib.sha256(body).hexdigest()}"
    day = stamp[:8]
    scope = f"{day}/{region}/{service}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = _signing_key(credentials.secret_key, day, region, service)
    signature = hmac.digest(key, f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}".encode(), "sha256")
    found["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, "
        f"SignedHeaders={listed}, Signature={signature.hex()}"
    )
    return found


def exchange(connections: Connections, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """One request, one answer; errors are botocore's, as its ``URLLib3Session`` raises them."""
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    head = f"POST / HTTP/1.1\r\n{''.join(lines)}Content-Length: {len(body)}\r\n\r\n"
    try:
        return connections.exchange(head.encode("latin-1") + body)
    except BotoCoreError:  # of these, too, some are OSErrors
        raise
    except TimeoutError as error:
        raise ReadTimeoutError(endpoint_url=url, error=error) from error
    except ssl.SSLError as error:
        raise SSLError(endpoint_url=url, error=error) from error
    except OSError as error:
        raise ConnectionClosedError(endpoint_url=url, error=error) from error


def read(answer: Any) -> dict[str, Any]:
    """A success. IncompleteReadError, ChecksumError, or HTTPClientError where it is not AWS's."""
    told = answer.headers.get("x-amz-crc32")
    if told is not None and told != (found := str(zlib.crc32(answer.content))):
        raise ChecksumError(checksum_type="crc32", expected_checksum=told, actual_checksum=found)
    refuse_half_answers(answer)
    try:
        document: dict[str, Any] = json.loads(answer.content)
    except ValueError as error:
        raise HTTPClientError(error=error) from error
    return document


@lru_cache(maxsize=8)
def _signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _base64(value: object) -> str:
    """For JSON, which has no bytes."""
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    raise TypeError(f"{value!r} is no value of DynamoDB's")
