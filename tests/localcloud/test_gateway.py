"""The gateway: who answers a request, and with what, to the last header."""

import base64
import io
import json
from typing import Any

import pytest

from lifoq_localcloud.functions.function import Outcome, ThrottledError
from lifoq_localcloud.http_server.body import MOST_BYTES
from lifoq_localcloud.tables.exports import ExportRefusedError
from tests.localcloud.test_gate import OURS, World

JSON, TABLE_JSON = "application/json", "application/x-amz-json-1.0"
FUNCTION = "/2015-03-31/functions/work"
WORK = {"method": "POST", "path": f"{FUNCTION}/invocations", "data": b'{"n": 1}'}
TARGET, CONTEXT = "DynamoDB_20120810.", "X-Amz-Client-Context"


@pytest.fixture
def world(tmp_path) -> World:
    made = World(tmp_path)
    made.runtime.knows = "work".__eq__
    return made


def answer(world: World, service: str, request: dict[str, Any], query: str = "") -> Any:
    """Return status, headers and body of the answer to a request with a key of this cloud."""
    signed = {"key": OURS.access_key(), "secret": OURS.secret, "service": service}
    return world.answer(request, **signed, query=query)


def refused(status: str, code: str, message: str) -> tuple[str, dict[str, str], bytes]:
    told = json.dumps({"Type": "User", "Message": message}).encode()
    return status, {"Content-Type": JSON, "X-Amzn-ErrorType": code}, told


def dynamodb(operation: str, **asked: Any) -> dict[str, Any]:
    headers = {"X-Amz-Target": TARGET + operation}
    data = json.dumps(asked).encode()
    return {"method": "POST", "headers": headers, "content_type": TABLE_JSON, "data": data}


@pytest.mark.parametrize(
    ("service", "request_", "followed"),
    [
        ("cloudformation", {"data": {"Action": "DeleteStack", "StackName": "s"}}, 1),
        ("cloudformation", {"data": {"Action": "DescribeStacks"}}, 0),
        ("lambda", {"method": "DELETE", "path": FUNCTION}, 1),
        ("lambda", {"method": "GET", "path": FUNCTION}, 0),
        ("scheduler", {"method": "DELETE", "path": "/schedules/s"}, 1),
        ("scheduler", {"method": "GET", "path": "/schedules/s"}, 0),
        ("sns", {"data": {"Action": "ListTopics"}}, 0),
    ],
)
def test_the_runtime_follows_what_changes_what_it_runs(world, service, request_, followed):
    assert answer(world, service, {"method": "POST", **request_}) == ("200 OK", {}, b"told")
    assert world.runtime.reconcile.call_count == followed
    assert world.moto.call_count == 1


def test_an_invocation_is_answered_with_what_the_function_returns(world):
    headers = {"X-Amz-Executed-Version": "$LATEST", "Content-Type": JSON}
    named = f"{FUNCTION.replace('work', 'arn:aws:lambda:us-east-1:123456789012:function:work')}"
    for request in (WORK, {**WORK, "path": f"{named}/invocations"}):
        world.runtime.invoke.return_value = Outcome(payload=b"5")
        assert answer(world, "lambda", request) == ("200 OK", headers, b"5")
        world.runtime.invoke.assert_called_with("work", b'{"n": 1}', "")
    world.runtime.invoke.return_value = Outcome(payload=b"{}", failed=True)
    context = {CONTEXT: base64.b64encode(b'{"a":1}').decode()}
    told = answer(world, "lambda", {**WORK, "data": b"", "headers": context}, "Qualifier=%24LATEST")
    assert told == ("200 OK", {**headers, "X-Amz-Function-Error": "Unhandled"}, b"{}")
    world.runtime.invoke.assert_called_with("work", b"{}", '{"a": 1}')
    assert world.moto.call_count == world.runtime.submit.call_count == 0


def test_an_invocation_that_nobody_waits_for_is_taken_and_a_dry_run_runs_nothing(world):
    for kind, status in (("Event", "202 Accepted"), ("DryRun", "204 No Content")):
        request = {**WORK, "headers": {"X-Amz-Invocation-Type": kind}}
        assert answer(world, "lambda", request) == (status, {"Content-Type": JSON}, b"")
    world.runtime.submit.assert_called_once_with("work", b'{"n": 1}', "")
    assert world.runtime.invoke.call_count == 0


