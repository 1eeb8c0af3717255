"""AWS by lifoq's own client: like the boto3 clients in whose place it stands, but for the time it
takes. What both keep is shown for both."""

import contextlib
import json
import os
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from typing import Any
from urllib.parse import parse_qs

import boto3
import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    HTTPClientError,
    ReadTimeoutError,
)

from lab import dynamodb_local
from lifoq import QueueMisconfigured, StoreUnavailable
from lifoq.aws import client_choice as own
from lifoq.aws import own_client as service
from lifoq.aws import step_functions_calls, topics
from lifoq.aws.boto3_clients import dynamodb_clients
from lifoq.aws.connections import Connections
from lifoq.aws.dynamo_table import Calls, DynamoTable
from lifoq.aws.dynamo_values import plain
from lifoq.aws.retry_policy import (
    CAPACITY,
    LONGEST_PAUSE,
    READ_TIMEOUT,
    REPEAT_COST,
    THROTTLED_COST,
    RepeatQuota,
    pause,
)
from lifoq.aws.step_functions_calls import StepFunctionsCalls
from lifoq.aws.topics import Topics
from lifoq.basics.clock import ServerClock
from lifoq.operating.aws_calls import Account
from lifoq.testing.hosts import START
from lifoq_functions.boto3_clients import client
from lifoq_functions.kick import Kicker
from tests.aws.server import ERROR, GET, Server, refused, reply


def table_of(calls: Calls) -> DynamoTable:
    return DynamoTable(name="queue", calls=calls, once=calls, clock=ServerClock())


def client_to(url: str, attempts: int) -> Any:
    return dynamodb_clients(endpoint_url=url, **dynamodb_local.CREDENTIALS)[attempts == 1]


# The request


@pytest.mark.parametrize("token", ["", "a-token"])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_request_has_the_signature_that_botocore_gives_it(monkeypatch, own_calls, token, address):
    server = Server(address)
    monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    own_calls(server.url).call("GetItem", GET)
    server.close()
    (sent,) = server.heard()
    now = datetime.fromtimestamp(START / 1e6, UTC)
    monkeypatch.setattr(auth, "get_current_datetime", lambda: now, raising=False)
    signed = sent.headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    assert signed == sorted({"host", *(n for n in sent.headers if n.startswith("x-amz-"))})
    same = AWSRequest(
        "POST", server.url + "/", {name: sent.headers[name] for name in signed}, sent.body
    )
    auth.SigV4Auth(boto3.Session().get_credentials(), "dynamodb", "us-east-1").add_auth(same)
    assert sent.headers["authorization"] == same.headers["Authorization"]
    assert sent.headers["host"] == server.url.removeprefix("http://")
    assert json.loads(sent.body) == GET


def test_bytes_and_what_says_that_a_repeated_transaction_is_the_same_are_sent(server, calls_to):
    server.answers = [None]
    calls = calls_to(server.url)
    item = {"Put": {"TableName": "t", "Item": {"b": {"B": b"\x00\xff"}}}}
    for _ in range(2):
        calls.call("TransactWriteItems", {"TransactItems": [item]})
    sent = [json.loads(request.body) for request in server.heard()]
    assert {one["TransactItems"][0]["Put"]["Item"]["b"]["B"] for one in sent} == {"AP8="}
    tokens = [one["ClientRequestToken"] for one in sent]
    assert tokens[0] == tokens[1] != tokens[2]


def test_items_are_read_as_they_stand_not_as_a_copy_has_them(server, calls_to):
    table = table_of(calls_to(server.url))
    server.answers = [reply({}), reply({"Responses": {}, "UnprocessedKeys": {}})]
    assert (table.get("a"), table.get_many(["a"])) == (None, [])
    one, many = (json.loads(request.body) for request in server.heard())
    assert one["ConsistentRead"]
    assert many["RequestItems"]["queue"]["ConsistentRead"]


