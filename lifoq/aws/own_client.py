"""lifoq's own client: one of AWS's APIs, called without boto3, for a sixth of its processor time.

A Lambda function of lifoq's starts in half of the time, too: boto3 takes longer to import than all
the rest of it. Only where lifoq owns the process are calls made so: see ``client_choice``. Errors
are botocore's, which take little time to import.
"""

import functools
import json
import os
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlsplit

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    ReadTimeoutError,
    SSLError,
)

from lifoq.aws.authorities import Bundle, trusting
from lifoq.aws.connections import Answer, Connections, Headers
from lifoq.aws.errors import NO_ANSWER, THROTTLED, UNCONFIRMED
from lifoq.aws.retry_policy import CONNECT_TIMEOUT, CONNECTIONS, READ_TIMEOUT, RepeatQuota, pause
from lifoq.aws.signature import Credentials, signed
from lifoq.basics.clock import ServerClock
from lifoq.basics.host import Host

T = TypeVar("T")

USER_AGENT: Final = "lifoq"
PORTS: Final = {"http": 80, "https": 443}
TRACE: Final = "_X_AMZN_TRACE_ID"
"""The variable by which Lambda tells a function where it stands in a trace."""
UNQUOTED: Final = "-=;:+&[]{}\"',"
"""Characters of a trace that may stand in a header, as botocore has them."""
SHOWN: Final = 80
"""Bytes of a page that is not AWS's, in the sentence about it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """The place of a service: where it is called, and the names that its requests are signed by."""

    service: str
    region: str
    encrypted: bool
    host: str
    port: int
    url: str
    authority: str
    """The value of the header ``Host``."""

    @classmethod
    def at(cls, url: str, *, service: str, region: str) -> "Endpoint | None":
        """Return the endpoint of this URL; None where boto3 alone knows how to call it."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return None
        plain = not (parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc)
        if parts.scheme not in PORTS or not parts.hostname or not plain or not url.isascii():
            return None
        usual = PORTS[parts.scheme]
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return cls(
            service=service,
            region=region,
            encrypted=parts.scheme == "https",
            host=parts.hostname,
            port=port or usual,
            url=f"{parts.scheme}://{parts.netloc}/",
            authority=host if port in (None, usual) else f"{host}:{port}",
        )


class Service:
    """One of AWS's APIs at one endpoint. Any thread may call."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        credentials: Callable[[], Credentials | None],
        clock: ServerClock,
        host: Host,
        bundle: Bundle | None = None,
    ) -> None:
        """``credentials`` is asked for each request, and may have them refreshed. ``clock`` signs,
        and learns from each answer. ``bundle`` holds the authorities that are trusted; None:
        botocore's do.

        Raises QueueMisconfigured where no certificate can be read from a bundle. An endpoint
        without TLS has no use for one.
        """
        if bundle is not None and endpoint.encrypted:
            trusting(bundle)  # a mistake is told before the first call
        self.endpoint = endpoint
        self._credentials = credentials
        self._clock = clock
        self._host = host
        self._quota = RepeatQuota()
        self._connections = Connections(
            functools.partial(_connect, endpoint, bundle), kept=CONNECTIONS
        )

    def call(
        self,
        operation: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        attempts: int,
        of_success: Callable[[Answer], T],
        of_refusal: Callable[[Answer], dict[str, Any]],
    ) -> T:
        """Return the answer as ``of_success`` reads it, after as many ``attempts`` at the most.

        Raises botocore's errors: ClientError with what ``of_refusal`` read, and one of NO_ANSWER
        where no answer of AWS's came, which either reader may raise, too.
        """
        attempt, taken = 0, 0
        all_headers = Headers(
            {"host": self.endpoint.authority, "user-agent": USER_AGENT, **headers}
        )
        while True:
            attempt += 1
            try:
                answer = self._attempt(all_headers, body)
                if answer.status_code < HTTPStatus.MULTIPLE_CHOICES:
                    found = of_success(answer)
                    self._quota.succeeded(taken)
                    return found
                refusal: Any = of_refusal(answer)
                error: Exception = ClientError(refusal, operation)
                code = refusal["Error"]["Code"]
                passes = _may_pass(answer.status_code, code)
            except NO_ANSWER as failure:
                error, code, passes = failure, "", True
            if not passes or attempt == attempts:
                raise error
            taken = self._quota.take(throttled=code in THROTTLED)
            if not taken:
                raise error
            self._host.sleep(pause(attempt))

    def _attempt(self, headers: Headers, body: bytes) -> Answer:
        all_headers = signed(
            headers,
            body,
            credentials=self._credentials(),
            now=self._clock.now(),
            region=self.endpoint.region,
            service=self.endpoint.service,
        )
        if trace := os.environ.get(TRACE):  # by which X-Ray, and Lambda, know loops
            all_headers["x-amzn-trace-id"] = quote(trace, safe=UNQUOTED)
        self._clock.sends()
        answer = _exchange(self._connections, self.endpoint.url, all_headers, body)
        self._clock.receives(answer.headers.get("date"))
        return answer


def document(content: bytes) -> dict[str, Any]:
    """Return an answer's JSON object. HTTPClientError where it is none: a proxy's page, say."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise not_aws(content) from error
    if not isinstance(found, dict):
        raise not_aws(content)
    return found


