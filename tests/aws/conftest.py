"""Both ways to call AWS, at a server of the test's own."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import botocore.handlers
import pytest

from lab import dynamodb_local
from lifoq.aws import authorities
from lifoq.aws import client_choice as own
from lifoq.aws.boto3_clients import Boto3Calls, dynamodb_clients, refuse_half_answers
from lifoq.aws.dynamo_calls import DynamoCalls
from lifoq.aws.dynamo_table import Calls
from lifoq.aws.patched import patched_part
from lifoq.basics.clock import ServerClock
from lifoq.testing.hosts import START
from tests.aws.server import Server

NETWORK = ("ALL_PROXY", "NO_PROXY", *own.PROXIES)
ELSEWHERE = (*own.ONLY_BOTO3S, *authorities.VARIABLES, *NETWORK, *map(str.lower, NETWORK))
"""Variables of whoever runs the tests that would lead calls elsewhere."""


@pytest.fixture
def server() -> Iterator[Server]:
    there = Server()
    yield there
    there.close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Between repeats; none is waited for."""
    waited: list[float] = []
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=waited.append))
    return waited


@pytest.fixture
def host(pauses: list[float]) -> Any:
    return SimpleNamespace(now=lambda: START, sleep=pauses.append)


@pytest.fixture
def unpatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the listeners that moto adds for all of a process in which it is imported."""
    listeners = [one for one in botocore.handlers.BUILTIN_HANDLERS if "moto" not in str(one)]
    monkeypatch.setattr(botocore.handlers, "BUILTIN_HANDLERS", listeners)
    assert patched_part() is None


@pytest.fixture
def in_a_function(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, unpatched: None) -> Any:
    """Sets the environment of a Lambda function, with these variables beside."""

    def set_variables(**variables: str) -> None:
        for name in ELSEWHERE:
            monkeypatch.delenv(name, raising=False)
        told = {"AWS_LAMBDA_FUNCTION_NAME": "a-function", "HOME": str(tmp_path), **variables}
        for name, value in told.items():
            monkeypatch.setenv(name, value)

    return set_variables


@pytest.fixture
def own_calls(in_a_function: Any, host: Any) -> Callable[..., DynamoCalls]:
    """DynamoDB by the own client; ``attempts`` is 4, or 1."""

    def calls_to(url: str, attempts: int = 4) -> DynamoCalls:
        in_a_function(AWS_ENDPOINT_URL=url)
        (service,) = own.in_function("dynamodb", clock=ServerClock(host), host=host) or ()
        return DynamoCalls(service, attempts=attempts)

    return calls_to


@pytest.fixture(params=["by boto3", "by the own client"])
def calls_to(
    request: pytest.FixtureRequest, own_calls: Callable[..., DynamoCalls], host: Any
) -> Callable[..., Calls]:
    """Both ways to call DynamoDB."""

    def calls_to(url: str, attempts: int = 4) -> Calls:
        if request.param == "by the own client":
            return own_calls(url, attempts)
        clients = dynamodb_clients(endpoint_url=url, **dynamodb_local.CREDENTIALS)
        refuse_half_answers(client := clients[attempts == 1], "dynamodb")
        return Boto3Calls(client, clock=ServerClock(host))

    return calls_to


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, unpatched: None) -> Any:
    """The environment of somebody who works in a shell; the file of boto3's configuration."""
    for name in (*ELSEWHERE, "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    (tmp_path / ".aws").mkdir()
    return tmp_path / ".aws" / "config"
