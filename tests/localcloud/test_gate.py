"""Who is let in: at every door, with whatever a page can send, and with whose key."""

import contextlib
import io
import stat
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as Keys
from botocore.exceptions import ClientError
from werkzeug.test import EnvironBuilder

from lifoq_localcloud.api.calls import CallLog
from lifoq_localcloud.api.gateway import Gateway
from lifoq_localcloud.basics.credentials import FILE, Credentials
from lifoq_localcloud.events.http_api import Route
from lifoq_localcloud.functions.function import Outcome
from lifoq_localcloud.functions.runtime_api import RuntimeApi, Task
from lifoq_localcloud.http_server import server
from lifoq_localcloud.http_server.gate import Callers
from lifoq_localcloud.http_server.listener import listen

# Headers


def told(_environ: dict[str, Any], start_response: Callable[..., Any]) -> io.BytesIO:
    start_response("200 OK", [])
    return io.BytesIO(b"told")


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Mock]]:
    """By address, the API of AWS and that of a function's instance: what stands behind each."""
    task = Task(request_id="1", event=b"{}", function_arn="arn", deadline_millis=0)
    instance, application = Mock(**{"next_task.return_value": task}), Mock(side_effect=told)
    runtime, http = RuntimeApi(instance), server.create(listen(0), application)
    ended = threading.Event()
    http.serve(ended)
    yield {runtime.address: instance, f"127.0.0.1:{http.port}": application}
    ended.set()
    runtime.close()
    http.close()


def ask(address: str, headers: dict[str, str]) -> HTTPResponse:
    place, _, secret = address.partition("/")
    with contextlib.closing(HTTPConnection(place, timeout=300)) as connection:
        connection.request("GET", f"/{secret}{NEXT}", headers=headers)
        answer = connection.getresponse()
        answer.read()
    return answer


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
    "an address that somebody types": {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"},
    "a page that is fetched ahead": {"Sec-Fetch-Site": "none", "Sec-Purpose": "prefetch"},
    "a page that is drawn ahead": {"Sec-Purpose": "prefetch;prerender"},
    "a page on another port": {"Sec-Fetch-Site": "same-site"},
    "a socket": {"Origin": "http://evil.test", "Connection": "Upgrade", "Upgrade": "websocket"},
}
NODE = {"Sec-Fetch-Mode": "cors", "Accept-Language": "*"}
"""The headers that Node's own fetch sends."""


@pytest.mark.parametrize("headers", FROM_PAGES.values(), ids=list(FROM_PAGES))
def test_what_a_page_asks_is_refused_at_every_door(servers, headers):
    for address, behind in servers.items():
        behind.reset_mock()
        answer = ask(address, headers)
        assert answer.status == 403
        named = [name.lower() for name in answer.headers]
        assert not [name for name in named if name.startswith("access-control")]
        assert behind.mock_calls == []


def test_a_program_comes_in(servers):
    hosts = ({"Host": host} for host in ("localhost:1", "b.localhost", "[::1]:1"))
    for headers in ({}, *hosts, NODE):
        for address, behind in servers.items():
            behind.reset_mock()
            assert ask(address, headers).status == 200
            assert len(behind.mock_calls) == 1


# Keys

OURS = Credentials(endpoint="http://localhost:4577")
EARLIER = Credentials(endpoint="http://localhost:4577")
FUNCTION = OURS.access_key("worker")
ISSUED = "ASIAISSUEDBYSTS"
SECRETS = {OURS.access_key(): OURS.secret, FUNCTION: OURS.secret_of("worker"), ISSUED: "sts"}


