"""DynamoDB by its wire: like the boto3 client that it stands on, but for the time it takes."""

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
from ipaddress import ip_address
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import botocore.client
import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.config import Config
from botocore.credentials import Credentials, RefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError, SSLError
from botocore.stub import Stubber
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from moto import mock_aws

from lab import dynamodb_local
from lifoq import StoreUnavailable
from lifoq.basics.clock import ServerClock
from lifoq.basics.host import SYSTEM
from lifoq.tables import wire, without_boto3
from lifoq.tables.dynamo import Calls, DynamoTable
from lifoq.tables.dynamo_values import plain
from lifoq.tables.wire import ONCE, PATIENT
from lifoq.tables.without_boto3 import DynamoCalls
from lifoq.testing import create_table
from lifoq.testing.hosts import START

GET: Any = {"TableName": "queue", "Key": {"taskId": {"S": "t"}}}
NEVER = "http://127.0.0.1:1"
ERROR = "com.amazonaws.dynamodb.v20120810#"

Request = SimpleNamespace
Answering = Callable[[Request], bytes | Iterator[bytes] | None]


def reply(body: Any, status: int = 200, **headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} so", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def refused(code: str, status: int = 400, **more: Any) -> bytes:
    return reply({"__type": ERROR + code, "message": "as the test says", **more}, status)


class Server:
    """Answers with what is in ``answers``, in this order, and then with an empty success; None
    closes the connection instead."""

    def __init__(
        self, family: int, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None
    ) -> None:
        self.answers: list[bytes | Answering | None] = []
        self.requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self.closing = False
        """Whether each connection is closed after its answer, which does not say so."""
        self._socket = socket.create_server((address, 0), family=socket.AddressFamily(family))
        host = f"[{address}]" if ":" in address else address
        self.url = f"http{'s' if tls else ''}://{host}:{self._socket.getsockname()[1]}"
        self._tls = tls
        threading.Thread(target=self._accept, daemon=True).start()

    def heard(self) -> list[Request]:
        return [self.requests.get() for _ in range(self.requests.qsize())]

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, peer = self._socket.accept()
                threading.Thread(target=self._serve, args=(connection, peer), daemon=True).start()

    def _serve(self, connection: socket.socket, peer: Any) -> None:
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True)
        with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError):
            while first := stream.readline():
                headers = {}
                while line := stream.readline().decode().strip():
                    name, value = line.split(": ", 1)
                    headers[name.lower()] = value
                body = stream.read(int(headers["content-length"]))
                request = Request(peer=peer, first=first, headers=headers, body=body)
                self.requests.put(request)
                answer = self.answers.pop(0) if self.answers else reply({})
                answer = answer(request) if callable(answer) else answer
                if answer is None:
                    return
                for piece in [answer] if isinstance(answer, bytes) else answer:
                    connection.sendall(piece)
                if self.closing:
                    return