@pytest.mark.parametrize("end", ["\r\nX-Injected: 1", "\r\n\r\nPOST /", "\x01", "€", "\udcff"])
@pytest.mark.parametrize(
    "variable", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]
)
def test_credentials_that_would_end_their_header_are_refused_and_not_shown(
    monkeypatch, server, own_calls, variable, end
):
    monkeypatch.setenv(variable, f"SECRET{end}")
    with pytest.raises(QueueMisconfigured, match="outside of ASCII") as caught:
        table_of(own_calls(server.url)).get("t")
    assert "SECRET" not in f"{caught.value!r}{caught.value.__cause__!r}{caught.value.__context__!r}"
    assert server.heard() == []


def test_boto3_shows_no_secret_either_where_it_cannot_send_it(server):
    told = {**dynamodb_local.CREDENTIALS, "aws_session_token": "SECRET\r\nX-Injected: 1"}
    table = DynamoTable.connect("queue", repeats=False, endpoint_url=server.url, **told)
    with pytest.raises(QueueMisconfigured, match="have a line break") as caught:
        table.get("t")
    assert "SECRET" not in str(caught.value)
    assert caught.value.__suppress_context__
    assert server.heard() == []


def test_a_trace_is_told_as_boto3_tells_it_and_injects_nothing(monkeypatch, server, calls_to):
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "a-function")
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-a;Sampled=1\r\nX-Injected: 1")
    calls_to(server.url).call("GetItem", GET)
    (sent,) = server.heard()
    assert sent.headers["x-amzn-trace-id"] == "Root=1-a;Sampled=1%0D%0AX-Injected:%201"
    assert "x-injected" not in sent.headers


# The answer

ITEM = b'{"Item": {"a": {"B": "AP8="}, "b": {"BS": ["AP8="]}}}'
FOUND = reply(ITEM, x_amz_crc32=str(zlib.crc32(ITEM)))
ANSWERS = {
    "an item": FOUND,
    "condition": refused("ConditionalCheckFailedException", Item={"a": {"B": "AP8="}}),
    "transaction": refused("TransactionCanceledException", CancellationReasons=[{"Code": "None"}]),
    "throughput": refused("ProvisionedThroughputExceededException"),
    "throttled": refused("ThrottlingException"),
    "skewed": refused("RequestTimeTooSkewed"),
    "unknown": refused("NobodyKnowsIt", 499),
    "failed": refused("InternalServerError", 500),
    "failed by an unknown code": refused("NobodyKnowsIt", 503),
    "too many": refused("NobodyKnowsIt", 429),
    "closed": None,
    "another protocol": b"HELLO\r\n\r\n",
    "no end": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000,
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_whatever_is_answered_a_call_ends_as_boto3s_does(server, pauses, own_calls, answer):
    for attempts, answers in ((1, [answer] * 9), (4, [answer] * 9), (4, [answer, FOUND])):
        boto3s, calls = client_to(server.url, attempts), own_calls(server.url, attempts)
        ended = []
        for call in (boto3s._make_api_call, calls.call):
            server.answers = [*answers]
            ended.append((end(call), len(server.heard()), len(pauses)))
            assert all(0 <= pause <= 2**n for n, pause in enumerate(pauses))
            assert len({*pauses}) == len(pauses)
            pauses.clear()
        assert ended[0] == ended[1]


def end(call: Callable[..., Any]) -> Any:
    """The answer, or the error; of AWS's refusals code, status and what comes with it, and the
    message where it is not botocore's own."""
    try:
        return plain(call("GetItem", GET)["Item"])
    except ClientError as error:
        said = error.response
        status, message = said["ResponseMetadata"]["HTTPStatusCode"], said["Error"]["Message"]
        more = plain(said.get("Item", {})), said.get("CancellationReasons")
        return said["Error"]["Code"], status, message if "test" in message else "", more
    except BotoCoreError as error:
        return type(error), error.args


@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("socket.getaddrinfo", socket.gaierror("nowhere")),
        ("socket.socket.connect", ConnectionRefusedError("refused")),
        ("socket.socket.connect", TimeoutError("slow")),
        ("ssl.SSLContext.wrap_socket", ssl.SSLCertVerificationError("bad")),
        ("ssl.SSLContext.wrap_socket", ConnectionResetError("by peer")),
    ],
    ids=str,
)
def test_a_connection_that_cannot_be_had_is_told_as_boto3_tells_it(
    monkeypatch, server, own_calls, function, error
):
    def fail(*_: Any, **__: Any) -> None:
        raise error

    url = server.url.replace("http:", "https:")
    calls, boto3s = own_calls(url, attempts=1), client_to(url, 1)
    monkeypatch.setattr(function, fail)
    found = end(calls.call)
    assert found == end(boto3s._make_api_call)
    assert issubclass(found[0], BotoCoreError)


