"""The record of a call to the local cloud: who asks for which action, on which resources."""

import io
import json
from typing import Any

import pytest

from lifoq_localcloud.api import operations
from lifoq_localcloud.api.calls import CallLog, resources
from lifoq_localcloud.basics.credentials import Credentials
from lifoq_localcloud.http_server.gate import Callers

TABLE = "arn:aws:dynamodb:us-east-1:123456789012:table"
QUEUE = "arn:aws:sqs:us-east-1:123456789012:jobs"
SCHEDULES = "arn:aws:scheduler:us-east-1:123456789012:schedule"
LAMBDA = "arn:aws:lambda:us-east-1:123456789012:function:work"


@pytest.mark.parametrize(
    ("service", "environ", "request_", "named"),
    [
        ("dynamodb", {}, {"TableName": "t"}, [f"{TABLE}/t"]),
        ("dynamodb", {}, {"TableName": f"{TABLE}/t", "IndexName": "i"}, [f"{TABLE}/t/index/i"]),
        ("dynamodb", {}, {"RequestItems": {"u": {}, "t": {}}}, [f"{TABLE}/t", f"{TABLE}/u"]),
        (
            "dynamodb",
            {},
            {"TransactItems": [{"Get": {"TableName": "u"}}, {"Put": {"TableName": "t"}}, 5]},
            [f"{TABLE}/t", f"{TABLE}/u"],
        ),
        ("dynamodb", {}, {"StreamArn": f"{TABLE}/t/stream/1"}, [f"{TABLE}/t/stream/1"]),
        ("dynamodb", {}, {"TableName": 5}, []),
        ("sns", {}, {"TopicArn": "topic"}, ["topic"]),
        ("sns", {}, {"TargetArn": "target"}, ["target"]),
        ("sns", {}, {}, ["*"]),
        ("sqs", {}, {"QueueUrl": "http://localhost:1/123456789012/jobs"}, [QUEUE]),
        ("sqs", {}, {}, ["*"]),
        ("lambda", {"PATH_INFO": "/2015-03-31/functions/work/invocations"}, {}, [LAMBDA]),
        ("lambda", {"PATH_INFO": "/2015-03-31/layers"}, {}, ["*"]),
        ("ssm", {}, {"Name": "/a/b"}, ["arn:aws:ssm:us-east-1:123456789012:parameter/a/b"]),
        ("scheduler", {"PATH_INFO": "/schedules/s"}, {}, [f"{SCHEDULES}/default/s"]),
        ("scheduler", {"PATH_INFO": "/schedules/s"}, {"GroupName": "g"}, [f"{SCHEDULES}/g/s"]),
        (
            "scheduler",
            {"PATH_INFO": "/schedules/s", "QUERY_STRING": "groupName=g"},
            {},
            [f"{SCHEDULES}/g/s"],
        ),
        ("scheduler", {"PATH_INFO": "/schedules"}, {}, ["*"]),
        ("s3", {"PATH_INFO": "/b/k", "HTTP_HOST": "localhost:1"}, {}, ["arn:aws:s3:::b/k"]),
        ("s3", {"PATH_INFO": "/k", "HTTP_HOST": "b.localhost:1"}, {}, ["arn:aws:s3:::b/k"]),
        ("s3", {"PATH_INFO": "/", "HTTP_HOST": "b.localhost"}, {}, ["arn:aws:s3:::b"]),
    ],
)
def test_a_call_names_its_resources(service, environ, request_, named):
    assert [*resources(service, environ, request_)] == named


@pytest.mark.parametrize(
    ("service", "method", "path", "operation"),
    [
        ("lambda", "POST", "/2015-03-31/functions/work/invocations", "InvokeFunction"),
        ("lambda", "PUT", "/2015-03-31/functions/work/invocations", None),
        ("scheduler", "GET", "/schedules/s", "GetSchedule"),
        ("s3", "HEAD", "/b/k", "GetObject"),
        ("s3", "GET", "/b", "ListBucket"),
        ("sns", "GET", "/b", None),
    ],
)
def test_a_call_by_method_and_path_has_its_action_or_is_both(service, method, path, operation):
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path}
    assert operations.name(service, environ, {}) == (operation or f"{method} {path}")


JSON, FORM = "application/x-amz-json-1.0", "application/x-www-form-urlencoded; charset=utf-8"


@pytest.mark.parametrize(
    ("service", "kind", "body", "asked", "line"),
    [
        ("sqs", JSON, b'{"QueueUrl": "jobs"}', {"QueueUrl": "jobs"}, ("sqs:Ask", [QUEUE])),
        ("monitoring", FORM, b"Action=Put&N=", {"Action": "Put", "N": ""}, ("cloudwatch:Put", "*")),
        ("sqs", JSON, b"", {}, ("sqs:Ask", "*")),
        ("sqs", JSON, b"[1]", {}, ("sqs:Ask", "*")),
        ("sqs", JSON, b"{", {}, ("sqs:Ask", "*")),
        ("sqs", "text/plain", b'{"QueueUrl": "jobs"}', {}, ("sqs:Ask", "*")),
    ],
)
def test_a_call_is_recorded_with_its_caller_its_action_and_its_resources(
    tmp_path, service, kind, body, asked, line
):
    credentials = Credentials(endpoint="http://localhost:1")
    callers = Callers(credentials, lambda _key: None)
    callers.introduce(["work"])
    signed = f"AWS4-HMAC-SHA256 Credential={credentials.access_key('work')}/2026/x/{service}/a"
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/",
        "CONTENT_TYPE": kind,
        "HTTP_AUTHORIZATION": signed,
        "wsgi.input": io.BytesIO(body),
        **({"HTTP_X_AMZ_TARGET": "AmazonSQS.Ask"} if kind != FORM else {}),
    }
    call = CallLog(tmp_path / "calls", callers).record(environ)
    assert (call.caller, call.request) == ("work", asked)
    assert environ["wsgi.input"].read() == body
    told = json.loads((tmp_path / "calls").read_text())
    assert 1_700_000_000_000_000 < told.pop("at") < 10_000_000_000_000_000
    action, named = line
    assert told == {"caller": "work", "action": action, "resources": [*named]}