@pytest.fixture
def server() -> Iterator[Server]:
    there = Server(socket.AF_INET, "127.0.0.1")
    yield there
    there.close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Between repeats; none is waited for."""
    waited: list[float] = []
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=waited.append))
    return waited


def client_of(url: str | None, config: Config = PATIENT, **arguments: Any) -> Any:
    session = {"region_name": "us-east-1", "aws_access_key_id": "key", "aws_secret_access_key": "s"}
    return boto3.client("dynamodb", endpoint_url=url, config=config, **{**session, **arguments})


def wire_to(url: str | None, config: Config = PATIENT, **arguments: Any) -> wire.Wire:
    return wire.Wire(client_of(url, config, **arguments), now=lambda: START)


@pytest.fixture(params=["by boto3's client", "without boto3"])
def calls_to(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> Callable[..., Calls]:
    """Both ways to call DynamoDB; ``attempts`` is 4, or 1."""

    def calls_to(url: str, attempts: int = 4, token: str | None = None) -> Calls:
        if request.param == "by boto3's client":
            return wire_to(url, PATIENT if attempts > 1 else ONCE, aws_session_token=token)
        in_a_function(monkeypatch, AWS_ENDPOINT_URL=url, AWS_SESSION_TOKEN=token or "")
        host: Any = SimpleNamespace(now=lambda: START, sleep=pauses.append)
        return DynamoCalls(attempts=attempts, clock=ServerClock(host), host=host)

    return calls_to


def in_a_function(monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
    usual = {
        "AWS_LAMBDA_FUNCTION_NAME": "a-function",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "s",
    }
    for name in without_boto3.ONLY_BOTOCORES:
        monkeypatch.delenv(name, raising=False)
    for name, value in {**usual, **environment}.items():
        monkeypatch.setenv(name, value)


def table_of(calls: Calls) -> DynamoTable:
    return DynamoTable(name="queue", calls=calls, once=calls, clock=ServerClock())


def goes_directly(calls: wire.Wire) -> bool:
    return calls._routes["GetItem"].direct


# The request


@pytest.mark.parametrize("token", [None, "a-token"])
@pytest.mark.parametrize(
    ("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
def test_a_request_has_the_signature_that_botocore_gives_it(
    monkeypatch, calls_to, token, family, address
):
    server = Server(family, address)
    calls_to(server.url, token=token).call("GetItem", GET)
    server.close()
    (sent,) = server.heard()
    now = datetime.fromtimestamp(START / 1e6, UTC)
    monkeypatch.setattr(auth, "get_current_datetime", lambda: now, raising=False)
    signed = sent.headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    assert signed == sorted({"host", *(n for n in sent.headers if n.startswith("x-amz-"))})
    same = AWSRequest(
        "POST", server.url + "/", {name: sent.headers[name] for name in signed}, sent.body
    )
    auth.SigV4Auth(Credentials("key", "s", token), "dynamodb", "us-east-1").add_auth(same)
    assert sent.headers["authorization"] == same.headers["Authorization"]
    assert sent.headers["host"] == server.url.removeprefix("http://")
    assert json.loads(sent.body) == GET


@pytest.mark.parametrize(
    ("config", "region", "account"),
    [
        ({}, "us-east-1", None),
        ({}, "cn-north-1", None),
        ({"use_fips_endpoint": True}, "us-west-2", None),
        ({"use_dualstack_endpoint": True}, "eu-west-3", None),
        ({"account_id_endpoint_mode": "required"}, "us-east-1", "123456789012"),
    ],
)
def test_calls_go_where_the_client_sends_them(config, region, account):
    client = client_of(
        None, PATIENT.merge(Config(**config)), region_name=region, aws_account_id=account
    )
    seen = []

    def see(request: Any, **_: Any) -> AWSResponse:
        region, service = str(request.headers["Authorization"]).split("/")[2:4]
        seen.append((request.url, region, service))
        return AWSResponse(request.url, 200, {}, SimpleNamespace(stream=lambda: [b"{}"]))

    client.meta.events.register("before-send.dynamodb.GetItem", see)
    calls = wire.Wire(client, now=lambda: START)
    calls.call("GetItem", GET)
    client.get_item(**GET)
    assert goes_directly(calls)
    assert seen[0] == seen[1]


def test_certificates_and_timeouts_are_the_clients(tmp_path):
    bundle = tmp_path / "authorities.pem"
    bundle.touch()
    calls = wire_to("https://127.0.0.1:1", verify=str(bundle))
    pool = calls._route("GetItem", GET).pool
    assert (pool.cert_reqs, pool.ca_certs) == ("CERT_REQUIRED", str(bundle))
    assert (pool.timeout.connect_timeout, pool.timeout.read_timeout) == (2, 5)
    assert pool.pool.maxsize == PATIENT.max_pool_connections


def test_bytes_are_read_as_they_were_written(server, calls_to):
    calls = calls_to(server.url)
    server.answers = [reply({"Item": {"a": {"B": "AP8="}, "b": {"BS": ["AP8="]}}})]
    found = table_of(calls).get("t") or {}
    assert (found["a"], {bytes(each) for each in found["b"]}) == (b"\x00\xff", {b"\x00\xff"})
    calls.call("PutItem", {"TableName": "q", "Item": {"a": {"B": b"\x00\xff"}}})
    assert json.loads(server.heard()[-1].body)["Item"] == {"a": {"B": "AP8="}}


# Repeats

PASSING = {
    "throttled": refused("ProvisionedThroughputExceededException"),
    "failed": refused("InternalServerError", 500),
    "a proxy's page": reply(b"<html>Bad gateway", 502),
    "closed": None,
    "damaged": reply({}, x_amz_crc32="1"),
}


@pytest.mark.parametrize("failure", PASSING.values(), ids=PASSING)
def test_what_may_pass_is_repeated_after_a_pause_with_jitter(server, pauses, calls_to, failure):
    item = reply(
        {"Item": {"a": {"S": "b"}}}, x_amz_crc32=str(zlib.crc32(b'{"Item": {"a": {"S": "b"}}}'))
    )
    server.answers = [failure, failure, failure, item]
    assert calls_to(server.url).call("GetItem", GET) == {"Item": {"a": {"S": "b"}}}
    assert len(server.heard()) == 4
    assert len(set(pauses)) == 3
    assert all(0 <= pause <= 4 for pause in pauses)


def silence(_request: Request) -> None:
    time.sleep(1)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="closes the connection"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", id="answers half"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-", id="answers the headers' beginning"),
        pytest.param(reply(b"<p>Log in"), id="is a portal"),
        pytest.param(silence, id="does not answer"),
    ],
)
def test_a_server_that_gives_no_answer_may_give_one_later(monkeypatch, server, calls_to, answer):
    server.answers, server.closing = [answer], True
    short_of_patience(monkeypatch)
    with pytest.raises(StoreUnavailable, match=r"GetItem.*'queue'"):
        table_of(calls_to(server.url, attempts=1)).get("t")


def short_of_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(without_boto3, "READ_TIMEOUT", 0.2)
    monkeypatch.setitem(globals(), "ONCE", ONCE.merge(Config(read_timeout=0.2)))


@pytest.mark.parametrize("failure", PASSING.values(), ids=PASSING)
@pytest.mark.parametrize("attempts", [4, 1])
def test_no_more_often_than_the_client_would(server, pauses, calls_to, failure, attempts):
    server.answers = [failure] * 9
    with pytest.raises((ClientError, BotoCoreError)):
        calls_to(server.url, attempts).call("GetItem", GET)
    assert (len(server.heard()), len(pauses)) == (attempts, attempts - 1)


def test_repeats_that_succeed_can_be_had_again(server, pauses):
    """botocore lends a client a number of repeats, and takes them back after a success."""
    calls = wire_to(server.url)
    for _ in range(60):
        server.answers = [refused("InternalServerError", 500)]
        calls.call("GetItem", GET)


def test_a_transaction_that_is_repeated_is_the_same_one(server, calls_to):
    server.answers = [None]
    calls = calls_to(server.url)
    for _ in range(2):
        calls.call("TransactWriteItems", {"TransactItems": []})
    tokens = [json.loads(request.body)["ClientRequestToken"] for request in server.heard()]
    assert tokens[0] == tokens[1] != tokens[2]


# Errors


def raising(error: Exception) -> Callable[..., None]:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


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
    url = server.url.replace("http:", "https:")
    monkeypatch.setattr(function, raising(error))
    same_error_as_the_clients(calls_to(url, attempts=1), client_of(url, ONCE), "GetItem", GET)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="closes the connection"),
        pytest.param(b"HELLO\r\n\r\n", id="speaks another protocol"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000, id="has no end"),
        pytest.param(lambda _: time.sleep(1), id="does not answer"),
    ],
)
def test_an_exchange_that_fails_is_told_as_the_client_tells_it(
    monkeypatch, server, calls_to, answer
):
    server.answers, server.closing = [answer, answer], True
    short_of_patience(monkeypatch)
    calls, client = calls_to(server.url, attempts=1), client_of(server.url, ONCE)
    same_error_as_the_clients(calls, client, "GetItem", GET)


def same_error_as_the_clients(calls: Calls, client: Any, operation: str, request: Any) -> Any:
    with pytest.raises((BotoCoreError, ClientError)) as expected:
        client._make_api_call(operation, request)
    with pytest.raises((BotoCoreError, ClientError)) as found:
        calls.call(operation, request)
    assert isinstance(expected.value, found.type)
    if found.type is not ClientError:
        assert found.value.args == expected.value.args
    return found.value, expected.value


@pytest.mark.parametrize(
    "answer",
    [
        refused("ConditionalCheckFailedException", Item={"a": {"B": "AP8="}}),
        refused("TransactionCanceledException", CancellationReasons=[{"Code": "None"}]),
        refused("ThrottlingException"),
        refused("RequestTimeTooSkewed"),
        refused("NobodyKnowsIt", 499),
        reply(b"<html>Bad gateway", 502),
        reply(b"too large", 413),
        reply(b"", 503),
    ],
)
def test_refusals_are_read_as_the_client_reads_them(server, calls_to, answer):
    server.answers = [answer, answer]
    calls, client = calls_to(server.url, attempts=1), client_of(server.url, ONCE)
    found, expected = same_error_as_the_clients(
        calls, client, "TransactWriteItems", {"TransactItems": []}
    )
    for name in ("Item", "CancellationReasons"):
        assert plainly(found.response.get(name)) == plainly(expected.response.get(name))
    assert told(found) == told(expected)


def told(error: ClientError) -> tuple[Any, ...]:
    """Its code and status; what it says, where AWS says it."""
    code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    return code, status, message if "test" in message else ""


def plainly(found: Any) -> Any:
    return plain(found) if isinstance(found, dict) else found


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


def test_credentials_are_refreshed_in_mid_run(server):
    fresh = iter("abc")

    def refresh() -> dict[str, str]:
        key = next(fresh)
        return {
            "access_key": key,
            "secret_key": key,
            "token": key,
            "expiry_time": (datetime.now(UTC) + timedelta(hours=1)).isoformat(),
        }

    credentials = RefreshableCredentials.create_from_metadata(refresh(), refresh, "a test")
    client = client_of(server.url)
    client._request_signer._credentials = credentials
    calls = wire.Wire(client, now=lambda: START)
    calls.call("GetItem", GET)
    credentials._expiry_time = datetime.now(UTC)
    calls.call("GetItem", GET)
    tokens = [request.headers["x-amz-security-token"] for request in server.heard()]
    assert tokens == ["a", "b"]


# Connections


def test_a_connection_that_the_server_has_closed_is_not_used_again(server, calls_to):
    server.closing = True
    calls = calls_to(server.url)
    for _ in range(5):
        calls.call("GetItem", GET)
    assert len(server.heard()) == 5


def test_threads_get_their_own_answers_over_a_bounded_number_of_connections(server):
    def echo(request: Request) -> bytes:
        return reply({"Item": json.loads(request.body)["Key"]})

    server.answers = [echo] * 400
    calls = wire_to(server.url, PATIENT.merge(Config(max_pool_connections=4)))

    def ask(number: int) -> bool:
        key = {"taskId": {"S": str(number)}}
        return calls.call("GetItem", {**GET, "Key": key}) == {"Item": key}

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(ask, range(400)))
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
    def in_pieces(_request: Request) -> Iterator[bytes]:
        server.closing = not again
        return (answer[at : at + piece] for at in range(0, len(answer), piece))

    server.answers = [in_pieces, reply({"n": 2})]
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


# Who has a hand in calls


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: Any) -> None:
        raise AssertionError("a call reached for the network")

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.mark.usefixtures("no_sockets")
def test_under_moto_no_call_reaches_for_the_network():
    with mock_aws():
        client = client_of(None)
        create_table(client, "queue")
        table = DynamoTable.of_clients("queue", client=client, once=client)
        table.put({"taskId": "t", "payload": b"\x00"})
        assert table.get("t") == {"taskId": "t", "payload": b"\x00"}
    assert goes_directly(table._calls)


@pytest.mark.usefixtures("no_sockets")
def test_a_stubbed_client_is_asked():
    client = client_of(None)
    calls = wire.Wire(client, now=lambda: START)
    with Stubber(client) as stubber:
        stubber.add_response("get_item", {"Item": {"a": {"S": "b"}}}, GET)
        assert calls.call("GetItem", GET)["Item"] == {"a": {"S": "b"}}


@pytest.mark.usefixtures("no_sockets")
def test_who_has_replaced_botocores_call_gets_it(monkeypatch):
    def traced(_client: Any, operation: str, request: Any) -> Any:
        return {"traced": operation}

    calls = wire_to(None)
    traced.__module__ = "botocore.client"  # as functools.wraps tells it
    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", traced)
    assert calls.call("GetItem", GET) == {"traced": "GetItem"}


@pytest.mark.parametrize("function", ["AWSHTTPConnectionPool.urlopen", "AWSHTTPConnection.request"])
def test_who_has_replaced_urllib3s_functions_gets_each_call(monkeypatch, server, function):
    def recorded(*_: Any, **__: Any) -> None:
        raise RuntimeError("on record")

    calls = wire_to(server.url, ONCE)
    calls.call("GetItem", GET)
    monkeypatch.setattr(f"botocore.awsrequest.{function}", recorded)
    with pytest.raises(BotoCoreError, match="on record"):
        calls.call("GetItem", GET)


def test_who_listens_to_another_event_hears_it_until_he_leaves(server):
    client = client_of(server.url)
    calls = wire.Wire(client, now=lambda: START)

    def mark(request: Any, **_: Any) -> None:
        request.headers["X-Mark"] = "seen"

    for change in (lambda *_: None, client.meta.events.register, client.meta.events.unregister):
        change("request-created.dynamodb", mark)
        calls.call("GetItem", GET)
    assert ["x-mark" in request.headers for request in server.heard()] == [False, True, False]


@pytest.mark.parametrize(
    "config",
    [
        {"proxies": {"http": "proxy"}},
        {"retries": {"mode": "adaptive"}},
        {"signature_version": "v4a"},
    ],
)
def test_what_is_unusual_is_left_to_the_client(monkeypatch, server, config):
    if "signature_version" in config:
        monkeypatch.setattr("botocore.signers.RequestSigner._choose_signer", lambda *_: "v4a")
    calls = wire_to(server.url, Config(**config))
    assert not calls._route("GetItem", GET).direct


def test_a_botocore_that_is_not_known_makes_its_calls_itself(monkeypatch, server):
    monkeypatch.setattr(wire, "BOTOCORES_OWN", attrgetter("_no_such_name"))
    calls = wire_to(server.url)
    calls.call("GetItem", GET)
    assert "amz-sdk-invocation-id" in server.heard()[0].headers


def test_a_refusal_is_not_repeated(server, pauses, calls_to):
    server.answers = [refused("ConditionalCheckFailedException")]
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        calls_to(server.url).call("PutItem", {})
    assert (len(server.heard()), pauses) == (1, [])


def test_what_a_before_call_listener_adds_is_sent(server):
    client = client_of(server.url)

    def trace(params: Any, **_: Any) -> None:
        params["headers"]["X-Trace"] = "7"

    client.meta.events.register("before-call.dynamodb", trace)
    wire.Wire(client, now=lambda: START).call("GetItem", GET)
    assert server.heard()[0].headers["x-trace"] == "7"


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
@pytest.mark.parametrize("service", ["dynamodb", "sns"])
def test_services_are_where_botocore_finds_them(monkeypatch, region, service):
    in_a_function(monkeypatch, AWS_DEFAULT_REGION=region)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    found = without_boto3._endpoint(service).geturl()
    assert found == boto3.client(service, region_name=region).meta.endpoint_url


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of 127.0.0.1's own, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
    address, now = x509.IPAddress(ip_address("127.0.0.1")), datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "certificate.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(secret + made.public_bytes(Encoding.PEM))
    return file


@pytest.mark.parametrize("in_lambda", [False, True])
def test_calls_are_encrypted_over_connections_that_are_kept(monkeypatch, certificate, in_lambda):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = Server(socket.AF_INET, tls=context)
    trusted = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(without_boto3, "_authorities", lambda: trusted)
    in_a_function(monkeypatch, AWS_ENDPOINT_URL=server.url)
    calls: Calls = DynamoCalls(attempts=1, clock=ServerClock(), host=SYSTEM)
    if not in_lambda:
        calls = wire_to(server.url, ONCE, verify=str(certificate))
    server.answers = [reply({"n": n, "long": "x" * 100_000}) for n in range(5)]
    assert [calls.call("GetItem", GET)["n"] for _ in range(5)] == [*range(5)]
    server.close()
    assert len({request.peer for request in server.heard()}) == 1


def test_only_a_server_with_a_known_authority_is_spoken_to(monkeypatch, server):
    in_a_function(monkeypatch, AWS_ENDPOINT_URL=server.url.replace("http:", "https:"))
    calls = DynamoCalls(attempts=1, clock=ServerClock(), host=SYSTEM)
    context = without_boto3._authorities()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.cert_store_stats()["x509_ca"] > 50
    with pytest.raises(SSLError):
        calls.call("GetItem", GET)
