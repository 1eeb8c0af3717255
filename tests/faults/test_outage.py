"""A database out of reach, and credentials that have expired: both may pass. What cannot pass is
named, with its remedy."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import (
    CredentialRetrievalError,
    EndpointConnectionError,
    MetadataRetrievalError,
    SSLError,
    UnauthorizedSSOTokenError,
)

from lab import dynamodb_local
from lifoq import Queue, QueueMisconfigured, StoreUnavailable
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.wire import ONCE
from tests.faults.faults import answer


def table(send: Callable[..., Any] = lambda **_: None) -> DynamoTable:
    """Its calls are answered by ``send``."""
    arguments: Any = {"endpoint_url": "http://127.0.0.1:1", **dynamodb_local.CREDENTIALS}
    client = boto3.client("dynamodb", config=ONCE, **arguments)
    client.meta.events.register("before-send.dynamodb", send)
    return DynamoTable.of_clients("queue", client=client, once=client)


@pytest.mark.parametrize(
    "error",
    [
        EndpointConnectionError(endpoint_url="there"),
        SSLError(endpoint_url="there", error="no TLS"),
        CredentialRetrievalError(provider="custom-process", error_msg="try later"),
        MetadataRetrievalError(error_msg="try later"),
        UnauthorizedSSOTokenError(),
        RuntimeError(
            "Credentials were refreshed, but the refreshed credentials are still expired."
        ),
        ConnectionResetError("by peer"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_boto3_may_do_better_later_is_unavailable(error):
    with pytest.raises(StoreUnavailable, match="GetItem on table 'queue'"):
        failing(error).get("t")


def test_an_error_that_nobody_understands_passes_as_it_is():
    with pytest.raises(RuntimeError, match="what is this"):
        failing(RuntimeError("what is this")).get("t")


def failing(error: Exception) -> DynamoTable:
    def fail(**_: Any) -> None:
        raise error

    return table(fail)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("ExpiredTokenException", "The security token included in the request is expired"),
        ("ExpiredToken", "The provided token has expired"),
        ("RequestExpired", "Request has expired"),
        ("InvalidSignatureException", "Signature expired: 20261121T1 is now earlier than"),
        ("InternalServerError", ""),
    ],
)
def test_a_refusal_that_may_pass_is_unavailable(code, message):
    with pytest.raises(StoreUnavailable, match=code):
        answering(code, message).get("t")


@pytest.mark.parametrize(
    ("code", "message", "remedy"),
    [
        ("AccessDeniedException", "no", "grant it"),
        ("UnrecognizedClientException", "The security token is invalid", "check them"),
        ("InvalidSignatureException", "The signature does not match", "check them"),
    ],
)
def test_a_refusal_that_cannot_pass_names_its_remedy(code, message, remedy):
    with pytest.raises(QueueMisconfigured, match=remedy):
        answering(code, message).get("t")


def answering(code: str, message: str) -> DynamoTable:
    return table(lambda request, **_: answer(request, 400, code, message))


@pytest.mark.parametrize(
    ("code", "expected"),
    [("ExpiredTokenException", StoreUnavailable), ("AccessDenied", QueueMisconfigured)],
)
def test_a_refused_call_for_credentials_is_told_from_a_refused_call_of_ours(code, expected):
    """A role whose session has run out, and cannot be assumed again."""
    sts = boto3.client("sts", **dynamodb_local.CREDENTIALS)
    sts.meta.events.register(
        "before-send.sts", lambda request, **_: sts_refusal(request, code, "as the test says")
    )

    def assume() -> dict[str, str]:
        sts.assume_role(RoleArn="arn:aws:iam::123456789012:role/worker", RoleSessionName="worker")
        raise AssertionError("it is refused")

    expired = table()
    expired._calls.client._request_signer._credentials = RefreshableCredentials(
        access_key="a",
        secret_key="s",  # noqa: S106
        token="t",  # noqa: S106
        expiry_time=RefreshableCredentials._expiry_datetime("2026-01-01T00:00:00Z"),
        refresh_using=assume,
        method="assume-role",
    )
    with pytest.raises(expected, match=f"{code}: as the test says"):
        expired.get("t")


def sts_refusal(request: Any, code: str, message: str) -> Any:
    body = f"<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error>"
    refused = answer(request, 403, code)
    refused.raw._content = f"{body}</ErrorResponse>".encode()
    return refused


# What cannot pass


def test_without_a_region_there_is_a_sentence(monkeypatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(QueueMisconfigured, match="specify a region: check region"):
        Queue.connect(table="queue")


def test_an_unknown_profile_is_named(monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nobodys")
    with pytest.raises(QueueMisconfigured, match=r"nobodys.*check region, profile"):
        Queue.connect(table="queue")


def test_a_malformed_endpoint_is_named():
    with pytest.raises(QueueMisconfigured, match=r"'queue'.*nonsense.*endpoint"):
        Queue.connect(table="queue", endpoint_url="nonsense")


def test_without_credentials_there_is_a_sentence(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nowhere")
    boto3.setup_default_session()
    try:
        queue = Queue.connect(table="queue", endpoint_url="http://127.0.0.1:1")
        with pytest.raises(QueueMisconfigured, match="no credentials: give the process a role"):
            queue.get("t")
    finally:
        boto3.DEFAULT_SESSION = None
