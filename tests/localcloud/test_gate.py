"""Who is let in: at every door, with whatever a page can send, and with whose key."""

import contextlib
import io
import socket
import stat
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from werkzeug.test import EnvironBuilder

from localcloud import server
from localcloud.calls import CallLog
from localcloud.credentials import FILE, Credentials
from localcloud.function import Outcome
from localcloud.gate import Callers
from localcloud.gateway import Gateway
from localcloud.http_api import Route
from localcloud.runtime_api import RuntimeApi, Task

# Headers


class Idle:
    """An instance that has one event, and remembers who fetched it and what it was told."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def next_task(self) -> Task | None:
        self.asked.append("next")
        return Task(request_id="1", event=b"{}", function_arn="arn", deadline_millis=0)

    def finished(self, request_id: str, payload: bytes, *, failed: bool) -> None:
        self.asked.append("finished")

    def init_failed(self, payload: bytes) -> None:
        self.asked.append("init failed")


@pytest.fixture(scope="module")
def runtime_api() -> Iterator[tuple[int, list[str]]]:
    idle = Idle()
    api = RuntimeApi(idle)
    yield int(api.address.rsplit(":", 1)[1]), idle.asked
    api.close()


@pytest.fixture(scope="module")
def aws_api() -> Iterator[tuple[int, list[str]]]:
    asked: list[str] = []

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        asked.append(environ["PATH_INFO"])
        start_response("200 OK", [])
        return [b"told"]

    listener = socket.create_server(("127.0.0.1", 0))
    http = server.create(listener, application)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield http.port, asked
    http.shutdown()
    http.server_close()


@pytest.fixture(params=["aws_api", "runtime_api"])
def door(request) -> tuple[int, list[str]]:
    """The port of a door, and what has come through it since now."""
    found: tuple[int, list[str]] = request.getfixturevalue(request.param)
    found[1].clear()
    return found


NEXT = "/2018-06-01/runtime/invocation/next"
FROM_PAGES = {
    "a name that somebody points at this machine": {"Host": "evil.test:4577"},
    "a name that begins like ours": {"Host": "localhost.evil.test"},
    "a name that ends like ours": {"Host": "evillocalhost"},
    "another address": {"Host": "192.168.0.7:4577"},
    "no name": {"Host": ""},
    "fetch": {"Origin": "http://evil.test"},
    "a page of this machine": {"Origin": "http://localhost:3000"},
    "a form in a sandbox": {"Origin": "null"},
    "an image": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    "a page on another port": {"Sec-Fetch-Site": "same-site"},
    "a socket": {"Origin": "http://evil.test", "Connection": "Upgrade", "Upgrade": "websocket"},
}


@pytest.mark.parametrize("headers", FROM_PAGES.values(), ids=list(FROM_PAGES))
def test_what_a_page_asks_is_refused_at_every_door(door, headers):
    answer, asked = ask(door, headers)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    assert asked == []


@pytest.mark.parametrize(
    "headers",
    [{}, {"Host": "localhost:4577"}, {"Host": "bucket.localhost"}, {"Sec-Fetch-Site": "none"}],
)
def test_a_program_comes_in(door, headers):
    answer, asked = ask(door, headers)
    assert (answer.status, len(asked)) == (200, 1)


def ask(door: tuple[int, list[str]], headers: dict[str, str]) -> tuple[HTTPResponse, list[str]]:
    port, asked = door
    with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=300)) as connection:
        connection.request("GET", NEXT, headers=headers)
        answer = connection.getresponse()
        answer.read()
    return answer, asked


# Keys

OURS = Credentials(endpoint="http://localhost:4577")
EARLIER = Credentials(endpoint="http://localhost:4577")
FUNCTION = OURS.access_key("worker")
ISSUED = "ASIAISSUEDBYSTS"


class World:
    """What lies behind the gateway: an HTTP API, and something that notes what reaches it."""

    def __init__(self, folder: Path) -> None:
        self.reached: list[str] = []
        callers = Callers(OURS, issued=lambda key: key == ISSUED)
        callers.introduce(["worker"])
        self.gateway = Gateway(
            runtime=self,
            moto=self.moto,
            calls=CallLog(folder / "calls.jsonl", callers),
            callers=callers,
        )

    def moto(self, _: Any, start_response: Callable[..., Any]) -> io.BytesIO:
        self.reached.append("moto")
        start_response("200 OK", [])
        return io.BytesIO()

    def invoke(self, function_name: str, *_: object) -> Outcome:
        self.reached.append(function_name)
        return Outcome(payload=b"{}", failed=False)

    def submit(self, function_name: str, *_: object) -> None:
        self.reached.append(function_name)

    def control(self, action: str, _: dict[str, Any]) -> Any:
        self.reached.append(action)

    def export(self, operation: str, _: dict[str, Any]) -> dict[str, Any]:
        self.reached.append(operation)
        return {}

    def knows(self, _: str) -> bool:
        return True

    def reconcile(self) -> None:
        """Nothing is deployed."""

    def http_routes(self, _: str) -> list[Route]:
        arn = "arn:aws:lambda:us-east-1:123456789012:function:api"
        return [
            Route(key=f"GET /{name}", function_arn=arn, public=name == "public")
            for name in ("public", "signed")
        ]

    def ask(self, request: dict[str, Any], *, key: str | None = None, query: str = "") -> int:
        """The answer's status, of a request that carries a key, or whose query does."""
        headers = dict(request.get("headers", {}))
        if key is not None:
            headers["Authorization"] = (
                f"AWS4-HMAC-SHA256 Credential={key}/20260101/r/s/aws4_request"
            )
        environ = EnvironBuilder(
            **{**request, "headers": headers, "query_string": query}
        ).get_environ()
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read())
        told: list[str] = []
        list(self.gateway(environ, lambda status, _: told.append(status)))
        return int(told[0].split()[0])