DEEP = b'{"Item": ' + b'{"M": ' * 200_000
HEAD = b"HTTP/1.1 200 OK\r\n"
UNUSABLE = {
    "answers half": HEAD + b"Content-Length: 100\r\n\r\n{",
    "answers the headers' beginning": HEAD + b"Content-",
    "refuses, and answers half": reply({"__type": ERROR + "Nobody"}, 400)[:-5],
    "is a portal": reply(b"<p>Log in"),
    "is a firewall": reply(b"<html>Forbidden", 403),
    "is a proxy that finds it too large": reply(b"too large", 413),
    "is a proxy that has enough": reply(b"slow down", 429),
    "is a proxy without what is behind it": reply(b"<html>Bad gateway", 502),
    "says nothing": reply(b"", 503),
    "is deep": reply(DEEP),
    "refuses deeply": reply(DEEP, 400),
    "answers no object": reply([1]),
    "refuses with no object": reply([1], 400),
    "refuses with no name of an error": reply({"__type": 7}, 400),
    **{
        f"tells its length as {length[:12]!r}": HEAD
        + f"Content-Length: {length}\r\nConnection: close\r\n\r\n{{}}".encode("latin-1")
        for length in ("-1", "+2", "1_0", "2.0", "nan", "²", "0x2", "9" * 5_000, "2, 2")
    },
    "tells two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 1\r\n\r\n{}",
    **{
        f"tells the size of a chunk as {size!r}": HEAD
        + f"Transfer-Encoding: chunked\r\n\r\n{size}\r\n{{}}\r\n0\r\n\r\n".encode()
        for size in ("-5", "zz", "", "F" * 40)
    },
}


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE)
def test_an_answer_that_is_cut_odd_or_not_awss_is_asked_for_again_where_that_is_safe(
    server, own_calls, answer
):
    server.answers, server.closing = [answer, FOUND], True
    assert "a" in table_of(own_calls(server.url)).get("t")
    assert len(server.heard()) == 2
    server.answers = [answer]
    with pytest.raises(StoreUnavailable, match=r"GetItem.*'queue'"):
        table_of(own_calls(server.url, attempts=1)).get("t")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("refuses with no name of an error", r"the answer is not AWS's \(HTTP 400\): b'\{"),
        ("is a portal", "the answer is not AWS's: b'<p>Log in'"),
    ],
)
def test_what_is_not_awss_is_shown_with_the_status_of_a_refusal(server, own_calls, answer, said):
    server.answers = [UNUSABLE[answer]]
    with pytest.raises(StoreUnavailable, match=said):
        table_of(own_calls(server.url, attempts=1)).get("t")


HALF = ("answers half", "answers the headers' beginning", "refuses, and answers half")
PAGES = [one for one in UNUSABLE if one.startswith(("is ", "says", "refuses deeply"))]


def test_boto3_takes_no_such_answer_for_one_of_awss_either(server):
    server.closing = True
    told = {"endpoint_url": server.url, **dynamodb_local.CREDENTIALS}
    table = DynamoTable.connect("queue", repeats=False, **told)
    for answer in (*HALF, *PAGES):
        server.answers = [UNUSABLE[answer]] * 2
        with pytest.raises(StoreUnavailable, match=r"GetItem.*'queue'"):
            table.get("t")
        server.answers.clear()


def test_a_page_in_place_of_an_answer_in_xml_may_pass(server):
    server.answers = [UNUSABLE["is a portal"]]
    account = Account(endpoint_url=server.url, **dynamodb_local.CREDENTIALS)
    with pytest.raises(StoreUnavailable, match="sts GetCallerIdentity: Unable to parse response"):
        account.call("sts", "get_caller_identity")


