"""AWS by its wire, DynamoDB above all: like the boto3 clients in whose place it stands, but for the
time it takes."""

import contextlib
import json
import os
import queue
import socket
import ssl
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import boto3
import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, SSLError
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from moto import mock_aws
from werkzeug.serving import generate_adhoc_ssl_pair

from lab import dynamodb_local
from lifoq import StoreUnavailable
from lifoq.basics.clock import ServerClock
from lifoq.tables import wire, without_boto3
from lifoq.tables.dynamo import Calls, DynamoTable
from lifoq.tables.dynamo_values import plain
from lifoq.tables.wire import ONCE, PATIENT
from lifoq.tables.without_boto3 import DynamoCalls, States, Topics
from lifoq.testing import create_table
from lifoq.testing.hosts import START

GET: Any = {"TableName": "queue", "Key": {"taskId": {"S": "t"}}}
ERROR = "com.amazonaws.dynamodb.v20120810#"


def reply(body: Any, status: int = 200, **headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} so", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def refused(code: str, status: int = 400, **more: Any) -> bytes:
    return reply({"__type": ERROR + code, "message": "as the test says", **more}, status)


class Server(ThreadingHTTPServer):
    """Answers with what is in ``answers``, in this order, and then with an empty success; None
    closes the connection instead, and so does the end of an answer that does not tell it."""

    daemon_threads = True

    def __init__(self, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, 0), _Handler)
        self.answers: list[bytes | Callable[[Any], bytes | None] | None] = []
        self.requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.closed: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.piece = 1_000_000
        """Bytes that are sent at once."""
        self.closing = False
        """Whether each connection is closed after its answer, which does not say so."""
        host = "localhost" if tls else f"[{address}]" if ":" in address else address
        self.url = f"http{'s' if tls else ''}://{host}:{self.server_port}"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def heard(self) -> list[Any]:
        return [self.requests.get() for _ in range(self.requests.qsize())]

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.closed.put(request)

    def handle_error(self, *_: Any) -> None:
        """Who asked has left."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: Any = self.server
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers["content-length"]))
        request = SimpleNamespace(peer=self.client_address, headers=headers, body=body)
        server.requests.put(request)
        answer = server.answers.pop(0) if server.answers else reply({})
        answer = (answer(request) if callable(answer) else answer) or b""
        self.close_connection = server.closing or b"\r\nContent-Length: " not in answer
        for at in range(0, len(answer), server.piece):
            self.wfile.write(answer[at : at + server.piece])

    def log_message(self, *_: Any) -> None: ...


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


def client_of(url: str | None, config: Config = PATIENT, **arguments: Any) -> Any:
    return boto3.client("dynamodb", endpoint_url=url, config=config, **arguments)


def wire_of(client: Any) -> wire.Wire:
    return wire.Wire(client, now=lambda: START)


def wire_to(url: str | None, config: Config = PATIENT, **arguments: Any) -> wire.Wire:
    return wire_of(client_of(url, config, **arguments))


@pytest.fixture(params=["by boto3's client", "without boto3"])
def calls_to(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, host: Any
) -> Callable[..., Calls]:
    """Both ways to call DynamoDB; ``attempts`` is 4, or 1."""

    def calls_to(url: str, attempts: int = 4) -> Calls:
        if request.param == "by boto3's client":
            patience = Config(read_timeout=without_boto3.READ_TIMEOUT)
            return wire_to(url, config_of(attempts).merge(patience))
        in_a_function(monkeypatch, AWS_ENDPOINT_URL=url)
        return DynamoCalls(attempts=attempts, clock=ServerClock(host), host=host)

    return calls_to


def config_of(attempts: int) -> Config:
    return PATIENT if attempts > 1 else ONCE


def in_a_function(monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
    for name in without_boto3.ONLY_BOTOCORES:
        monkeypatch.delenv(name, raising=False)
    for name, value in {"AWS_LAMBDA_FUNCTION_NAME": "a-function", **environment}.items():
        monkeypatch.setenv(name, value)


# The request


@pytest.mark.parametrize("token", ["", "a-token"])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_request_has_the_signature_that_botocore_gives_it(monkeypatch, calls_to, token, address):
    server = Server(address)
    monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    calls_to(server.url).call("GetItem", GET)
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


@pytest.mark.parametrize(
    ("config", "region"),
    [
        ({}, "us-east-1"),
        ({}, "cn-north-1"),
        ({"use_fips_endpoint": True}, "us-west-2"),
        ({"use_dualstack_endpoint": True}, "eu-west-3"),
        ({"account_id_endpoint_mode": "required"}, "us-east-1"),
    ],
)
def test_calls_go_where_the_client_sends_them(monkeypatch, config, region):
    monkeypatch.setenv("AWS_ACCOUNT_ID", "123456789012")
    client = client_of(None, PATIENT.merge(Config(**config)), region_name=region)
    seen = []

    def see(request: Any, **_: Any) -> AWSResponse:
        region, service = str(request.headers["Authorization"]).split("/")[2:4]
        seen.append((request.url, region, service))
        return AWSResponse(request.url, 200, {}, SimpleNamespace(stream=lambda: [b"{}"]))

    client.meta.events.register("before-send.dynamodb.GetItem", see)
    calls = wire_of(client)
    calls.call("GetItem", GET)
    client.get_item(**GET)
    assert calls._routes["GetItem"].direct
    assert seen[0] == seen[1]


def test_bytes_and_what_says_that_a_repeated_transaction_is_the_same_are_sent(server, calls_to):
    server.answers = [None]
    calls = calls_to(server.url)
    for _ in range(2):
        calls.call("TransactWriteItems", {"Put": b"\x00\xff"})
    sent = [json.loads(request.body) for request in server.heard()]
    assert {one["Put"] for one in sent} == {"AP8="}
    tokens = [one["ClientRequestToken"] for one in sent]
    assert tokens[0] == tokens[1] != tokens[2]


def test_items_are_read_as_they_stand_not_as_a_copy_has_them(server, calls_to):
    calls = calls_to(server.url)
    table = DynamoTable(name="queue", calls=calls, once=calls, clock=ServerClock())
    server.answers = [reply({}), reply({"Responses": {}, "UnprocessedKeys": {}})]
    assert (table.get("a"), table.get_many(["a"])) == (None, [])
    one, many = (json.loads(request.body) for request in server.heard())
    assert one["ConsistentRead"]
    assert many["RequestItems"]["queue"]["ConsistentRead"]


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
    "a proxy's page": reply(b"<html>Bad gateway", 502),
    "too large": reply(b"too large", 413),
    "nothing": reply(b"", 503),
    "closed": None,
    "another protocol": b"HELLO\r\n\r\n",
    "no end": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000,
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_whatever_is_answered_a_call_ends_as_the_clients_does(server, pauses, calls_to, answer):
    for attempts, answers in ((1, [answer] * 9), (4, [answer] * 9), (4, [answer, FOUND])):
        client, calls = client_of(server.url, config_of(attempts)), calls_to(server.url, attempts)
        ended = []
        for call in (client._make_api_call, calls.call):
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
def test_a_connection_that_cannot_be_had_is_told_as_the_client_tells_it(
    monkeypatch, server, calls_to, function, error
):
    def fail(*_: Any, **__: Any) -> None:
        raise error

    url = server.url.replace("http:", "https:")
    calls, client = calls_to(url, attempts=1), client_of(url, ONCE)
    monkeypatch.setattr(function, fail)
    found = end(calls.call)
    assert found == end(client._make_api_call)
    assert issubclass(found[0], BotoCoreError)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", id="answers half"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-", id="answers the headers' beginning"),
        pytest.param(reply(b"<p>Log in"), id="is a portal"),
        pytest.param(lambda _: time.sleep(1), id="does not answer"),
    ],
)
def test_a_server_that_gives_no_answer_may_give_one_later(monkeypatch, server, calls_to, answer):
    """boto3 takes some of them for a success."""
    server.answers, server.closing = [answer], True
    monkeypatch.setattr(without_boto3, "READ_TIMEOUT", 0.2)
    calls = calls_to(server.url, attempts=1)
    table = DynamoTable(name="queue", calls=calls, once=calls, clock=ServerClock())
    with pytest.raises(StoreUnavailable, match=r"GetItem.*'queue'"):
        table.get("t")


def test_an_answer_that_came_damaged_is_asked_for_again(server, calls_to):
    server.answers = [reply(ITEM, x_amz_crc32="1"), FOUND]
    assert "Item" in calls_to(server.url).call("GetItem", GET)
    assert len(server.heard()) == 2


def test_repeats_that_succeed_can_be_had_again(server, pauses):
    """botocore lends a client a number of repeats, and takes them back after a success."""
    calls = wire_to(server.url)
    for _ in range(60):
        server.answers = [refused("InternalServerError", 500)]
        calls.call("GetItem", GET)


@pytest.mark.parametrize("in_lambda", [False, True])
def test_a_clock_that_is_off_is_put_right_by_the_first_refusal(monkeypatch, server, in_lambda):
    if in_lambda:
        monkeypatch.delitem(sys.modules, "botocore.client")
        in_a_function(monkeypatch, AWS_ENDPOINT_URL=server.url)
    hour_ahead = datetime.now(UTC) + timedelta(hours=1)
    body = {"__type": ERROR + "InvalidSignatureException", "message": "Signature expired: now"}
    server.answers = [reply(body, 400, Date=format_datetime(hour_ahead, usegmt=True))]
    arguments = {} if in_lambda else {**dynamodb_local.CREDENTIALS, "endpoint_url": server.url}
    table = DynamoTable.connect("queue", **arguments)
    assert isinstance(table._calls, DynamoCalls if in_lambda else wire.Wire)
    with pytest.raises(StoreUnavailable, match="Signature expired"):
        table.get("t")
    assert table.get("t") is None
    signed = [datetime.strptime(r.headers["x-amz-date"], "%Y%m%dT%H%M%S%z") for r in server.heard()]
    assert abs(signed[1] - signed[0] - timedelta(hours=1)) < timedelta(minutes=10)


def test_credentials_that_are_refreshed_in_mid_run_sign_the_next_call(server):
    calls = wire_to(server.url)
    for token in "ab":
        calls.client._request_signer._credentials = Credentials("key", "s", token)
        calls.call("GetItem", GET)
    tokens = [request.headers["x-amz-security-token"] for request in server.heard()]
    assert tokens == ["a", "b"]


# Connections


def test_a_connection_that_the_server_has_closed_is_not_used_again(server, calls_to):
    server.closing = True
    calls = calls_to(server.url, attempts=1)
    for _ in range(2):
        calls.call("GetItem", GET)
        server.closed.get(timeout=300)


def test_threads_get_their_own_answers_over_a_bounded_number_of_connections(server):
    server.answers = [lambda request: reply({"n": json.loads(request.body)["n"]})] * 400
    calls = wire_to(server.url, PATIENT.merge(Config(max_pool_connections=4)))
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda n: calls.call("GetItem", {**GET, "n": n})["n"], range(400))
    assert [*answers] == [*range(400)]
    assert 1 <= len(calls._routes["GetItem"].connections._idle) <= 4


CHUNKS = b'3\r\n{"n\r\n5;as=is\r\n": 1}\r\n0\r\n\r\n'


@pytest.mark.parametrize(
    ("answer", "again"),
    [
        (reply({"n": 1}), True),
        (reply({"n": 1}, Connection="Close"), False),
        (reply({"n": 1}).replace(b"HTTP/1.1", b"HTTP/1.0"), False),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + reply({"n": 1}), False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS, False),
        (b'HTTP/1.1 200 OK\r\n\r\n{"n": 1}', False),
    ],
)
@pytest.mark.parametrize("piece", [1, 1_000])
def test_an_answer_is_read_in_each_of_its_forms_and_the_next_is_another(
    server, answer, again, piece
):
    server.answers, server.piece = [answer, reply({"n": 2})], piece
    calls = wire_to(server.url)
    assert [calls.call("GetItem", GET) for _ in range(2)] == [{"n": 1}, {"n": 2}]
    first, second = server.heard()
    assert (first.peer == second.peer) is again


def test_after_a_fork_no_connection_is_shared(server, calls_to):
    calls = calls_to(server.url)
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


@pytest.mark.parametrize("in_lambda", [False, True])
def test_calls_are_encrypted_over_connections_that_are_kept_to_who_has_a_known_authority(
    monkeypatch, tmp_path, host, in_lambda
):
    made, key = generate_adhoc_ssl_pair("localhost")
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    certificate = tmp_path / "certificate.pem"
    certificate.write_bytes(secret + made.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = Server(tls=context)
    in_a_function(monkeypatch, AWS_ENDPOINT_URL=server.url)

    def calls(authorities: Path | None = None) -> Calls:
        if not in_lambda:
            return wire_to(server.url, ONCE, verify=authorities and str(authorities))
        if authorities is not None:
            trusted = ssl.create_default_context(cafile=str(authorities))
            monkeypatch.setattr(without_boto3, "_authorities", lambda: trusted)
        return DynamoCalls(attempts=1, clock=ServerClock(host), host=host)

    with pytest.raises(SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        calls().call("GetItem", GET)
    trusting = calls(certificate)
    server.answers = [reply({"n": n, "long": "x" * 100_000}) for n in range(5)]
    assert [trusting.call("GetItem", GET)["n"] for _ in range(5)] == [*range(5)]
    server.close()
    assert len({request.peer for request in server.heard()}) == 1


# Who has a hand in calls


def test_under_moto_no_call_reaches_for_the_network(monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", None)
    with mock_aws():
        client = client_of(None)
        create_table(client, "queue")
        table = DynamoTable.of_clients("queue", client=client, once=client)
        table.put({"taskId": "t", "payload": b"\x00"})
        assert table.get("t") == {"taskId": "t", "payload": b"\x00"}
    assert table._calls._routes["GetItem"].direct


@pytest.mark.parametrize(
    "function",
    [
        "client.BaseClient._make_api_call",
        "awsrequest.AWSHTTPConnectionPool.urlopen",
        "awsrequest.AWSHTTPConnection.request",
    ],
)
def test_who_has_replaced_a_function_of_botocores_or_urllib3s_gets_each_call(
    monkeypatch, server, function
):
    def recorded(*_: Any, **__: Any) -> None:
        raise RuntimeError("on record")

    recorded.__module__ = "botocore.client"  # as functools.wraps tells it
    calls = wire_to(server.url, ONCE)
    calls.call("GetItem", GET)
    monkeypatch.setattr(f"botocore.{function}", recorded)
    with pytest.raises((RuntimeError, BotoCoreError), match="on record"):
        calls.call("GetItem", GET)


@pytest.mark.parametrize("event", ["before-call", "request-created"])
def test_who_listens_hears_each_call_and_may_change_it_until_he_leaves(server, event):
    calls = wire_to(server.url)

    def mark(request: Any = None, params: Any = None, **_: Any) -> None:
        (params["headers"] if request is None else request.headers)["X-Mark"] = "seen"

    events = calls.client.meta.events
    for change in (lambda *_: None, events.register, events.unregister):
        change(f"{event}.dynamodb", mark)
        calls.call("GetItem", GET)
    assert ["x-mark" in request.headers for request in server.heard()] == [False, True, False]


@pytest.mark.parametrize(
    "config", [{"proxies": {"http": "proxy"}}, {"retries": {"mode": "adaptive"}}]
)
def test_what_is_unusual_is_left_to_the_client(config):
    assert not wire_to("http://127.0.0.1:1", Config(**config))._route("GetItem", GET).direct


def test_a_botocore_that_is_not_known_makes_its_calls_itself(monkeypatch, server):
    monkeypatch.setattr(wire, "BOTOCORES_OWN", attrgetter("_no_such_name"))
    calls = wire_to(server.url)
    calls.call("GetItem", GET)
    assert "amz-sdk-invocation-id" in server.heard()[0].headers


# Without boto3


@pytest.mark.parametrize(
    ("different", "suffices"),
    [
        ({}, True),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, True),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1/path"}, False),
        ({"AWS_DEFAULT_REGION": "us-gov-west-1"}, False),
        ({"AWS_DEFAULT_REGION": "cn-north-1"}, False),
        ({"AWS_DEFAULT_REGION": ""}, False),
        ({"AWS_LAMBDA_FUNCTION_NAME": ""}, False),
        ({"AWS_ACCESS_KEY_ID": ""}, False),
        *(({name: "something"}, False) for name in without_boto3.ONLY_BOTOCORES),
        ({"https_proxy": "http://proxy"}, False),
    ],
    ids=str,
)
def test_what_only_botocore_knows_is_left_to_it(monkeypatch, different, suffices):
    in_a_function(monkeypatch, **different)
    assert not without_boto3.suffices("dynamodb")  # as somebody else has imported it
    monkeypatch.delitem(sys.modules, "botocore.client")
    assert without_boto3.suffices("dynamodb") is suffices


@pytest.mark.parametrize("region", ["us-east-1", "ap-southeast-5", "mx-central-1"])
@pytest.mark.parametrize("service", ["dynamodb", "sns", "states"])
def test_services_are_where_botocore_finds_them(monkeypatch, region, service):
    in_a_function(monkeypatch, AWS_DEFAULT_REGION=region)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    found = without_boto3._endpoint(service).geturl()
    client = boto3.client({"states": "stepfunctions"}.get(service, service), region_name=region)
    assert found == client.meta.endpoint_url


@pytest.fixture
def clients_of(
    monkeypatch: pytest.MonkeyPatch, server: Server, host: Any
) -> Callable[[str], tuple[Any, Any]]:
    """boto3's client of SNS or Step Functions, and what stands in its place."""
    in_a_function(monkeypatch, AWS_ENDPOINT_URL=server.url)
    monkeypatch.setattr(without_boto3, "ATTEMPTS", 1)
    ours = {"sns": Topics, "stepfunctions": States}
    return lambda service: (boto3.client(service), ours[service](host))


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


