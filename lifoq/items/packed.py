"""JSON text as an item holds it: short text as it is, longer text compressed, as bytes.

Each write of an item costs its size, in steps of 1 KB. Which of the two it is its type tells, S or
B, so that both can be read for ever.
"""

import zlib
from typing import Final

from lifoq.items.schema import MAX_ITEM_BYTES

SHORT: Final = 700
"""Bytes. With so much of a payload, an item still fits 1 KB."""
LEVEL: Final = 6
"""zlib's own default: 4 KB of JSON take some 0.1 ms."""


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