@pytest.fixture
def world(tmp_path) -> World:
    return World(tmp_path)


DOORS = {
    "table": {
        "method": "POST",
        "headers": {"X-Amz-Target": "DynamoDB_20120810.ListTables"},
        "content_type": "application/x-amz-json-1.0",
        "data": b"{}",
    },
    "plain text": {"method": "POST", "content_type": "text/plain", "data": b"{}"},
    "form": {"method": "POST", "data": {"Action": "CreateStack"}},
    "stack without a signature": {"method": "POST", "path": "/cloudformation_us-east-1/"},
    "function": {"method": "POST", "path": "/2015-03-31/functions/worker/invocations"},
    "control": {"method": "POST", "path": "/_localcloud/kill"},
    "object": {"path": "/bucket/key"},
    "moto": {"method": "POST", "path": "/moto-api/reset"},
    "HTTP API": {"path": "/_http/a1/signed"},
}
INVENTED = ("testing", "AKIAIOSFODNN7EXAMPLE", EARLIER.access_key(), EARLIER.access_key("worker"))


@pytest.mark.parametrize("request_", DOORS.values(), ids=list(DOORS))
def test_every_door_opens_to_a_key_of_this_start_alone(world, request_):
    for key in (None, *INVENTED):
        presigned = f"X-Amz-Credential={key}%2F20260101%2Fus-east-1%2Fs3%2Faws4_request"
        assert world.ask(request_, key=key) == 403, key
        assert world.ask(request_, query=presigned) == 403, key
        assert world.ask(request_, query=f"AWSAccessKeyId={key}&Signature=0") == 403, key
    assert world.reached == []
    for key in (OURS.access_key(), FUNCTION, ISSUED):
        assert world.ask(request_, key=key) == 200, key
    assert len(world.reached) == 3


def test_a_route_that_asks_for_no_authorization_asks_for_no_key(world):
    assert world.ask({"path": "/_http/a1/public"}) == 200
    assert world.reached == ["api"]


# As clients see it


def test_a_presigned_address_carries_the_key(deployed):
    address = deployed.client("s3").generate_presigned_url(
        "get_object", Params={"Bucket": "code", "Key": "probe.zip"}
    )
    split = urllib.parse.urlsplit(address)
    connection = HTTPConnection(split.netloc, timeout=300)
    statuses = []
    for query in (f"?{split.query}", ""):
        connection.request("GET", split.path + query)
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()
    assert statuses == [200, 403]


@pytest.mark.parametrize(
    ("service", "operation", "code"),
    [
        ("lambda", "list_functions", "UnrecognizedClientException"),
        ("sts", "get_caller_identity", "InvalidClientTokenId"),
        ("s3", "list_buckets", "InvalidAccessKeyId"),
    ],
)
def test_a_client_with_another_key_is_told_what_to_do(deployed, service, operation, code):
    stranger = {**deployed.cloud.arguments(), "aws_access_key_id": "testing"}
    with pytest.raises(ClientError) as refused:
        getattr(boto3.client(service, **stranger), operation)()

    error = refused.value.response["Error"]
    assert error["Code"] == code
    assert error["Message"].startswith("access key 'testing': this local cloud has not issued it")


def test_the_key_is_new_for_each_start_and_its_owners_alone(tmp_path):
    file = tmp_path / FILE
    file.write_text("of an earlier cloud")
    file.chmod(0o644)

    OURS.write(tmp_path)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Credentials.read(tmp_path) == OURS
    assert OURS.access_key() != EARLIER.access_key()
    assert OURS.secret not in repr(OURS)