def test_an_answer_that_came_damaged_is_asked_for_again(server, calls_to, pauses):
    damaged = reply(ITEM, x_amz_crc32="1")
    server.answers = [damaged, FOUND]
    assert "Item" in calls_to(server.url).call("GetItem", GET)
    assert len(server.heard()) == 2
    server.answers = [damaged]
    with pytest.raises(StoreUnavailable, match="hecksum"):
        table_of(calls_to(server.url, attempts=1)).get("t")


NO_DATES = (
    *("", "yesterday", "1 1 1 1"),
    *("Mon, 99 Nov 2026 00:00:00 GMT", "Mon, 23 Nov 99999 00:00:00 GMT"),
)


def test_a_date_that_is_none_teaches_nothing(server, calls_to):
    server.answers = [reply(ITEM, Date=date) for date in NO_DATES]
    calls = calls_to(server.url)
    for date in NO_DATES:
        assert "Item" in calls.call("GetItem", GET), date


# Repeats


@pytest.mark.parametrize(
    ("answer", "cost"),
    [
        (refused("InternalServerError", 500), REPEAT_COST),
        (refused("ThrottlingException"), THROTTLED_COST),
        (None, REPEAT_COST),
    ],
    ids=["failed", "throttled", "closed"],
)
def test_a_service_in_trouble_is_sent_as_many_repeats_as_boto3_sends_it(
    server, pauses, own_calls, answer, cost
):
    """Four requests for each of 40 calls would be 160."""
    sent = []
    for call in (client_to(server.url, 4)._make_api_call, own_calls(server.url).call):
        server.answers = [answer] * 160
        for _ in range(40):
            end(call)
        sent.append(len(server.heard()))
    assert sent == [40 + CAPACITY // cost] * 2


def test_a_pause_is_drawn_from_a_range_that_doubles_up_to_the_longest(monkeypatch):
    monkeypatch.setattr("random.random", lambda: 0.5)
    pauses = [pause(attempt) for attempt in range(1, 8)]
    assert pauses == [0.5, 1, 2, 4, 8, LONGEST_PAUSE / 2, LONGEST_PAUSE / 2]


def test_repeats_that_succeed_can_be_had_again(server, pauses, own_calls):
    calls = own_calls(server.url)
    for _ in range(CAPACITY // REPEAT_COST + 1):
        server.answers = [refused("InternalServerError", 500)]
        calls.call("GetItem", GET)


def test_each_call_that_succeeds_at_once_pays_one_token_back_and_never_more_than_there_were():
    quota = RepeatQuota()
    quota.succeeded(0)
    taken = 0
    while quota.take(throttled=False):
        taken += 1
    assert taken == CAPACITY // REPEAT_COST
    for _ in range(REPEAT_COST - CAPACITY % REPEAT_COST):
        assert not quota.take(throttled=False)
        quota.succeeded(0)
    assert quota.take(throttled=False)


@pytest.mark.parametrize("by_the_own_client", [False, True])
def test_a_clock_that_is_off_is_known_after_the_first_refusal(
    server, in_a_function, by_the_own_client
):
    """boto3 signs by the machine's clock all the same."""
    in_a_function(AWS_ENDPOINT_URL=server.url)
    hour_ahead = datetime.now(UTC) + timedelta(hours=1)
    body = {"__type": ERROR + "InvalidSignatureException", "message": "Signature expired: now"}
    server.answers = [reply(body, 400, Date=format_datetime(hour_ahead, usegmt=True))]
    make = DynamoTable.in_function if by_the_own_client else DynamoTable.connect
    table = make("queue")
    with pytest.raises(StoreUnavailable, match="Signature expired"):
        table.get("t")
    assert abs(table.clock_ahead() + 3_600e6) < 600e6
    assert table.get("t") is None
    signed = [datetime.strptime(r.headers["x-amz-date"], "%Y%m%dT%H%M%S%z") for r in server.heard()]
    step = timedelta(hours=1 if by_the_own_client else 0)
    assert abs(signed[1] - signed[0] - step) < timedelta(minutes=10)


# Connections


def test_a_connection_that_the_server_has_closed_is_not_used_again(server, own_calls):
    server.closing = True
    calls = own_calls(server.url, attempts=1)
    for _ in range(2):
        calls.call("GetItem", GET)
        server.closed.get(timeout=300)


@pytest.mark.parametrize("attempts", [1, 4])
def test_connections_that_were_forgotten_while_the_process_was_frozen_fail_one_call_at_the_most(
    server, own_calls, attempts
):
    """Each repeat would take the next dead one, and three calls in a row fail."""
    calls, all_there = own_calls(server.url, attempts), threading.Barrier(12)

    def wait_for_all(_request: Any) -> bytes:
        all_there.wait(60)
        return reply({})

    server.answers = [wait_for_all] * 12
    with ThreadPoolExecutor(12) as threads:
        list(threads.map(lambda _: calls.call("GetItem", GET), range(12)))
    server.forgotten = {request.peer for request in server.heard()}
    assert len(server.forgotten) == 12
    ended = []
    for _ in range(12):
        try:
            calls.call("GetItem", GET)
            ended.append(None)
        except ConnectionClosedError as error:
            ended.append(error)
    assert len([one for one in ended if one is not None]) == (1 if attempts == 1 else 0)
    assert ended[1:] == [None] * 11


@pytest.mark.parametrize("attempts", [1, 2])
def test_after_a_call_that_was_not_answered_in_time_the_next_gets_its_own_answer(
    monkeypatch, server, host, own_calls, attempts
):
    """The late answer of the call before lies in its connection. Connections that are made after it
    was given up may take as long as a busy machine needs."""
    monkeypatch.setattr(service, "READ_TIMEOUT", 0.5)
    monkeypatch.setattr(host, "sleep", lambda _: monkeypatch.setattr(service, "READ_TIMEOUT", 600))
    given_up = threading.Event()

    def late(_request: Any) -> bytes:
        given_up.wait(60)
        return reply({"n": "late"})

    server.answers = [late, *(reply({"n": n}) for n in range(3))]
    calls = own_calls(server.url, attempts)
    if attempts == 1:
        with pytest.raises(ReadTimeoutError):
            calls.call("GetItem", GET)
        host.sleep(0)
        given_up.set()
    else:
        assert calls.call("GetItem", GET) == {"n": 0}
        given_up.set()
    first = 0 if attempts == 1 else 1
    assert [calls.call("GetItem", GET)["n"] for _ in range(2)] == [first, first + 1]
    assert len({request.peer for request in server.heard()}) == 2


def test_a_repeat_of_what_was_throttled_goes_over_the_same_connection(server, pauses, own_calls):
    server.answers = [refused("ThrottlingException"), FOUND]
    own_calls(server.url).call("GetItem", GET)
    assert len({request.peer for request in server.heard()}) == 1


def test_threads_get_their_own_answers_over_a_bounded_number_of_connections(
    monkeypatch, server, own_calls
):
    monkeypatch.setattr(service, "CONNECTIONS", 4)
    server.answers = [lambda request: reply({"n": json.loads(request.body)["n"]})] * 100
    calls = own_calls(server.url)
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda n: calls.call("GetItem", {**GET, "n": n})["n"], range(100))
    assert [*answers] == [*range(100)]
    assert 1 <= len(calls._service._connections._idle) <= 4


CHUNKS = b'3\r\n{"n\r\n5;as=is\r\n": 1}\r\n0\r\n\r\n'


@pytest.mark.parametrize(
    ("answer", "again"),
    [
        (reply({"n": 1}), True),
        (reply({"n": 1}, Connection="Close"), False),
        (reply({"n": 1}).replace(b"HTTP/1.1", b"HTTP/1.0"), False),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + reply({"n": 1}), False),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS, False),
        (HEAD + b'\r\n{"n": 1}', False),
    ],
)
@pytest.mark.parametrize("piece", [1, 1_000])
def test_an_answer_is_read_in_each_of_its_forms_and_the_next_is_another(
    server, own_calls, answer, again, piece
):
    server.answers, server.piece = [answer, reply({"n": 2})], piece
    calls = own_calls(server.url)
    assert [calls.call("GetItem", GET) for _ in range(2)] == [{"n": 1}, {"n": 2}]
    first, second = server.heard()
    assert (first.peer == second.peer) is again