def test_an_invocation_is_refused_with_lambdas_words(world):
    absent = {**WORK, "path": WORK["path"].replace("work", "gone")}
    broken = {**WORK, "headers": {CONTEXT: "{}"}}
    large = {**WORK, "data": b'"' + 6_300_000 * b"a" + b'"'}
    missing = ("404 Not Found", "ResourceNotFoundException")
    assert answer(world, "lambda", absent) == refused(*missing, "Function not found: gone")
    old = answer(world, "lambda", WORK, "Qualifier=7")
    assert old == refused(*missing, "Function not found: work:7")
    assert answer(world, "lambda", broken) == refused(
        "400 Bad Request",
        "InvalidRequestContentException",
        "Client context must be a valid Base64-encoded JSON object.",
    )
    assert answer(world, "lambda", large)[0] == "413 Request Entity Too Large"
    world.runtime.invoke.side_effect = ThrottledError("work")
    throttled = ("429 Too Many Requests", "TooManyRequestsException", str(ThrottledError("work")))
    assert answer(world, "lambda", WORK) == refused(*throttled)
    status, _, _ = answer(world, "execute-api", {"path": "/_http/a1/signed"})
    assert status == "503 Service Unavailable"


def test_items_are_answered_here_exports_by_the_runtime_and_tables_by_moto(world):
    headers = {"Content-Type": TABLE_JSON}
    put = dynamodb("PutItem", TableName="gone", Item={"id": {"S": "a"}})
    status, told_headers, told = answer(world, "dynamodb", put)
    assert (status, told_headers) == ("400 Bad Request", headers)
    assert json.loads(told)["__type"].endswith("#ResourceNotFoundException")
    batch = dynamodb("BatchGetItem", RequestItems={})
    assert answer(world, "dynamodb", batch)[0] == "400 Bad Request"
    assert world.moto.call_count == 0
    assert answer(world, "dynamodb", dynamodb("ListTables")) == ("200 OK", {}, b"told")
    assert world.moto.call_count == 1
    world.runtime.export.return_value = {"ExportSummaries": []}
    listed = answer(world, "dynamodb", dynamodb("ListExports"))
    assert listed == ("200 OK", headers, b'{"ExportSummaries": []}')
    world.runtime.export.side_effect = ExportRefusedError("TableNotFoundException", "gone")
    status, told_headers, told = answer(world, "dynamodb", dynamodb("ListExports", MaxResults=5))
    assert (status, told_headers) == ("400 Bad Request", headers)
    code = "com.amazonaws.dynamodb.v20120810#TableNotFoundException"
    assert json.loads(told) == {"__type": code, "message": "gone"}
    world.runtime.export.assert_called_with("ListExports", {"MaxResults": 5})


@pytest.mark.filterwarnings("ignore:.*does not match an error shape")
def test_what_moto_knows_by_its_name_alone_is_not_imitated(world):
    def page(_environ: Any, start: Any) -> Any:
        start("404 Not Found", [("Content-Type", "text/html; charset=utf-8")])
        return io.BytesIO()

    request = {"method": "GET", "path": "/2018-10-31/layers"}
    told = "the local cloud does not imitate GET /2018-10-31/layers"
    world.moto.side_effect = page
    not_imitated = refused("400 Bad Request", "NotImitatedException", told)
    assert answer(world, "lambda", request) == not_imitated
    assert answer(world, "s3", {"method": "HEAD", "path": "/b/k"})[0] == "404 Not Found"
    world.moto.side_effect = NotImplementedError
    status, named, body = answer(world, "lambda", request)
    assert (status, told.encode() in body) == ("400 Bad Request", True)
    assert "NotImitatedException" in named.values()


def test_the_control_route_answers_with_json_and_tells_what_it_does_not_take(world):
    kill = {"method": "POST", "path": "/_localcloud/kill", "data": b'{"every": 5}'}
    headers = {"Content-Type": JSON}
    world.runtime.control.return_value = {"killed": 1}
    assert answer(world, "execute-api", kill) == ("200 OK", headers, b'{"killed": 1}')
    world.runtime.control.assert_called_with("kill", {"every": 5})
    world.runtime.control.side_effect = ValueError("no such thing")
    told = answer(world, "execute-api", kill)
    assert told == ("400 Bad Request", headers, b'{"message": "kill: no such thing"}')


def test_a_body_has_the_bound_of_who_sends_it_and_where(world):
    def most(path: str, key: str = "") -> int:
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": path,
            "QUERY_STRING": f"AWSAccessKeyId={key}",
        }
        return world.gateway.most_bytes(environ)

    assert most("/_http/a1/public") == 10_000_000  # as API Gateway
    assert [most(path) for path in ("/_http/a1/signed", "/_http/a1/gone", "/public")] == [0, 0, 0]
    assert most("/public", OURS.access_key()) == MOST_BYTES >= 250 * 1024 * 1024
