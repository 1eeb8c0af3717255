"""AWS's Signature Version 4, for a POST to the path ``/``."""

import hashlib
import hmac
import time
from functools import lru_cache
from typing import NamedTuple

from botocore.exceptions import NoCredentialsError

from lifoq.aws.connections import Headers
from lifoq.basics.host import MICROSECONDS
from lifoq.errors import QueueMisconfigured


class Credentials(NamedTuple):
    """An access key of AWS with its secret, and the session's token if it is temporary."""

    access_key: str
    secret_key: str
    token: str | None


def signed(
    headers: Headers,
    body: bytes,
    *,
    credentials: Credentials | None,
    now: int,
    region: str,
    service: str,
) -> Headers:
    """Return the request's headers with its signature. ``now``: epoch microseconds.

    Raises NoCredentialsError where there are none, and QueueMisconfigured where a header cannot
    hold them; that sentence shows nothing of them.
    """
    if credentials is None:
        raise NoCredentialsError
    _check(credentials)
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


@lru_cache(maxsize=8)
def _check(credentials: Credentials) -> None:
    """Raise QueueMisconfigured where a value would end its header, or is no ASCII."""
    for name, value in credentials._asdict().items():
        if value and not (value.isascii() and value.isprintable()):
            called = name.replace("_", " ")
            raise QueueMisconfigured(
                f"the credentials' {called} has a line break or a character outside of ASCII, "
                "which no request can hold: set it anew, as AWS gave it"
            )


@lru_cache(maxsize=8)
def _signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