def test_what_comes_after_an_answer_is_none_of_it():
    """The server pushes a second answer: the next call would take it for its own."""
    ours, servers = socket.socketpair()
    connections = Connections(lambda: ours, kept=1)
    servers.sendall(reply({}) + reply({"n": "another"}))
    with pytest.raises(OSError, match="has not the 2 bytes"):
        connections.exchange(b"")
    assert ours.fileno() == -1
    servers.close()


def test_after_a_fork_no_connection_is_shared(server, own_calls):
    calls = own_calls(server.url)
    calls.call("GetItem", GET)
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            calls.call("GetItem", GET)
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    calls.call("GetItem", GET)
    first, childs, second = [request.peer for request in server.heard()]
    assert first == second != childs


def test_a_batch_is_sent_once_as_a_repeat_would_write_over_what_came_meanwhile(
    server, in_a_function
):
    in_a_function(AWS_ENDPOINT_URL=server.url)
    server.answers = [None, reply({})]
    with pytest.raises(StoreUnavailable):
        DynamoTable.in_function("queue").put_batch([{"taskId": "t"}])
    assert len(server.heard()) == 1


# How long is waited


def test_nobody_waits_for_an_answer_for_longer_than_he_should(monkeypatch, server, own_calls):
    """For so long at the most: a call, a kick, and those of the clients that boto3 makes."""
    monkeypatch.setattr(service, "READ_TIMEOUT", 0.2)
    monkeypatch.setattr(topics, "ATTEMPTS", 1)
    server.answers = [lambda _: time.sleep(600)] * 2
    calls = own_calls(server.url, attempts=1)
    kicker = Kicker("arn:aws:sns:us-east-1:123456789012:process")
    for call in (partial(calls.call, "GetItem", GET), partial(kicker.kick, "tasks wait")):
        with pytest.raises(ReadTimeoutError):
            call()


