"""The bodies of requests, read in full, and never more of them than the caller may send."""

import re
from collections.abc import Callable
from email.message import Message
from http import HTTPStatus
from io import BufferedIOBase
from typing import Final

MOST_BYTES: Final = 256 * 1024 * 1024
"""The largest body, in bytes, of a caller with a key: an asset of Lambda's has up to 250 MB."""
MOST_BYTES_OF_ANYBODY: Final = 10_000_000
"""The largest body, in bytes, that anybody may send to a public route of an HTTP API: API Gateway
has the same limit."""

_DIGITS: Final = re.compile(r"[0-9]{1,18}")
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LONGEST_LINE: Final = 4096
"""Bytes of a chunk's first line, and of a trailer."""
_MOST_TRAILERS: Final = 32


class BodyError(Exception):
    """A body that is not read to its end; after it, the connection is of no more use."""

    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def announced(headers: Message) -> int | None:
    """The length of the body that a request's head announces; None where it comes in chunks.

    Raises BodyError where the length is no number, stands there twice, or contradicts itself: two
    readers would see the body end at two places.
    """
    coding = headers.get_all("Transfer-Encoding", [])
    lengths = headers.get_all("Content-Length", [])
    if coding:
        if lengths or [one.strip().lower() for one in coding] != ["chunked"]:
            raise _malformed("Transfer-Encoding has to be 'chunked', without a Content-Length.")
        return None
    if not lengths:
        return 0
    if len(lengths) > 1 or not _DIGITS.fullmatch(lengths[0].strip(" \t")):
        raise _malformed("Content-Length has to be one number of bytes, in digits.")
    return int(lengths[0])


def read(
    stream: BufferedIOBase,
    headers: Message,
    *,
    most: int,
    begin: Callable[[], object] = lambda: None,
) -> bytes:
    """Read the body that the headers announce. ``begin`` is called before the first byte is read.

    Raises BodyError, before anything is read of a body that announces more than ``most`` bytes, and
    before one byte too many is read of a body that does not tell its length.
    """
    length = announced(headers)
    if length == 0:
        return b""
    if length is not None and length > most:
        raise _too_large(most)
    begin()
    return _chunks(stream, most) if length is None else _exactly(stream, length)


def _chunks(stream: BufferedIOBase, most: int) -> bytes:
    body = bytearray()
    while size := _size(stream):
        if size > most - len(body):
            raise _too_large(most)
        body += _exactly(stream, size)
        if _line(stream).strip(b"\r\n"):
            raise _malformed("A chunk of the body is longer than it says.")
    for _ in range(_MOST_TRAILERS):
        if not _line(stream).strip(b"\r\n"):
            return bytes(body)
    raise _malformed("The body has too many trailers.")


def _size(stream: BufferedIOBase) -> int:
    found = _SIZE.fullmatch(_line(stream))
    if found is None:
        raise _malformed("A chunk of the body has to begin with its size, as a hexadecimal number.")
    return int(found[1], 16)


def _line(stream: BufferedIOBase) -> bytes:
    line = stream.readline(_LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise _malformed("The body ends in the midst of a chunk.")
    return line


def _exactly(stream: BufferedIOBase, length: int) -> bytes:
    found = stream.read(length)
    if len(found) < length:
        raise _malformed("The body is shorter than it says.")
    return found


def _malformed(message: str) -> BodyError:
    return BodyError(HTTPStatus.BAD_REQUEST, "MalformedBody", message)


def _too_large(most: int) -> BodyError:
    message = f"A body may have up to {most:,} bytes here."
    return BodyError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", message)
