"""Bodies of requests: how much of them is read, of whom, and what is said to odd ones."""

import errno
import io
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from email.message import Message
from typing import Any

import pytest

from lifoq_localcloud.http_server import body, listener, server
from lifoq_localcloud.http_server.body import BodyError
from lifoq_localcloud.http_server.listener import PortError, listen

MOST = 100


def head(**headers: str) -> Message:
    message = Message()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return message


CHUNKED = {"Transfer_Encoding": "chunked"}


def read(content: bytes, **headers: str) -> bytes:
    return body.read(io.BytesIO(content), head(**headers), most=MOST)


def test_a_body_is_read_whole_by_its_length_or_in_chunks():
    assert read(b"") == b""
    assert read(b"abcdef", Content_Length="3") == b"abc"
    chunks = b"3;of=note\r\nabc\r\n64\r\n".replace(b"64", b"0061") + 97 * b"d" + b"\r\n0\r\n"
    assert read(chunks + b"A-Trailer: x\r\n\r\n", **CHUNKED) == b"abc" + 97 * b"d"


ODD = {
    **{
        f"length {text}": (b"abc", {"Content_Length": text}) for text in ("-1", "three", "٣", "1_0")
    },
    **{f"length {text}": (b"abc", {"Content_Length": text}) for text in ("+3", "", "3, 3")},
    "beyond all numbers": (b"abc", {"Content_Length": 400 * "9"}),
    "both": (b"abc", {"Content_Length": "3", **CHUNKED}),
    "another coding": (b"abc", {"Transfer_Encoding": "gzip, chunked"}),
    "shorter than it says": (b"ab", {"Content_Length": "3"}),
    "no size": (b"\r\nabc\r\n0\r\n\r\n", CHUNKED),
    "a negative size": (b"-3\r\nabc\r\n0\r\n\r\n", CHUNKED),
    "a size that goes on": (5000 * b"0" + b"3\r\nabc\r\n0\r\n\r\n", CHUNKED),
    "a note that goes on": (b"3;" + 5000 * b"x" + b"\r\nabc\r\n0\r\n\r\n", CHUNKED),
    "a longer chunk": (b"3\r\nabcd\r\n0\r\n\r\n", CHUNKED),
    "no end": (b"3\r\nabc\r\n", CHUNKED),
    "endless trailers": (b"0\r\n" + 99 * b"a: b\r\n", CHUNKED),
}


@pytest.mark.parametrize(("content", "headers"), ODD.values(), ids=list(ODD))
def test_a_body_with_an_odd_length_or_broken_chunks_is_refused(content, headers):
    with pytest.raises(BodyError) as refused:
        read(content, **headers)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (101 * b"a", {"Content_Length": "101"}),
        (b"FFFFFFFFFF\r\n" + 101 * b"a", CHUNKED),
        (b"33\r\n" + 51 * b"a" + b"\r\n32\r\n" + 50 * b"b", CHUNKED),
    ],
)
def test_a_body_beyond_the_bound_is_refused_and_its_excess_stays_unread(content, headers):
    stream = io.BytesIO(content)
    with pytest.raises(BodyError, match="up to 100 bytes") as refused:
        body.read(stream, head(**headers), most=MOST)
    assert refused.value.status == 413
    assert stream.read()


# On the wire


class Door:
    """A server whose callers may bring a body if they have a key."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.ended = threading.Event()
        self.http = server.create(listen(0), self._answer, self._most)
        self.http.serve(self.ended)

    def _most(self, environ: dict[str, Any]) -> int:
        return MOST if environ.get("HTTP_AUTHORIZATION") else 0

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        self.bodies.append(environ["wsgi.input"].read())
        start("200 OK" if environ.get("HTTP_AUTHORIZATION") else "403 Forbidden", [])
        return []

    def ask(self, *lines: str, host: str = "127.0.0.1") -> bytes:
        """All that is answered until the connection ends, or stands still."""
        text = "\r\n".join(("POST / HTTP/1.1", "Host: localhost", *lines)).encode()
        with closing(socket.create_connection((host, self.http.port), timeout=300)) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            with connection.makefile("rb") as answer:
                return answer.read()


@pytest.fixture
def door() -> Iterator[Door]:
    one = Door()
    yield one
    one.ended.set()
    one.http.close()


KEY = "Authorization: known"


def told(answer: bytes) -> list[bytes]:
    """The statuses of all that is answered before the connection ends: ``b"403, close"``."""
    heads = answer.split(b"\r\n\r\n")[:-1]
    ends = (b", close" if b"\r\nConnection: close" in head else b"" for head in heads)
    return [head.split()[1] + end for head, end in zip(heads, ends, strict=True)]


def test_nothing_is_read_of_a_body_whose_sender_has_no_key(door):
    endless = "Transfer-Encoding: chunked", "", "FFFFFFFFFF", 1_000_000 * "a"
    assert told(door.ask(*endless)) == [b"403, close"]
    assert told(door.ask("Content-Length: 9999999999", "", "a")) == [b"403, close"]
    assert door.bodies == [b"", b""]
    assert told(door.ask(KEY, *endless)) == [b"413, close"]
    assert told(door.ask(KEY, "Content-Length: 101", "", "a")) == [b"413, close"]
    assert b" 400 " in door.ask(KEY, "Content-Length: -1", "", "a")
    assert door.bodies == [b"", b""]


def test_a_body_is_asked_for_once_it_is_wanted(door):
    expecting = "Expect: 100-continue", "Content-Length: 2", "", "ab"
    assert door.ask(*expecting).startswith(b"HTTP/1.1 403 ")
    assert door.ask(KEY, *expecting).startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ")
    assert door.bodies == [b"", b"ab"]


def test_a_head_without_end_is_cut(door):
    assert b" 431 " in door.ask(KEY, *(f"X-{number}: {9000 * 'a'}" for number in range(20)), "", "")
    assert door.bodies == []


HELD = re.compile("in use|assign")


def test_both_addresses_of_localhost_are_ours(door):
    for found in socket.getaddrinfo("localhost", door.http.port, type=socket.SOCK_STREAM):
        assert b" 200 " in door.ask(KEY, "", "", host=str(found[4][0]))
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with closing(socket.socket(family)) as other:
            assert other.connect_ex((address, door.http.port)) in (0, errno.EADDRNOTAVAIL)
        with closing(socket.socket(family)) as other, pytest.raises(OSError, match=HELD):
            other.bind((address, door.http.port))


def test_a_free_port_is_drawn_until_it_is_free_at_each_address_and_not_for_ever(monkeypatch):
    monkeypatch.setattr(listener, "ADDRESSES", 2 * listener.ADDRESSES[:1])  # never free twice
    with pytest.raises(PortError, match="is taken"):
        listen(0)