def test_a_kick_by_boto3_waits_no_longer():
    found = client("sns").meta.config
    assert (found.connect_timeout, found.read_timeout) == (2, READ_TIMEOUT)
    assert found.retries["total_max_attempts"] == 4


def test_each_client_waits_for_five_seconds_or_as_long_as_its_user_says(server, own_calls):
    connection = own_calls(server.url)._service._connections._connect()
    assert connection.gettimeout() == READ_TIMEOUT == 5
    connection.close()
    told = {"endpoint_url": server.url, **dynamodb_local.CREDENTIALS}
    for config, expected in ((None, (2, 5, 4)), (Config(read_timeout=70), (2, 70, 4))):
        table = DynamoTable.connect("queue", config=config, **told)
        for calls, attempts in ((table._calls, expected[2]), (table._once, 1)):
            found = calls.client.meta.config
            assert (found.connect_timeout, found.read_timeout) == expected[:2]
            assert found.retries["total_max_attempts"] == attempts


# Other services


@pytest.mark.parametrize(
    ("name", "region"),
    [
        *(("dynamodb", "us-east-1"), ("sns", "us-east-1"), ("states", "us-east-1")),
        *(("dynamodb", "ap-southeast-5"), ("states", "mx-central-1")),
    ],
)
def test_services_are_where_botocore_finds_them(monkeypatch, in_a_function, name, region):
    in_a_function(AWS_DEFAULT_REGION=region)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    (found,) = own.in_function(name)
    boto3s = boto3.client({"states": "stepfunctions"}.get(name, name), region_name=region)
    assert found.endpoint.url == boto3s.meta.endpoint_url + "/"


@pytest.fixture
def clients_of(client_of: Callable[[str], Any]) -> Callable[[str], tuple[Any, Any]]:
    """boto3's client of SNS or Step Functions, and what stands in its place."""
    return lambda name: (boto3.client(name), client_of(name))


