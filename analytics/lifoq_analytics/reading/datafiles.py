"""A data file, read as a stream: its bytes are hashed, unzipped and cut into blocks of whole lines.

Memory holds one block, however large the file and however long a line: a line longer than
``longest_line`` is not kept, only its beginning and its length.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

BLOCK_BYTES: Final = 16 * 1024 * 1024
"""Bytes of unzipped lines that are parsed at once."""
LONGEST_LINE: Final = 8 * 1024 * 1024
"""Two images of DynamoDB's largest item, 400 KB, written with an escape for every third byte."""
KEPT_BYTES: Final = 4_096
"""Bytes that are kept of a line that is no task."""

_NEWLINE: Final = b"\n"


@dataclass(frozen=True, kw_only=True)
class LongLine:
    """A line that is too long to be a task."""

    beginning: bytes
    length: int


class UnreadableError(Exception):
    """The file ends too early, or is not gzip."""


class Digest:
    """A file's raw bytes, hashed on their way to whoever reads them."""

    closed = False

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream
        self._md5 = hashlib.md5(usedforsecurity=False)

    def close(self) -> None:
        """Whoever reads is done; there may be more to hash."""

    def read(self, size: int) -> bytes:
        data = bytes(self._stream.read(size))
        self._md5.update(data)
        return data

    def rest(self) -> str:
        """The MD5 of the whole file, hexadecimal, what nobody has read included."""
        while self.read(BLOCK_BYTES):
            pass
        return self._md5.hexdigest()


def blocks(source: Digest, *, longest_line: int = LONGEST_LINE) -> Iterator[bytes | LongLine]:
    """Blocks of whole lines of a gzipped file, and lines that are too long, in the file's order.

    Raises ``UnreadableError`` where it does not end as gzip does.
    """
    # A chunk is never longer than the longest line: a longer one always meets an end of a chunk,
    # where its length is looked at.
    chunk_bytes = min(BLOCK_BYTES, longest_line)
    line = _Line(longest_line)
    for chunk in _unzipped(source, chunk_bytes):
        end = chunk.find(_NEWLINE)
        if end < 0:
            line.add(chunk)
            continue
        line.add(chunk[:end])
        last = chunk.rfind(_NEWLINE) + 1
        if line.is_long:
            yield line.cut()
            if end + 1 < last:
                yield chunk[end + 1 : last]
        else:
            yield bytes(line.kept) + chunk[end:last]
        line = _Line(longest_line)
        line.add(chunk[last:])
    if line.is_long:
        yield line.cut()
    elif line.length:
        yield bytes(line.kept) + _NEWLINE


class _Line:
    """A line whose end has not been seen yet; of a long one only the beginning is kept."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self.kept = bytearray()
        self.length = 0

    @property
    def is_long(self) -> bool:
        return self.length > self._longest

    def add(self, text: bytes) -> None:
        self.length += len(text)
        self.kept += text
        if self.is_long:
            del self.kept[KEPT_BYTES:]

    def cut(self) -> LongLine:
        return LongLine(beginning=bytes(self.kept), length=self.length)


def _unzipped(source: Digest, size: int) -> Iterator[bytes]:
    try:
        stream = pa.CompressedInputStream(pa.PythonFile(source, mode="r"), "gzip")
        while chunk := stream.read(size):
            yield chunk
    except OSError as error:
        raise UnreadableError(str(error)) from error