class World:
    """The gateway, and what lies behind it."""

    def __init__(self, folder: Path) -> None:
        arn = "arn:aws:lambda:us-east-1:123456789012:function:api"
        routes = [
            Route(key=f"GET /{name}", function_arn=arn, public=name == "public")
            for name in ("public", "signed")
        ]
        self.runtime = Mock(
            **{
                "http_routes.return_value": routes,
                "invoke.return_value": Outcome(payload=b"{}", failed=False),
                "control.return_value": {},
            }
        )
        self.moto = Mock(side_effect=told)
        callers = Callers(OURS, issued={ISSUED: SECRETS[ISSUED]}.get)
        callers.introduce(["worker"])
        self.gateway = Gateway(
            runtime=self.runtime,
            moto=self.moto,
            calls=CallLog(folder / "calls.jsonl", callers),
            callers=callers,
        )

    @property
    def reached(self) -> int:
        """Return the number of requests that reached anything but the list of routes."""
        reached = [*self.moto.mock_calls, *self.runtime.mock_calls]
        return len(reached) - self.runtime.http_routes.call_count

    def ask(self, request: dict[str, Any], **signed: Any) -> int:
        """The answer's status."""
        return int(self.answer(request, **signed)[0].split()[0])

    def answer(
        self,
        request: dict[str, Any],
        *,
        key: str | None = None,
        secret: str = "",
        service: str = "execute-api",
        query: str = "",
    ) -> tuple[str, dict[str, str], bytes]:
        """The answer to a request that is signed, or whose query is given."""
        builder = EnvironBuilder(**{**request, "query_string": query})
        environ = builder.get_environ()
        body = environ["wsgi.input"].read()
        if key is not None:
            address = builder.base_url[:-1] + builder.path + (query and f"?{query}")
            sent = AWSRequest(builder.method, address, data=body)
            SigV4Auth(Keys(key, secret), service, "us-east-1").add_auth(sent)
            for name, value in sent.headers.items():
                environ["HTTP_" + name.upper().replace("-", "_")] = value
        if self.gateway.most_bytes(environ) == 0:
            body = b""
        environ["wsgi.input"] = io.BytesIO(body)
        heads: list[Any] = []
        told = b"".join(self.gateway(environ, lambda *head: heads.append(head)))
        return heads[0][0], dict(heads[0][1]), told


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


def test_a_route_that_asks_for_no_authorization_asks_for_no_key(world):
    assert world.ask({"path": "/_http/a1/public"}) == 200
    assert world.reached == 1


@pytest.mark.parametrize("request_", DOORS.values(), ids=list(DOORS))
def test_every_door_opens_to_a_key_of_this_start_alone(world, request_):
    for key in (None, *INVENTED):
        presigned = f"X-Amz-Credential={key}%2F20260101%2Fus-east-1%2Fs3%2Faws4_request"
        assert world.ask(request_, key=key) == 403, key
        assert world.ask(request_, query=presigned) == 403, key
        assert world.ask(request_, query=f"AWSAccessKeyId={key}&Signature=0") == 403, key
    assert world.reached == 0
    for key in SECRETS:
        assert world.ask(request_, key=key) == 403, key
        assert world.ask(request_, key=key, secret=EARLIER.secret) == 403, key
        forged = f"X-Amz-Credential={key}%2F20260101%2Fus-east-1%2Fs3%2Faws4_request"
        assert world.ask(request_, query=forged + "&X-Amz-Signature=0") == 403, key
    assert world.reached == 0
    for key, secret in SECRETS.items():
        assert world.ask(request_, key=key, secret=secret) == 200, key
    assert world.reached >= 3


# As clients see it


def test_a_presigned_address_carries_the_key(deployed):
    address = deployed.client("s3").generate_presigned_url(
        "get_object", Params={"Bucket": "code", "Key": "probe.zip"}
    )
    with urllib.request.urlopen(address) as answer:  # noqa: S310 - our own loopback address
        assert answer.status == 200
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(address.partition("?")[0])  # noqa: S310


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


def test_a_users_key_and_a_roles_session_let_in_until_they_end(deployed):
    def asks(key: dict[str, Any]) -> str:
        keys = {
            "aws_access_key_id": key["AccessKeyId"],
            "aws_secret_access_key": key["SecretAccessKey"],
            "aws_session_token": key.get("SessionToken"),
        }
        client = boto3.client("lambda", **{**deployed.cloud.arguments(), **keys})
        try:
            client.list_functions()
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return "let in"

    iam, sts = deployed.client("iam"), deployed.client("sts")
    iam.create_user(UserName="one")
    key = iam.create_access_key(UserName="one")["AccessKey"]
    role = iam.get_role(RoleName=deployed.ids["Role"])["Role"]["Arn"]
    session = sts.assume_role(RoleArn=role, RoleSessionName="one")["Credentials"]
    assert (asks(key), asks(session)) == ("let in", "let in")
    assert asks({**key, "SecretAccessKey": "x"}) == "InvalidSignatureException"
    assert asks({**session, "SecretAccessKey": "x"}) == "InvalidSignatureException"

    iam.update_access_key(UserName="one", AccessKeyId=key["AccessKeyId"], Status="Inactive")
    assert asks(key) == "UnrecognizedClientException"


def test_the_key_is_new_for_each_start_and_its_owners_alone(tmp_path):
    file = tmp_path / FILE
    file.write_text("of an earlier cloud")
    file.chmod(0o644)

    OURS.write(tmp_path)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Credentials.read(tmp_path) == OURS
    assert OURS.access_key() != EARLIER.access_key()
    assert OURS.secret not in repr(OURS)
