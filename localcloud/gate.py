"""Who is let in: programs of whoever started the local cloud, and no page of a browser.

Any page that is open in a browser can send requests to this machine. It cannot forge what tells
them apart: the browser says which name it was sent to (a name that somebody else points at this
machine is not ours), and, by Origin or Sec-Fetch-Site, that a page asks. What is left is to bring
an access key that this cloud has issued.
"""

import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import unquote

from werkzeug.sansio.utils import host_is_trusted

from .credentials import Credentials

_HOSTS: Final = ("127.0.0.1", ".localhost")
"""S3's clients put a bucket's name in front of localhost."""
_SIGNED: Final = re.compile(r"Credential=([^/]+)/\d+/[^/]*/([^/]+)/|AWSAccessKeyId=([^&]+)")


class ClosedToPages(BaseHTTPRequestHandler):
    """Refuses what a page asks before anything of it is read."""

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        host = self.headers.get("Host", "")
        if not host_is_trusted(host, _HOSTS):
            self.send_error(HTTPStatus.FORBIDDEN, f"The local cloud is at localhost, not {host!r}.")
            return False
        if "Origin" in self.headers or self.headers.get("Sec-Fetch-Site", "none") != "none":
            self.send_error(HTTPStatus.FORBIDDEN, "The local cloud answers no page of a browser.")
            return False
        return True


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
    """Who has which access key."""

    def __init__(self, credentials: Credentials, issued: Callable[[str], bool]) -> None:
        """``issued``: whether the AWS API of this cloud has made a key, as for an assumed role."""
        self._credentials = credentials
        self._issued = issued
        self._names = {credentials.access_key(): ""}

    def introduce(self, function_names: Iterable[str]) -> None:
        """From now on these functions are known by their access keys."""
        for name in function_names:
            self._names[self._credentials.access_key(name)] = name

    def name(self, access_key: str) -> str | None:
        """A function's name; empty for clients outside; None for a key that is not ours."""
        found = self._names.get(access_key)
        return "" if found is None and self._issued(access_key) else found
