"""S3: objects whose checksum is not the one that was sent along, and metadata that is too long."""

import base64
import binascii
import hashlib
import zlib
from collections.abc import Callable
from typing import Any, Final

from lifoq_localcloud.service_rules.refused import RefusedError

MOST_METADATA_BYTES: Final = 2_048
_CHECKSUMS: Final[dict[str, tuple[str, Callable[[bytes], bytes]]]] = {
    "ChecksumCRC32": ("CRC32", lambda body: zlib.crc32(body).to_bytes(4, "big")),
    "ChecksumSHA1": ("SHA1", lambda body: hashlib.sha1(body, usedforsecurity=False).digest()),
    "ChecksumSHA256": ("SHA256", lambda body: hashlib.sha256(body).digest()),
}
"""The checksums by parameter. CRC32C and CRC64NVME, which Python has not, are taken as they are."""


def check_object(asked: dict[str, Any]) -> None:
    """Hold an object against the checksum that came with it."""
    size = sum(len(f"{name}{value}".encode()) for name, value in _metadata(asked).items())
    if size > MOST_METADATA_BYTES:
        raise RefusedError(
            "MetadataTooLarge",
            "Your metadata headers exceed the maximum allowed metadata size",
        )
    if "aws-chunked" in (asked.get("ContentEncoding") or ""):
        return  # the checksum stands behind the last chunk
    body: bytes = asked.get("Body") or b""
    if (told := asked.get("ContentMD5")) is not None:
        if len(_decoded(told)) != hashlib.md5(usedforsecurity=False).digest_size:
            raise RefusedError("InvalidDigest", "The Content-MD5 you specified was invalid.")
        if _decoded(told) != hashlib.md5(body, usedforsecurity=False).digest():
            raise RefusedError(
                "BadDigest", "The Content-MD5 you specified did not match what we received."
            )
    for name, (shown, count) in _CHECKSUMS.items():
        if (told := asked.get(name)) is None:
            continue
        counted = count(body)
        if len(_decoded(told)) != len(counted):
            raise RefusedError(
                "InvalidRequest", f"Value for x-amz-checksum-{shown.lower()} header is invalid."
            )
        if _decoded(told) != counted:
            raise RefusedError(
                "BadDigest",
                f"The {shown} you specified did not match the calculated checksum.",
            )


def check_page(asked: dict[str, Any]) -> None:
    """Refuse a page of less than no objects."""
    if (asked.get("MaxKeys") or 0) < 0:
        raise RefusedError(
            "InvalidArgument", "Argument maxKeys must be an integer between 0 and 2147483647"
        )


def check_lifecycle(asked: dict[str, Any]) -> None:
    """Refuse a configuration without a rule."""
    if not (asked.get("LifecycleConfiguration") or {}).get("Rules"):
        raise RefusedError(
            "MalformedXML",
            "The XML you provided was not well-formed or did not validate against our published "
            "schema",
        )


def check_tags(asked: dict[str, Any]) -> None:
    """Refuse two tags of one name."""
    names = [one.get("Key") for one in (asked.get("Tagging") or {}).get("TagSet") or []]
    if len(names) != len(set(names)):
        raise RefusedError("InvalidTag", "Cannot provide multiple Tags with the same key")


def _metadata(asked: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = asked.get("Metadata") or {}
    return found


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
