"""A database out of reach, credentials that have expired: both may pass. A table that is not the
queue's, or not ours, does not: one sentence names it, with its remedy."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    EndpointConnectionError,
    MetadataRetrievalError,
    SSLError,
    UnauthorizedSSOTokenError,
)

from lab import dynamodb_local
from lifoq import (
    NewTask,
    Processor,
    Queue,
    QueueMisconfigured,
    Registry,
    Store,
    StoreUnavailable,
    Sweeper,
    WorkerSettings,
)
from lifoq.aws.boto3_clients import dynamodb_clients
from lifoq.aws.dynamo_errors import refusal
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.items.schema import DUE_INDEX, STATUS_CREATED_INDEX, table_definition
from tests.faults.faults import answer

QUEUE: dict[str, Callable[[Queue], object]] = {
    "PutItem": lambda queue: queue.put("a"),
    "BatchWriteItem": lambda queue: queue.put_many([NewTask(task_type="a")]),
    "GetItem": lambda queue: queue.get("a"),
    "GetItem and UpdateItem": lambda queue: queue.cancel("a"),
}
"""Uses, by what they ask of DynamoDB."""


def run(queue: Queue) -> object:
    settings = WorkerSettings(window=20, task_timeout=1)
    return Processor(queue.store, Registry(), settings).run()


def sweep(queue: Queue) -> object:
    return Sweeper(queue.store, Registry(), max_attempts=1).run()


# A table that is another


def created(endpoint: str, definition: dict[str, Any]) -> Queue:
    arguments: Any = {"endpoint_url": endpoint, **dynamodb_local.CREDENTIALS}
    boto3.client("dynamodb", **arguments).create_table(**definition)
    return Queue(Store(DynamoTable.connect(definition["TableName"], **arguments)))


@pytest.mark.parametrize("index", [STATUS_CREATED_INDEX, DUE_INDEX])
def test_a_table_without_an_index_is_named(dynamodb_local_endpoint, index):
    whole = table_definition(f"no-{index}")
    kept = [i for i in whole["GlobalSecondaryIndexes"] if i["IndexName"] != index]
    keys = {k["AttributeName"] for i in kept for k in i["KeySchema"]} | {"taskId"}
    attributes = [a for a in whole["AttributeDefinitions"] if a["AttributeName"] in keys]
    lacking = whole | {"GlobalSecondaryIndexes": kept, "AttributeDefinitions": attributes}
    queue = created(dynamodb_local_endpoint, lacking)
    with pytest.raises(QueueMisconfigured, match=f"no-{index}.*has no index '{index}'"):
        queue.check()
    for use in (run, sweep):
        with pytest.raises(QueueMisconfigured, match=f"'no-{index}' lacks an index.*deploy"):
            use(queue)


def test_a_table_of_another_shape_is_named_by_every_use(dynamodb_local_endpoint):
    foreign = {
        "TableName": "foreign",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    }
    queue = created(dynamodb_local_endpoint, foreign)
    with pytest.raises(QueueMisconfigured, match=r"'foreign' has the keys id .*own table"):
        queue.check()
    for use in QUEUE.values():
        with pytest.raises(QueueMisconfigured, match=r"'foreign' has other keys.*own table"):
            use(queue)


def test_another_region_is_named(dynamodb_local_endpoint, new_dynamo_table):
    name = new_dynamo_table(dynamodb_local_endpoint).name
    arguments = {**dynamodb_local.CREDENTIALS, "region_name": "eu-west-1"}
    elsewhere = DynamoTable.connect(name, endpoint_url=dynamodb_local_endpoint, **arguments)
    for use in (*QUEUE.values(), Queue.check, run, sweep):
        told = f"there is no table '{name}' in region 'eu-west-1'.*check"
        with pytest.raises(QueueMisconfigured, match=told):
            use(Queue(Store(elsewhere)))


# What the wire says


def answered(send: Callable[..., Any] = lambda **_: None) -> Queue:
    """Its calls are answered by ``send``."""
    arguments: Any = {"endpoint_url": "http://127.0.0.1:1", **dynamodb_local.CREDENTIALS}
    client, _ = dynamodb_clients(repeats=False, **arguments)
    client.meta.events.register("before-send.dynamodb", send)
    return Queue(Store(DynamoTable.of_clients("queue", client=client, once=client)))


def failing(error: Exception) -> Queue:
    def fail(**_: Any) -> None:
        raise error

    return answered(fail)


def refusing(code: str, message: str = "no") -> Queue:
    return answered(lambda request, **_: answer(request, 400, code, message))


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


@pytest.mark.parametrize(
    ("code", "message", "becomes", "told"),
    [
        ("ExpiredTokenException", "The security token is expired", StoreUnavailable, "Expired"),
        ("ExpiredToken", "The provided token has expired", StoreUnavailable, "ExpiredToken"),
        ("RequestExpired", "Request has expired", StoreUnavailable, "RequestExpired"),
        ("InvalidSignatureException", "Signature expired: 2026", StoreUnavailable, "Invalid"),
        ("InternalServerError", "", StoreUnavailable, "InternalServerError"),
        ("UnrecognizedClientException", "no", QueueMisconfigured, "check them"),
        ("InvalidSignatureException", "no", QueueMisconfigured, "check them"),
    ],
)
def test_a_refusal_may_pass_or_says_to_check_the_credentials(code, message, becomes, told):
    with pytest.raises(becomes, match=told):
        refusing(code, message).get("t")


def test_a_transaction_that_is_in_the_way_of_another_may_pass():
    told: Any = {
        "Error": {"Code": "TransactionCanceledException", "Message": "as the test says"},
        "CancellationReasons": [{"Code": "None"}, {"Code": "TransactionConflict"}],
    }
    with pytest.raises(StoreUnavailable, match=r"TransactWriteItems: .*as the test says"):
        raise refusal(ClientError(told, "TransactWriteItems"), [])


@pytest.mark.parametrize(
    ("action", "use"),
    [*list(QUEUE.items())[:3], ("DescribeTable", Queue.check), ("Query", run)],
)
def test_a_missing_permission_is_named(action, use):
    with pytest.raises(QueueMisconfigured, match=f"dynamodb:{action} on table 'queue'.*grant"):
        use(refusing("AccessDeniedException"))


@pytest.mark.parametrize(
    ("code", "expected"),
    [("ExpiredTokenException", StoreUnavailable), ("AccessDenied", QueueMisconfigured)],
)
def test_a_refused_call_for_credentials_is_told_from_a_refused_call_of_ours(code, expected):
    """A role whose session has run out, and cannot be assumed again."""

    def assume() -> dict[str, str]:
        refusal: Any = {"Error": {"Code": code, "Message": "as the test says"}}
        raise ClientError(refusal, "AssumeRole")

    expired = answered()
    expired.store.table._calls.client._request_signer._credentials = RefreshableCredentials(
        access_key="a",
        secret_key="s",  # noqa: S106
        token="t",  # noqa: S106
        expiry_time=RefreshableCredentials._expiry_datetime("2026-01-01T00:00:00Z"),
        refresh_using=assume,
        method="assume-role",
    )
    with pytest.raises(expected, match=f"{code}.*: as the test says"):
        expired.get("t")


# What is not set

HERE = {"AWS_DEFAULT_REGION": "us-east-1"}


@pytest.mark.parametrize(
    ("variables", "endpoint", "told"),
    [
        ({}, None, "specify a region: check region"),
        ({"AWS_PROFILE": "nobodys"}, None, "nobodys.*check region, profile"),
        (HERE, "nonsense", "'queue'.*nonsense.*endpoint"),
        (HERE, "http://127.0.0.1:1", "no credentials: give the process a role"),
    ],
)
def test_what_is_not_set_is_named(monkeypatch, variables, endpoint, told):
    nowhere = dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), "/nowhere")
    for name in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for name, value in {**nowhere, **variables}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(QueueMisconfigured, match=told):
        Queue.connect(table="queue", endpoint_url=endpoint).get("t")
