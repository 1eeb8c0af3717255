"""Who is let in: programs of whoever started the local cloud, and no page of a browser.

Any page that is open in a browser can send requests to this machine. It cannot forge what tells
them apart: the browser says which name it was sent to (a name that somebody else points at this
machine is not ours), and, by Origin, Sec-Fetch-Site or Sec-Purpose, that a browser asks. Pages are
served nowhere here, so no browser has anything to ask, be it by itself, ahead of a click on a page.
What is left is to bring an access key that this cloud has issued, and to sign with its secret.
"""

import http.client
import re
import socket
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BufferedIOBase
from typing import Any, Final
from urllib.parse import unquote

from werkzeug.sansio.utils import host_is_trusted

from lifoq_localcloud.basics.credentials import Credentials
from lifoq_localcloud.http_server import body
from lifoq_localcloud.http_server.body import BodyError

_HOSTS: Final = ("127.0.0.1", ".localhost")
"""S3's clients put a bucket's name in front of localhost."""
_HOST_OF_VERSION_6: Final = re.compile(r"\[::1\](:\d{1,5})?")
_BY_BROWSERS: Final = ("Origin", "Sec-Fetch-Site", "Sec-Fetch-Dest", "Sec-Purpose", "Purpose")
"""Headers of every request that a browser makes, for a page or ahead of one. Programs send none of
them: Node's own ``fetch`` has Sec-Fetch-Mode alone."""
_SIGNED: Final = re.compile(r"Credential=([^/]+)/\d+/[^/]*/([^/]+)/|AWSAccessKeyId=([^&]+)")
_LINGER_SECONDS: Final = 2.0
_LINGER_BYTES: Final = 64 * 1024 * 1024


class _Head:
    """The stream that a request's head is read from, which ends where the head gets too long."""

    def __init__(self, stream: BufferedIOBase, most: int) -> None:
        self._stream = stream
        self._left = most

    def readline(self, size: int) -> bytes:
        line = self._stream.readline(min(size, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise http.client.LineTooLong("head")
        return line


class ClosedToPages(BaseHTTPRequestHandler):
    """Refuses what a browser asks before anything but its head is read."""

    most_bytes_of_head = 64 * 1024
    refused = False
    """True once an answer was given to a request whose body may still be on its way."""

    def parse_request(self) -> bool:
        whole, self.rfile = self.rfile, _Head(self.rfile, self.most_bytes_of_head)  # type: ignore[assignment] # of which only lines are read
        try:
            understood = super().parse_request()
        finally:
            self.rfile = whole
        return understood and self._lets_in()

    def handle_expect_100(self) -> bool:
        """Wait with "100 Continue" until the body is wanted."""
        return True

    def read_body(self, most: int) -> bytes:
        """Read the request's body. BodyError."""
        return body.read(self.rfile, self.headers, most=most, begin=self._ask_for_body)

    def send_error(self, *arguments: Any, **more: Any) -> None:
        self.refused = True
        super().send_error(*arguments, **more)

    def finish(self) -> None:
        """Let a caller who still sends read the answer: a connection that is closed while bytes
        arrive is reset, and the answer is lost with it."""
        if self.refused:
            _linger(self.connection)
        super().finish()

    def _lets_in(self) -> bool:
        host = self.headers.get("Host", "")
        if not (host_is_trusted(host, _HOSTS) or _HOST_OF_VERSION_6.fullmatch(host)):
            self.send_error(HTTPStatus.FORBIDDEN, f"The local cloud is at localhost, not {host!r}.")
            return False
        if any(name in self.headers for name in _BY_BROWSERS):
            self.send_error(HTTPStatus.FORBIDDEN, "The local cloud answers no browser.")
            return False
        try:
            body.announced(self.headers)
        except BodyError as error:
            self.send_error(error.status, str(error))
            return False
        return True

    def _ask_for_body(self) -> None:
        if self.headers.get("Expect", "").strip().lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _linger(connection: socket.socket) -> None:
    """Throw away what arrives until the caller is done, for a while."""
    until, left = time.monotonic() + _LINGER_SECONDS, _LINGER_BYTES
    try:
        connection.shutdown(socket.SHUT_WR)
        while left > 0 and (seconds := until - time.monotonic()) > 0:
            connection.settimeout(seconds)
            found = connection.recv(64 * 1024)
            if not found:
                return
            left -= len(found)
    except OSError:
        return  # the caller is gone, or takes its time


def signer(environ: dict[str, Any]) -> tuple[str, str]:
    """The access key and the service of a request that is signed, in its header or its address;
    empty where it is not."""
    told = environ.get("HTTP_AUTHORIZATION") or unquote(environ.get("QUERY_STRING", ""))
    found = _SIGNED.search(told)
    if not found:
        return "", ""
    key, service, old_key = found.groups()
    return key or old_key, service or "s3"


class Callers:
    """Who has which access key, and the secret that belongs to it."""

    def __init__(self, credentials: Credentials, issued: Callable[[str], str | None]) -> None:
        """``issued``: the secret of a key that the AWS API of this cloud has made, as for an
        assumed role; None where it has not, or where the key is of no more use."""
        self._credentials = credentials
        self._issued = issued
        self._names = {credentials.access_key(): ""}

    def introduce(self, function_names: Iterable[str]) -> None:
        """From now on these functions are known by their access keys."""
        for name in function_names:
            self._names[self._credentials.access_key(name)] = name

    def name(self, access_key: str) -> str:
        """A function's name; empty for clients outside."""
        return self._names.get(access_key, "")

    def secret(self, access_key: str) -> str | None:
        """The secret that the key's owner signs with; None for a key that is not ours."""
        name = self._names.get(access_key)
        return self._issued(access_key) if name is None else self._credentials.secret_of(name)
