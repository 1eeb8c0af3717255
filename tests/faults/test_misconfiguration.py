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
    ItemTooLarge,
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
from lifoq.aws.dynamo_errors import meaning, refusal
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.items.change import ConditionFailed, TransactionRefused, UnfitAttribute
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


def cancelled(*codes: str, **of_first: Any) -> Exception:
    """Return the error of a transaction of one update and puts of "a" and "b"."""
    reasons = [{"Code": code} for code in codes]
    reasons[:1] = [{**first, **of_first} for first in reasons[:1]]
    told: Any = {
        "Error": {"Code": "TransactionCanceledException", "Message": "as the test says"},
        "CancellationReasons": reasons,
    }
    items = [{"taskId": "a"}, {"taskId": "b"}]
    return refusal(ClientError(told, "TransactWriteItems"), items)


def test_a_transaction_that_is_in_the_way_of_another_may_pass():
    for error in (cancelled("None", "TransactionConflict", "None"), cancelled()):
        assert isinstance(error, StoreUnavailable)
        assert "TransactWriteItems: " in str(error)
        assert "as the test says" in str(error)


@pytest.mark.parametrize(
    ("codes", "update_refused", "taken_ids"),
    [("CNN", True, set()), ("NCN", False, {"a"}), ("NNC", False, {"b"}), ("CCN", True, {"a"})],
)
def test_a_cancelled_transaction_tells_which_of_its_writes_were_refused(
    codes, update_refused, taken_ids
):
    named = [{"C": "ConditionalCheckFailed", "N": "None"}[code] for code in codes]
    item = {"Item": {"taskId": {"S": "t"}}} if update_refused else {}
    error = cancelled(*named, **item)
    assert isinstance(error, TransactionRefused)
    assert (error.update_refused, error.taken_ids) == (update_refused, taken_ids)
    assert error.current == ({"taskId": "t"} if update_refused else None)


def test_a_transaction_with_too_large_an_item_is_never_sent_again():
    error = cancelled("ValidationError", "None", "None", Message="Item size is too large")
    assert (type(error), str(error)) == (ItemTooLarge, "Item size is too large")


LACKS_INDEX = "table 'queue' lacks an index of the queue"
OTHER_KEYS = "table 'queue' has other keys than a queue's table"


@pytest.mark.parametrize(
    ("message", "becomes", "told"),
    [
        ("Item size has exceeded the maximum allowed size", ItemTooLarge, "Item size has exceeded"),
        ("Incorrect operand type for operator; operand type: S", UnfitAttribute, "Incorrect oper"),
        ("Number overflow. Attempting to store", UnfitAttribute, "Number overflow"),
        ("Attempting to store more than 38 significant digits", UnfitAttribute, "Attempting"),
        ("The table does not have the specified index: due-index", QueueMisconfigured, LACKS_INDEX),
        ("It doesn't have the index", QueueMisconfigured, LACKS_INDEX),
        ("The provided key element does not match the schema", QueueMisconfigured, OTHER_KEYS),
        ("Missing the key taskId in the item", QueueMisconfigured, OTHER_KEYS),
        ("One of the required keys was not given a value", QueueMisconfigured, OTHER_KEYS),
    ],
)
def test_what_dynamodb_calls_invalid_is_told_in_our_words(message, becomes, told):
    found = understood("ValidationException", message)
    assert type(found) is becomes
    assert str(found).startswith(told)
    assert message in str(found)


def test_what_nobody_foresaw_is_not_understood_and_a_condition_brings_what_is_there():
    for message in ("This is a size", "It would exceed", "An operand", "A type", "Else"):
        assert understood("ValidationException", message) is None
    assert understood("SomethingElse", "Item size has exceeded the bound") is None
    for item, there in (({"taskId": {"S": "t"}}, {"taskId": "t"}), ({}, None)):
        found = understood("ConditionalCheckFailedException", Item=item)
        assert isinstance(found, ConditionFailed)
        assert found.item == there


def test_a_missing_table_and_a_missing_permission_are_told_with_their_remedy():
    no_table = (
        "there is no table 'queue' in region 'eu-west-1' of this account: check the table's name, "
        "the region and the credentials"
    )
    denied = "dynamodb:UpdateItem on table 'queue' is not permitted to this caller: grant it (no)"
    for code, told in (("ResourceNotFoundException", no_table), ("AccessDeniedException", denied)):
        found = understood(code)
        assert (type(found), str(found)) == (QueueMisconfigured, told)


def understood(code: str, message: str = "no", **more: Any) -> Exception | None:
    told: Any = {"Error": {"Code": code, "Message": message}, **more}
    error = ClientError(told, "UpdateItem")
    return meaning(error, action="UpdateItem", table="queue", region="eu-west-1")


@pytest.mark.parametrize(
    ("action", "use"),
    [*list(QUEUE.items())[:3], ("DescribeTable", Queue.check), ("Query", run)],
)
def test_a_missing_permission_is_named(action, use):
    with pytest.raises(QueueMisconfigured, match=f"dynamodb:{action} on table 'queue'.*grant"):
        use(refusing("AccessDeniedException"))


@pytest.mark.parametrize(
    ("code", "expected", "since"),
    [
        ("ExpiredTokenException", StoreUnavailable, ""),
        ("AccessDenied", QueueMisconfigured, "there are no credentials, since AssumeRole was .*: "),
        ("InvalidClientTokenId", QueueMisconfigured, "there are no .*, since AssumeRole was .*: "),
    ],
)
def test_a_refused_call_for_credentials_is_told_from_a_refused_call_of_ours(code, expected, since):
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
    with pytest.raises(expected, match=f": {since}{code}: as the test says$"):
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
