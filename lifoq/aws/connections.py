"""HTTP 1.1 as far as the calls of an API need it: a request, its answer, and connections that are
kept for the next. It takes a fourth of the processor time that urllib3 takes.

An answer that tells its length is read here, any other by the standard library.
"""

import io
import os
import select
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

READ_AT_ONCE: Final = 64 * 1024
"""Bytes; headers are shorter."""
END_OF_HEADERS: Final = b"\r\n\r\n"
CHUNKED: Final = "transfer-encoding"
LONGEST_LENGTH: Final = 15
"""Digits of a ``Content-Length``: more are none."""


class Headers(dict[str, str]):
    """The headers of an answer, by name, in any case. A dictionary that it is made of has them in
    lower case."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(str(name).lower())

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def __setitem__(self, name: str, value: str) -> None:
        super().__setitem__(name.lower(), value)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a header by its name, in any case; ``default`` if there is none."""
        return super().get(name.lower(), default)


class Answer(NamedTuple):
    """An answer of AWS, with as much of botocore's ``AWSResponse`` as is asked for."""

    status_code: int
    headers: Headers
    content: bytes


class Connections:
    """The connections to one server. Each is for one exchange at a time, and any thread may ask for
    one."""

    def __init__(self, connect: Callable[[], socket.socket], *, kept: int) -> None:
        """``connect`` opens another, with its timeouts set; ``kept``: so many wait for use."""
        self._connect = connect
        self._kept = kept
        self._idle: deque[socket.socket] = deque()
        self._process = os.getpid()

    def exchange(self, request: bytes) -> Answer:
        """Send a request and return the server's whole answer.

        Raises what ``connect`` raises, and OSError where no whole answer came: TimeoutError, if it
        was not in time. Then the connection is never used again, as a late answer would be taken
        for the next call's; nor are those that wait for use: what has cut one off (a process that
        was frozen, a gateway that forgot) has cut off the others. So a repeat goes over a new one.
        """
        connection = self._open()
        try:
            connection.sendall(request)
            answer, reusable = _received(connection)
        except BaseException:
            connection.close()
            self._close_idle()
            raise
        if reusable and len(self._idle) < self._kept:
            self._idle.append(connection)
        else:
            connection.close()
        return answer

    def _open(self) -> socket.socket:
        """The one that was used last, unless the server has closed it, or they are those of the
        process that this one was forked from."""
        if self._process != os.getpid():
            self._idle, self._process = deque(), os.getpid()
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if not _has_been_closed(connection):
                return connection
            connection.close()
        return self._connect()

    def _close_idle(self) -> None:
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # another thread was faster
                break


def _has_been_closed(connection: socket.socket) -> bool:
    """A server that was not asked has nothing else to say."""
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([connection], [], [], 0)[0])
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def _received(connection: socket.socket) -> tuple[Answer, bool]:
    """The answer, and whether the connection may be used again."""
    received, end = b"", -1
    while end < 0 and len(received) < READ_AT_ONCE and (more := connection.recv(READ_AT_ONCE)):
        received += more
        end = received.find(END_OF_HEADERS)
    first, *lines = received[: max(end, 0)].decode("latin-1").split("\r\n")
    parted = (line.partition(":") for line in lines)
    headers = Headers({name.lower(): value.strip() for name, _, value in parted})
    version, _, status = first.partition(" ")
    length, code = headers.get("content-length"), status[:3]
    if length is not None and not _is_length(length, received[:end]):
        raise ConnectionError(f"the answer tells an odd length: {length[:80]!r}")
    if length is None or not code.isdecimal() or code < "200" or CHUNKED in headers:
        return _read_by_the_library(connection, received), False
    parts, missing = [received[end + len(END_OF_HEADERS) :]], int(length)
    while (missing := missing - len(parts[-1])) > 0 and (more := connection.recv(READ_AT_ONCE)):
        parts.append(more)
    if missing:
        raise ConnectionError(f"the answer has not the {length} bytes that it tells")
    ends = version != "HTTP/1.1" or headers.get("connection", "").lower() == "close"
    return Answer(int(code), headers, b"".join(parts)), not ends


def _is_length(told: str, head: bytes) -> bool:
    """True if it is one plain number; where there are two, nobody knows where the answer ends."""
    plain = told.isascii() and told.isdecimal() and len(told) <= LONGEST_LENGTH
    return plain and head.lower().count(b"\ncontent-length:") == 1


def _read_by_the_library(connection: socket.socket, received: bytes) -> Answer:
    from http.client import HTTPException, HTTPResponse  # noqa: PLC0415 - seldom, and long to import

    reading: Any = _Rereading(received, connection)
    response = HTTPResponse(reading, method="POST")
    try:
        response.begin()
        content = response.read()
    # The latter three for the size of a chunk: below zero, or larger than any memory.
    except (HTTPException, ValueError, OverflowError, MemoryError) as error:
        raise ConnectionError(f"the answer is not HTTP: {error!r}") from error
    return Answer(
        response.status,
        Headers({name.lower(): value for name, value in response.getheaders()}),
        content,
    )


class _Rereading(io.RawIOBase):
    """A connection, from what has been received of it on."""

    def __init__(self, received: bytes, connection: socket.socket) -> None:
        self._received = io.BytesIO(received)
        self._connection = connection

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._received.readinto(buffer) or self._connection.recv_into(buffer)
