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
"""Of unzipped lines: as many as are parsed at once."""
LONGEST_LINE: Final = 8 * 1024 * 1024
"""Two images of DynamoDB's largest item, 400 KB, written with an escape for every third byte."""
KEPT_BYTES: Final = 4_096
"""What is kept of a line that is no task."""

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
        self.length = 0

    def close(self) -> None:
        """Whoever reads is done; there may be more to hash."""

    def read(self, size: int) -> bytes:
        data = bytes(self._stream.read(size))
        self._md5.update(data)
        self.length += len(data)
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
    line = _Line()
    for chunk in _unzipped(source, chunk_bytes):
        end = chunk.find(_NEWLINE) + 1
        line.add(chunk[:end] if end else chunk, keep=longest_line)
        if not end:
            continue
        rest = chunk.rfind(_NEWLINE) + 1
        if line.length - 1 > longest_line:
            yield line.cut()
            yield from filter(None, [chunk[end:rest]])
        else:
            yield bytes(line.kept) + chunk[end:rest]
        line = _Line()
        line.add(chunk[rest:], keep=longest_line)
    if line.length > longest_line:
        yield line.cut()
    elif line.length:
        yield bytes(line.kept) + _NEWLINE


class _Line:
    """A line whose end has not been seen yet."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.length = 0

    def add(self, text: bytes, *, keep: int) -> None:
        self.length += len(text)
        if self.length <= keep + 1:
            self.kept += text
        else:
            self.kept = (self.kept + text)[:KEPT_BYTES]

    def cut(self) -> LongLine:
        beginning = bytes(self.kept[:KEPT_BYTES])
        return LongLine(beginning=beginning, length=self.length)


def _unzipped(source: Digest, size: int) -> Iterator[bytes]:
    try:
        stream = pa.CompressedInputStream(pa.PythonFile(source, mode="r"), "gzip")
        while chunk := stream.read(size):
            yield chunk
    except OSError as error:
        raise UnreadableError(str(error)) from error