@pytest.fixture
def client_of(
    monkeypatch: pytest.MonkeyPatch, server: Server, in_a_function: Any, host: Any
) -> Callable[[str], Any]:
    """The own client, in the place of boto3's of SNS or Step Functions."""
    in_a_function(AWS_ENDPOINT_URL=server.url)
    for module in (step_functions_calls, topics):
        monkeypatch.setattr(module, "ATTEMPTS", 1)
    ours = {"sns": ("sns", Topics), "stepfunctions": ("states", StepFunctionsCalls)}

    def made(name: str) -> Any:
        called, kind = ours[name]
        return kind(*own.in_function(called, host=host))

    return made


TEXT = {"DataType": "String", "StringValue": "prod & more"}
ENTRIES = [
    {"Id": "0", "Message": '{"n": "ü+ "}', "MessageAttributes": {"queue": TEXT, "status": TEXT}},
    {"Id": "1", "Message": "m", "MessageAttributes": {}},
]
BATCH = {"TopicArn": "arn:t", "PublishBatchRequestEntries": ENTRIES}
SENT = [
    ("sns", "publish", {"TopicArn": "arn:t", "Message": "there & then"}),
    ("sns", "publish_batch", BATCH),
    ("stepfunctions", "send_task_success", {"taskToken": "t", "output": '{"n": "ü"}'}),
    ("stepfunctions", "send_task_failure", {"taskToken": "t", "error": "e", "cause": "c"}),
]
PAGE = b"""<?xml version="1.0"?>
<PublishBatchResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishBatchResult><Failed>
<member><Id>1</Id><Code>Internal</Code><Message>a &amp; b</Message><SenderFault>false</SenderFault>
</member></Failed><Successful><member><Id>0</Id><MessageId>m</MessageId></member></Successful>
</PublishBatchResult></PublishBatchResponse>"""


@pytest.mark.parametrize(("name", "operation", "terms"), SENT, ids=[one[1] for one in SENT])
def test_a_call_is_what_boto3_would_send(server, clients_of, name, operation, terms):
    page = PAGE if operation == "publish_batch" else PAGE.replace(b"Batch", b"")
    server.answers = [reply(page if name == "sns" else {})] * 2
    for each in clients_of(name):
        getattr(each, operation)(**terms)
    boto3s, ours = server.heard()
    reading = parse_qs if name == "sns" else json.loads
    assert reading(ours.body.decode()) == reading(boto3s.body.decode())
    scope = "/us-east-1/" + ("sns" if name == "sns" else "states") + "/aws4_request"
    for header in ("host", "x-amz-target", "content-type"):
        assert ours.headers.get(header) == boto3s.headers.get(header)
    assert all(scope in request.headers["authorization"] for request in (ours, boto3s))


def test_what_a_batch_left_out_is_read_as_boto3_reads_it(server, clients_of):
    boto3s, ours = clients_of("sns")
    server.answers = [reply(PAGE)] * 2
    (expected,), (found,) = (one.publish_batch(**BATCH)["Failed"] for one in (boto3s, ours))
    assert found["Id"] == expected["Id"] == "1"
    assert found["Message"] == expected["Message"] == "a & b"


@pytest.mark.parametrize(("name", "operation", "terms"), SENT, ids=[one[1] for one in SENT])
def test_a_page_that_is_not_awss_confirms_nothing(server, client_of, name, operation, terms):
    client = client_of(name)
    for page in (reply(b"<html>"), reply(b"<html/>"), reply(b"<html>", 403)):
        server.answers = [page]
        with pytest.raises(HTTPClientError, match="not AWS's"):
            getattr(client, operation)(**terms)


def test_of_a_long_page_that_is_not_awss_the_beginning_is_told(server, client_of):
    server.answers = [reply(b"<html>" + 500 * b"x", 403)]
    with pytest.raises(HTTPClientError) as told:
        getattr(client_of(SENT[0][0]), SENT[0][1])(**SENT[0][2])
    assert f": {b'<html>' + 74 * b'x'}" in str(told.value)


def test_a_refusal_has_the_code_that_boto3_reads(server, clients_of):
    refusal = {"__type": "com.amazonaws.step_functions#TaskTimedOut", "message": "too late"}
    for each in clients_of("stepfunctions"):
        server.answers = [reply(refusal, 400)]
        with pytest.raises(ClientError, match=r"TaskTimedOut.*too late"):
            each.send_task_success(taskToken="t", output="1")