def refusal_in_json(answer: Answer) -> dict[str, Any]:
    """Return a refusal as botocore reads it. HTTPClientError where AWS did not write it."""
    found = document(answer.content)
    told = found.pop("__type", None)
    if not isinstance(told, str):
        raise not_aws(answer.content, answer.status_code)
    message = found.get("message", found.get("Message"))
    return {
        **found,
        "Error": {"Code": told.rpartition("#")[2], "Message": message or ""},
        "ResponseMetadata": {"HTTPStatusCode": answer.status_code},
    }


def not_aws(content: bytes, status: int | None = None) -> HTTPClientError:
    """The error for an answer that somebody between here and AWS gave."""
    said = "" if status is None else f" (HTTP {status})"
    return HTTPClientError(error=f"the answer is not AWS's{said}: {content[:SHOWN]!r}")


def _exchange(
    connections: Connections, url: str, headers: Mapping[str, str], body: bytes
) -> Answer:
    """One request, one answer; errors are botocore's."""
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    head = f"POST / HTTP/1.1\r\n{''.join(lines)}Content-Length: {len(body)}\r\n\r\n"
    try:
        return connections.exchange(head.encode("ascii") + body)
    except BotoCoreError:  # of a connection that could not be had; some are OSErrors, too
        raise
    except TimeoutError as error:
        raise ReadTimeoutError(endpoint_url=url, error=error) from error
    except ssl.SSLError as error:
        raise SSLError(endpoint_url=url, error=error) from error
    except OSError as error:
        raise ConnectionClosedError(endpoint_url=url, error=error) from error


def _may_pass(status: int, code: str) -> bool:
    failed = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS
    return failed or code in UNCONFIRMED


def _connect(endpoint: Endpoint, bundle: Bundle | None) -> socket.socket:
    """botocore's errors."""
    url = endpoint.url
    try:
        connection = socket.create_connection(
            (endpoint.host, endpoint.port), timeout=CONNECT_TIMEOUT
        )
    except TimeoutError as error:
        raise ConnectTimeoutError(endpoint_url=url, error=error) from error
    except OSError as error:
        raise EndpointConnectionError(endpoint_url=url, error=error) from error
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if endpoint.encrypted:
            connection = trusting(bundle).wrap_socket(connection, server_hostname=endpoint.host)
        connection.settimeout(READ_TIMEOUT)
    except ssl.SSLError as error:
        connection.close()
        raise SSLError(endpoint_url=url, error=error) from error
    except OSError as error:
        connection.close()
        raise ConnectionClosedError(endpoint_url=url, error=error) from error
    return connection
