"""Signatures of requests: AWS's version 4, and version 2 in the address of an object of S3's.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

import base64
import hashlib
import hmac
import re
from calendar import timegm
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, unquote

Environ = Mapping[str, Any]
Parameters = list[tuple[str, str]]

SKEW_SECONDS: Final = 15 * 60
"""Seconds by which a request's time may differ from this machine's. A request that somebody
overheard is of no use for longer."""

_HEADER: Final = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^/]+/(?P<scope>[^,]+),\s*"
    r"SignedHeaders=(?P<headers>[^,]+),\s*Signature=(?P<signature>[0-9a-f]{64})"
)
_TIME: Final = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_SCOPE: Final = re.compile(r"(\d{8})/([^/]*)/([^/]+)/aws4_request")
_RESOURCES: Final = frozenset(
    {
        "acl",
        "accelerate",
        "analytics",
        "cors",
        "defaultObjectAcl",
        "delete",
        "inventory",
        "lifecycle",
        "location",
        "logging",
        "metrics",
        "notification",
        "object-lock",
        "partNumber",
        "policy",
        "replication",
        "requestPayment",
        "response-cache-control",
        "response-content-disposition",
        "response-content-encoding",
        "response-content-language",
        "response-content-type",
        "response-expires",
        "restore",
        "select",
        "select-type",
        "storageClass",
        "tagging",
        "torrent",
        "uploadId",
        "uploads",
        "versionId",
        "versioning",
        "versions",
        "website",
    }
)
"""Parameters that are part of what version 2 signs."""


class SignatureError(Exception):
    """A request that was not signed with the secret of its key; the message says why."""


class StaleError(SignatureError):
    """A request that was signed too long ago, or for another time."""


def check(environ: Environ, body: bytes, secret: str, *, now: float) -> None:
    """Raise SignatureError unless the request was signed with this secret, a short while before
    ``now`` (epoch seconds), or has an address that was, and is still good."""
    parameters = _parameters(environ)
    named = dict(parameters)
    if authorization := environ.get("HTTP_AUTHORIZATION"):
        _in_header(environ, authorization, parameters, body, now).check(environ, secret)
    elif "X-Amz-Signature" in named:
        _in_address(named, parameters, body, now).check(environ, secret)
    else:
        _check_version_2(environ, named, parameters, secret, now)


@dataclass(frozen=True, kw_only=True)
class _Signed:
    """The signature of version 4 in a request: who signed, when, and which headers and body."""

    signature: str
    scope: str
    """DATE/REGION/SERVICE/aws4_request"""
    headers: str
    """Names of the headers that are signed, between semicolons."""
    moment: str
    """The time of the signature, for example 20260131T120000Z."""
    digest: str
    """The SHA-256 of the body, or the words that stand for a body that is not signed."""
    parameters: Parameters

    def check(self, environ: Environ, secret: str) -> None:
        """Raise SignatureError where it was made with another secret, or for another request."""
        scope = _SCOPE.fullmatch(self.scope)
        if scope is None or scope[1] != self.moment[:8]:
            raise SignatureError("The credential's scope is not DATE/REGION/SERVICE/aws4_request.")
        names = self.headers.split(";")
        if "host" not in names:
            raise SignatureError("The header Host has to be signed.")
        request = (
            environ["REQUEST_METHOD"],
            _path(environ) if scope[3] == "s3" else _encoded_twice(_path(environ)),
            _query(self.parameters),
            *(f"{name}:{' '.join(_header(environ, name).split())}" for name in names),
            "",
            self.headers,
            self.digest,
        )
        digest = hashlib.sha256("\n".join(request).encode("latin-1", "replace")).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{self.moment}\n{self.scope}\n{digest}"
        key = _key(secret, *scope.groups())
        _compare(self.signature, hmac.digest(key, text.encode(), "sha256").hex())


def _in_header(
    environ: Environ, authorization: str, parameters: Parameters, body: bytes, now: float
) -> _Signed:
    found = _HEADER.fullmatch(authorization.strip())
    if found is None:
        raise SignatureError("The header Authorization is not as version 4 of signatures has it.")
    moment = environ.get("HTTP_X_AMZ_DATE") or _iso(environ.get("HTTP_DATE", ""))
    if abs(now - _seconds(moment)) > SKEW_SECONDS:
        raise StaleError(f"The request was signed at {moment}, which is not now.")
    told = environ.get("HTTP_X_AMZ_CONTENT_SHA256")
    digest = hashlib.sha256(body).hexdigest()
    if told and _DIGEST.fullmatch(told) and told != digest:
        raise SignatureError("The body is another than the one that was signed.")
    return _Signed(**found.groupdict(), moment=moment, digest=told or digest, parameters=parameters)


def _in_address(
    named: Mapping[str, str], parameters: Parameters, body: bytes, now: float
) -> _Signed:
    moment, lasts = named.get("X-Amz-Date", ""), named.get("X-Amz-Expires", "")
    begin = _seconds(moment)
    if not lasts.isdecimal() or not begin - SKEW_SECONDS <= now <= begin + int(lasts):
        raise StaleError("The address has expired, or is for another time.")
    scope = named.get("X-Amz-Credential", "").partition("/")[2]
    of_s3 = scope.split("/")[2:3] == ["s3"]
    return _Signed(
        signature=named["X-Amz-Signature"],
        scope=scope,
        headers=named.get("X-Amz-SignedHeaders", ""),
        moment=moment,
        digest="UNSIGNED-PAYLOAD" if of_s3 else hashlib.sha256(body).hexdigest(),
        parameters=[one for one in parameters if one[0] != "X-Amz-Signature"],
    )


def _check_version_2(
    environ: Environ, named: Mapping[str, str], parameters: Parameters, secret: str, now: float
) -> None:
    expires = named.get("Expires", "")
    if not expires.isdecimal() or int(expires) < now:
        raise StaleError("The address has expired.")
    headers = {name: _header(environ, name) for name in ("content-md5", "content-type")}
    own = {
        name[5:].replace("_", "-").lower(): str(value)
        for name, value in environ.items()
        if name.startswith("HTTP_X_AMZ_")
    }
    for name, value in parameters:
        if name.lower().startswith("x-amz-"):
            own[name.lower()] = value
        elif name.lower() in headers:
            headers[name.lower()] = value
    text = (
        environ["REQUEST_METHOD"],
        *headers.values(),
        expires,
        *(f"{name}:{own[name].strip()}" for name in sorted(own)),
        _resource(environ, parameters),
    )
    digest = hmac.digest(secret.encode(), "\n".join(text).encode("latin-1", "replace"), "sha1")
    _compare(named.get("Signature", ""), base64.b64encode(digest).decode())


def _resource(environ: Environ, parameters: Parameters) -> str:
    """The object's path, its bucket included, as version 2 signs it."""
    name, dot, _ = str(environ.get("HTTP_HOST", "")).rpartition(".localhost")
    path = f"/{name}{_path(environ)}" if dot else _path(environ)
    known = sorted(one for one in parameters if one[0] in _RESOURCES)
    told = "&".join(f"{name}={value}" if value else name for name, value in known)
    return f"{path}?{told}" if told else path