@pytest.mark.parametrize(("service", "operation", "terms"), SENT, ids=[one[1] for one in SENT])
def test_a_call_is_what_boto3_would_send(server, clients_of, service, operation, terms):
    page = PAGE if operation == "publish_batch" else PAGE.replace(b"Batch", b"")
    server.answers = [reply(page if service == "sns" else {})] * 2
    for client in clients_of(service):
        getattr(client, operation)(**terms)
    boto3s, ours = server.heard()
    reading = parse_qs if service == "sns" else json.loads
    assert reading(ours.body.decode()) == reading(boto3s.body.decode())
    scope = "/us-east-1/" + ("sns" if service == "sns" else "states") + "/aws4_request"
    for name in ("host", "x-amz-target", "content-type"):
        assert ours.headers.get(name) == boto3s.headers.get(name)
    assert all(scope in request.headers["authorization"] for request in (ours, boto3s))


def test_what_a_batch_left_out_is_read_as_boto3_reads_it_and_another_page_confirms_nothing(
    server, clients_of
):
    boto3s, ours = clients_of("sns")
    server.answers = [reply(PAGE)] * 2
    (expected,), (found,) = (one.publish_batch(**BATCH)["Failed"] for one in (boto3s, ours))
    assert found["Id"] == expected["Id"] == "1"
    assert found["Message"] == expected["Message"] == "a & b"
    for page in (b"<html>", b"<html/>"):
        server.answers = [reply(page)]
        with pytest.raises(HTTPClientError):
            ours.publish_batch(**BATCH)


def test_a_refusal_has_the_code_that_boto3_reads(server, clients_of):
    refusal = {"__type": "com.amazonaws.states#TaskTimedOut", "message": "too late"}
    for client in clients_of("stepfunctions"):
        server.answers = [reply(refusal, 400)]
        with pytest.raises(ClientError, match=r"TaskTimedOut.*too late"):
            client.send_task_success(taskToken="t", output="1")
