"""JSON text as an item holds it: short text as it is, longer text compressed, as bytes; and where a
queue has a bucket, what is large as the name of an object there.

Each write of an item costs its size, in steps of 1 KB. Which of the three it is, its type tells, S,
B or M, so that all can be read for ever.
"""

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from lifoq.items.schema import MAX_ITEM_BYTES

SHORT: Final = 700
"""Bytes. With so much of a payload, an item still fits 1 KB."""
LEVEL: Final = 6
"""zlib's own default: 4 KB of JSON take some 0.1 ms."""


PARTS: Final = ("payload", "checkpoint", "result")
"""The attributes of a task that may be large."""


@dataclass(frozen=True, kw_only=True)
class Large:
    """A payload, checkpoint or result that lies in an object of the queue's bucket, and was not
    read from there.

    Examples:
        >>> queue = Queue.in_memory(large_payloads=True)
        >>> task = queue.put("report.render", "long " * 100_000, task_id="r-17")
        >>> large = queue.look("r-17").payload
        >>> large.size, queue.get("r-17").payload == "long " * 100_000
        (500002, True)
    """

    key: str
    """The object's key in the bucket."""
    size: int
    """The size of the object, in bytes of JSON."""
    sha256: str
    """The SHA-256 of the object's content, in hexadecimal."""

    @classmethod
    def of(cls, content: bytes, *, key: str) -> "Large":
        """Describe an object.

        Args:
            content: The content of the object.
            key: Its key in the bucket.
        """
        from hashlib import sha256  # noqa: PLC0415 - few tasks are large

        return cls(key=key, size=len(content), sha256=sha256(content).hexdigest())

    @classmethod
    def decode(cls, value: Mapping[str, Any]) -> "Large":
        """Read the map by which an item names an object.

        Args:
            value: A map as ``encode`` returns it.

        Raises:
            ValueError: The map names no object.
        """
        try:
            found = cls(key=value["key"], size=value["size"], sha256=value["sha256"])
        except KeyError as missing:
            raise ValueError(f"it has no {missing}") from missing
        if (type(found.key), type(found.size), type(found.sha256)) != (str, int, str):
            raise ValueError(f"key {found.key!r}, size {found.size!r}, sha256 {found.sha256!r}")
        return found

    def encode(self) -> dict[str, Any]:
        """Return the reference as an item holds it."""
        return asdict(self)

    def is_of(self, content: bytes) -> bool:
        """Return True if this is the content that was written.

        Args:
            content: The content that the object has now.
        """
        return self == Large.of(content, key=self.key)


def pack(text: str) -> str | bytes:
    """The shorter of the two. What would be too large for an item stays as it is: whether an item
    holds it must not depend on how well it can be compressed."""
    if len(text) <= SHORT // 4:  # no character takes more than four bytes
        return text
    whole = text.encode()
    if not SHORT < len(whole) <= MAX_ITEM_BYTES:
        return text
    packed = zlib.compress(whole, LEVEL)
    return packed if len(packed) < len(whole) else text


def unpack(value: str | bytes) -> str:
    """The text. ValueError where the bytes are no text of ours."""
    if isinstance(value, str):
        return value
    reader = zlib.decompressobj()
    try:
        whole = reader.decompress(value, MAX_ITEM_BYTES)
    except zlib.error as error:
        raise ValueError(f"not zlib's: {error}") from error
    if not reader.eof or reader.unused_data:
        raise ValueError(f"cut off, or more than {MAX_ITEM_BYTES:,} bytes")
    return whole.decode()