@lru_cache(maxsize=256)
def _key(secret: str, date: str, region: str, service: str) -> bytes:
    """The key of one day, region and service."""
    key = b"AWS4" + secret.encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _compare(given: str, wanted: str) -> None:
    if not hmac.compare_digest(given.encode(), wanted.encode()):
        raise SignatureError(
            "The signature does not match: the secret key is another, or the request is."
        )


def _seconds(moment: str) -> float:
    """Epoch seconds. StaleError."""
    found = _TIME.fullmatch(moment)
    try:
        if found is not None:
            return timegm(tuple(map(int, found.groups())))
    except ValueError:
        pass
    raise StaleError("The request does not tell when it was signed, in X-Amz-Date.")


def _iso(date: str) -> str:
    """A date as HTTP has it, as signatures have it; empty where it is none."""
    try:
        return parsedate_to_datetime(date).strftime("%Y%m%dT%H%M%SZ")
    except ValueError:
        return ""


# Of a head, each byte is read as a character of Latin-1, and so goes back into the byte it was.


def _path(environ: Environ) -> str:
    """The path as it came."""
    return str(environ["RAW_URI"]).partition("?")[0]


def _encoded_twice(path: str) -> str:
    """The path without dots and empty parts, encoded once more, as all services but S3 sign it."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    slash = "/" if parts and path.endswith("/") else ""
    return quote(f"/{'/'.join(parts)}{slash}", safe="/~", encoding="latin-1")


def _parameters(environ: Environ) -> Parameters:
    """The parameters of the address, decoded."""
    query: str = environ.get("QUERY_STRING", "")
    pairs = (part.partition("=") for part in query.split("&")) if query else ()
    return [(unquote(name, "latin-1"), unquote(value, "latin-1")) for name, _, value in pairs]


def _query(parameters: Parameters) -> str:
    return "&".join(f"{name}={value}" for name, value in sorted(map(_encoded, parameters)))


def _encoded(pair: Iterable[str]) -> tuple[str, ...]:
    return tuple(quote(text, safe="-_.~", encoding="latin-1") for text in pair)


def _header(environ: Environ, name: str) -> str:
    known = name.upper().replace("-", "_")
    plain = known in ("CONTENT_TYPE", "CONTENT_LENGTH")
    return str(environ.get(known if plain else f"HTTP_{known}", ""))
