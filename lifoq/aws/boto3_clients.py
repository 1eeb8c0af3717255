"""AWS by boto3, through its public API alone: whoever mocks, records, redirects or traces boto3
governs lifoq's calls, too."""

import threading
import zlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import boto3
import botocore
from botocore import xform_name
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import (
    ChecksumError,
    ClientError,
    HTTPClientError,
    IncompleteReadError,
)

from lifoq.aws.retry_policy import ATTEMPTS, CONNECT_TIMEOUT, CONNECTIONS, READ_TIMEOUT
from lifoq.basics.clock import ServerClock
from lifoq.errors import InvalidInput

PATIENT: Final = Config(
    connect_timeout=CONNECT_TIMEOUT,
    read_timeout=READ_TIMEOUT,
    retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
)
"""Settings of a client whose calls may be repeated, of any service."""
DYNAMODB: Final = PATIENT.merge(
    Config(
        max_pool_connections=CONNECTIONS,
        parameter_validation=False,  # DynamoDB validates; here it would take a sixth of the time
        # Without one, botocore puts its own together for each request: a tenth of the time.
        user_agent=f"lifoq boto3/{boto3.__version__} botocore/{botocore.__version__}",
    )
)

_MAKING: Final = threading.Lock()
"""Held while a client is made: clients may be shared by threads, boto3's session that makes them
may not."""


def patient(**settings: Any) -> Config:
    """Return ``PATIENT`` with other settings of botocore's Config, such as ``read_timeout`` in
    seconds."""
    return PATIENT.merge(Config(**settings))


def new_client(
    service: str, defaults: Config = PATIENT, *, config: Config | None = None, **arguments: Any
) -> Any:
    """Return a boto3 client. What the caller's ``config`` says comes before ``defaults``.

    Raises InvalidInput where it is no Config, and botocore's errors.
    """
    make: Any = boto3.client
    merged = _merged(defaults, config)
    with _MAKING:
        return make(service, config=merged, **arguments)


def dynamodb_clients(
    *, repeats: bool = True, config: Config | None = None, **arguments: Any
) -> tuple[Any, Any]:
    """Return two clients of DynamoDB: one that repeats calls which fail, if it shall, and one that
    sends each once, for what must not be repeated: an unconditional batch. Raises as above."""
    settings = _merged(DYNAMODB, config)
    once = new_client("dynamodb", once_only(settings), **arguments)
    return (new_client("dynamodb", settings, **arguments) if repeats else once), once


def once_only(config: Config) -> Config:
    """Return the same configuration, but that no call is repeated."""
    told: Any = config
    mode = (told.retries or {}).get("mode", "standard")
    return config.merge(Config(retries={"mode": mode, "total_max_attempts": 1}))


def refuse_half_answers(client: Any, service: str) -> None:
    """Have a client of a service that speaks JSON raise where an answer is cut, changed or not
    AWS's.

    boto3 takes an answer that ends early, or the page of a proxy, for a success without content, so
    that a task would seem to be absent, or a batch to be written whole.
    """
    client.meta.events.register(f"after-call.{service}", _check, unique_id="lifoq-whole-answers")


def _merged(defaults: Config, config: Config | None) -> Config:
    if config is None:
        return defaults
    if not isinstance(config, Config):
        raise InvalidInput("config", config, "must be a botocore.config.Config")
    return defaults.merge(config)


class Boto3Calls:
    """DynamoDB, called by a boto3 client."""

    def __init__(self, client: Any, *, clock: ServerClock) -> None:
        """``clock`` learns from each answer."""
        self.client = client
        self.region: str = client.meta.region_name
        self._clock = clock

    def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer, with bytes as bytes. botocore's errors."""
        self._clock.sends()
        try:
            answer: dict[str, Any] = getattr(self.client, xform_name(operation))(**request)
        except ClientError as error:
            self._clock.receives(_date(error.response))
            raise
        self._clock.receives(_date(answer))
        return answer


def _date(answer: Any) -> str | None:
    """The server's, which the answer of a mock may lack."""
    found = answer
    for name in ("ResponseMetadata", "HTTPHeaders", "date"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else None


def _check(http_response: Any, **_: Any) -> None:
    """Check that an answer is whole. Raises IncompleteReadError, ChecksumError, HTTPClientError."""
    if not isinstance(http_response, AWSResponse) or http_response.raw is None:
        return  # somebody else answers in AWS's place
    content, headers = http_response.content, http_response.headers
    length, checksum = headers.get("Content-Length"), headers.get("x-amz-crc32")
    if length is not None and length != str(len(content)):
        told: Any = length
        raise IncompleteReadError(actual_bytes=len(content), expected_bytes=told)
    if checksum is not None and checksum != (found := str(zlib.crc32(content))):
        raise ChecksumError(
            checksum_type="crc32", expected_checksum=checksum, actual_checksum=found
        )
    if http_response.status_code == HTTPStatus.OK and not content.startswith(b"{"):
        raise HTTPClientError(error=f"the answer is not AWS's: {content[:80]!r}")
