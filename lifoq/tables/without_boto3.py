"""AWS as lifoq's own Lambda functions call it: without boto3 and botocore, which take longer to
import than all the rest of a function's start.

``suffices`` says where. Wherever somebody else has imported botocore before (the task code, a
layer, a tracer), or the environment asks for more than is known here, boto3 makes the calls.
"""

import functools
import json
import os
import random
import re
import socket
import ssl
import sys
import uuid
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import SplitResult, urlencode, urlsplit

import botocore
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    SSLError,
)

from lifoq.basics.clock import ServerClock
from lifoq.basics.host import SYSTEM, Host
from lifoq.tables.aws_errors import NO_ANSWER, UNCONFIRMED
from lifoq.tables.aws_http import (
    ATTEMPTS,
    CONNECT_TIMEOUT,
    CONNECTIONS,
    READ_TIMEOUT,
    Credentials,
    body_of,
    dynamodb_headers,
    exchange,
    read,
    signed,
)
from lifoq.tables.connections import Answer, Connections, Headers

T = TypeVar("T")

USUAL_REGION: Final = re.compile(r"(af|ap|ca|eu|il|me|mx|sa|us)-[a-z]+-\d+")
"""Of the partition ``aws``, whose endpoints end in amazonaws.com."""
GIVEN: Final = ("AWS_LAMBDA_FUNCTION_NAME", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
ONLY_BOTOCORES: Final = (
    "ALL_PROXY",
    "AWS_ACCOUNT_ID",
    "AWS_AUTH_SCHEME_PREFERENCE",
    "AWS_CA_BUNDLE",
    "AWS_CONFIG_FILE",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_PROFILE",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_USE_FIPS_ENDPOINT",
    "HTTPS_PROXY",
    "HTTP_PROXY",
)
LONGEST_PAUSE: Final = 20.0
"""Seconds up to which the pause before a call is repeated may grow, as with botocore."""
USER_AGENT: Final = "lifoq"


def suffices(*services: str) -> bool:
    """Whether these services can be called from here."""
    known = {name.upper() for name, value in os.environ.items() if value}
    return (
        "botocore.client" not in sys.modules
        and known.issuperset(GIVEN)
        and known.isdisjoint(ONLY_BOTOCORES)
        and USUAL_REGION.fullmatch(_region()) is not None
        and all(_endpoint(service).path in {"", "/"} for service in services)
    )


class Service:
    """One of AWS's APIs, in the function's region, with its role's credentials."""

    def __init__(self, name: str, *, attempts: int, clock: ServerClock, host: Host) -> None:
        """``attempts``: so often a call is made at the most."""
        self._name, self._attempts, self._clock, self._host = name, attempts, clock, host
        endpoint = _endpoint(name)
        self.address = endpoint.netloc
        self._url = f"{endpoint.scheme}://{endpoint.netloc}/"
        self._connections = Connections(
            functools.partial(_connect, endpoint, self._url), kept=CONNECTIONS
        )
        self._credentials = Credentials(  # which hold as long as the process
            os.environ["AWS_ACCESS_KEY_ID"],
            os.environ["AWS_SECRET_ACCESS_KEY"],
            os.environ.get("AWS_SESSION_TOKEN"),
        )

    def call(
        self,
        operation: str,
        headers: Headers,
        body: bytes,
        *,
        of_success: Callable[[Answer], T],
        of_refusal: Callable[[Answer], dict[str, Any]],
    ) -> T:
        """The answer, as it is read. botocore's errors; ClientError with what a refusal says."""
        attempt = 0
        while True:
            attempt += 1
            try:
                answer = self._attempt(headers, body)
                if answer.status_code < HTTPStatus.MULTIPLE_CHOICES:
                    return of_success(answer)
                refusal: Any = of_refusal(answer)
                error: Exception = ClientError(refusal, operation)
                passes = _may_pass(answer.status_code, refusal)
            except NO_ANSWER as failure:
                error, passes = failure, True
            if not passes or attempt == self._attempts:
                raise error
            self._host.sleep(random.random() * min(2.0 ** (attempt - 1), LONGEST_PAUSE))

    def _attempt(self, headers: Headers, body: bytes) -> Answer:
        all_headers = signed(
            headers,
            body,
            credentials=self._credentials,
            now=self._clock.now(),
            region=_region(),
            service=self._name,
        )
        if trace := os.environ.get("_X_AMZN_TRACE_ID"):
            all_headers["x-amzn-trace-id"] = trace  # by which X-Ray, and Lambda, know loops
        self._clock.sends()
        answer = exchange(self._connections, self._url, all_headers, body)
        self._clock.receives(answer.headers.get("date"))
        return answer


class DynamoCalls:
    """DynamoDB, as ``wire.Wire`` calls it."""

    def __init__(self, *, attempts: int, clock: ServerClock, host: Host) -> None:
        self._service = Service("dynamodb", attempts=attempts, clock=clock, host=host)
        self.region = _region()

    def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer, with bytes in base64. Raises what boto3's client would."""
        if operation == "TransactWriteItems":  # repeated, it is the same transaction
            request = {**request, "ClientRequestToken": str(uuid.uuid4())}
        return self._service.call(
            operation,
            dynamodb_headers(operation, host=self._service.address, user_agent=USER_AGENT),
            body_of(request),
            of_success=read,
            of_refusal=_refusal,
        )


class Topics:
    """SNS, as far as kicks and the ends of tasks need it. Raises what boto3's client would."""

    def __init__(self, host: Host = SYSTEM) -> None:
        self._service = Service("sns", attempts=ATTEMPTS, clock=ServerClock(host), host=host)

    def publish(self, **fields: str) -> None:
        """``TopicArn`` and ``Message``."""
        self._call("Publish", fields, of_success=lambda _: None)

    def publish_batch(self, *, TopicArn: str, PublishBatchRequestEntries: Any) -> dict[str, Any]:  # noqa: N803
        """What SNS did not take, as ``Failed``."""
        form = {"TopicArn": TopicArn}
        for number, entry in enumerate(PublishBatchRequestEntries, 1):
            place = f"PublishBatchRequestEntries.member.{number}"
            form |= {f"{place}.{name}": entry[name] for name in ("Id", "Message")}
            for count, (name, value) in enumerate(entry["MessageAttributes"].items(), 1):
                attribute = f"{place}.MessageAttributes.entry.{count}"
                form[f"{attribute}.Name"] = name
                form |= {f"{attribute}.Value.{part}": text for part, text in value.items()}
        return self._call("PublishBatch", form, of_success=_batch)

    def _call(
        self, action: str, fields: Mapping[str, str], *, of_success: Callable[[Answer], T]
    ) -> T:
        form = {"Action": action, "Version": "2010-03-31", **fields}
        headers = Headers(
            {
                "host": self._service.address,
                "content-type": "application/x-www-form-urlencoded; charset=utf-8",
                "user-agent": USER_AGENT,
            }
        )
        return self._service.call(
            action,
            headers,
            urlencode(form).encode(),
            of_success=of_success,
            of_refusal=_refusal_in_xml,
        )


class States:
    """Step Functions, as far as the end of a task needs it. Raises what boto3's client would."""

    def __init__(self, host: Host = SYSTEM) -> None:
        self._service = Service("states", attempts=ATTEMPTS, clock=ServerClock(host), host=host)

    def send_task_success(self, **fields: str) -> None:
        """``taskToken`` and ``output``."""
        self._call("SendTaskSuccess", fields)

    def send_task_failure(self, **fields: str) -> None:
        """``taskToken``, ``error`` and ``cause``."""
        self._call("SendTaskFailure", fields)

    def _call(self, operation: str, fields: Mapping[str, str]) -> None:
        headers = Headers(
            {
                "host": self._service.address,
                "x-amz-target": f"AWSStepFunctions.{operation}",
                "content-type": "application/x-amz-json-1.0",
                "user-agent": USER_AGENT,
            }
        )
        self._service.call(
            operation,
            headers,
            body_of(fields),
            of_success=lambda _: None,
            of_refusal=_refusal,
        )


def _refusal(answer: Answer) -> dict[str, Any]:
    """As botocore reads it; of a proxy's page, its status."""
    try:
        document = json.loads(answer.content)
        code, message = document.pop("__type"), document.get("message", document.get("Message"))
    except (ValueError, LookupError, AttributeError, TypeError):
        document, code, message = {}, answer.status_code, answer.content[:80].decode("latin-1")
    return {
        **document,
        "Error": {"Code": str(code).rpartition("#")[2], "Message": message or ""},
        "ResponseMetadata": {"HTTPStatusCode": answer.status_code},
    }


def _batch(answer: Answer) -> dict[str, Any]:
    """HTTPClientError where it is not SNS's."""
    from xml.etree import ElementTree as ET  # noqa: PLC0415 - a cold start less to import

    try:
        result = ET.fromstring(answer.content).find("{*}PublishBatchResult")  # noqa: S314 - AWS's
    except ET.ParseError as error:
        raise HTTPClientError(error=error) from error
    if result is None:
        raise HTTPClientError(error="an answer without a PublishBatchResult")
    return {
        "Failed": [
            {part.tag.rpartition("}")[2]: part.text for part in failed}
            for failed in result.iterfind("{*}Failed/{*}member")
        ]
    }


def _refusal_in_xml(answer: Answer) -> dict[str, Any]:
    text = answer.content.decode("utf-8", "replace")
    code, message = (
        re.search(f"<{name}>(.*?)</{name}>", text, re.DOTALL) for name in ("Code", "Message")
    )
    return {
        "Error": {
            "Code": code[1] if code else str(answer.status_code),
            "Message": message[1] if message else text[:80],
        },
        "ResponseMetadata": {"HTTPStatusCode": answer.status_code},
    }


def _may_pass(status: int, refusal: dict[str, Any]) -> bool:
    failed = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS
    return failed or refusal["Error"]["Code"] in UNCONFIRMED


def _region() -> str:
    return os.environ.get("AWS_DEFAULT_REGION") or os.environ.get("AWS_REGION", "")


def _endpoint(service: str) -> SplitResult:
    called = "SFN" if service == "states" else service.upper()
    own = os.environ.get(f"AWS_ENDPOINT_URL_{called}") or os.environ.get("AWS_ENDPOINT_URL")
    return urlsplit(own or f"https://{service}.{_region()}.amazonaws.com")


def _connect(endpoint: SplitResult, url: str) -> socket.socket:
    """botocore's errors."""
    host, encrypted = str(endpoint.hostname), endpoint.scheme == "https"
    address = host, endpoint.port or (443 if encrypted else 80)
    try:
        connection = socket.create_connection(address, timeout=CONNECT_TIMEOUT)
    except TimeoutError as error:
        raise ConnectTimeoutError(endpoint_url=url, error=error) from error
    except OSError as error:
        raise EndpointConnectionError(endpoint_url=url, error=error) from error
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if encrypted:
            connection = _authorities().wrap_socket(connection, server_hostname=host)
        connection.settimeout(READ_TIMEOUT)
    except ssl.SSLError as error:
        raise SSLError(endpoint_url=url, error=error) from error
    except OSError as error:
        raise ConnectionClosedError(endpoint_url=url, error=error) from error
    return connection


@functools.cache
def _authorities() -> ssl.SSLContext:
    """Those whom botocore trusts."""
    return ssl.create_default_context(cafile=str(Path(botocore.__file__).with_name("cacert.pem")))
