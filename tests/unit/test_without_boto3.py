"""What lifoq's own functions send and read without boto3 is what boto3 sends and reads."""

import json
from types import SimpleNamespace
from urllib.parse import parse_qs

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError, HTTPClientError

from lifoq.tables import without_boto3
from lifoq.tables.connections import Answer, Headers

KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
TEXT = {"DataType": "String", "StringValue": "prod & more"}
ENTRIES = [
    {"Id": "0", "Message": '{"n": "ü+ "}', "MessageAttributes": {"queue": TEXT, "status": TEXT}},
    {"Id": "1", "Message": "m", "MessageAttributes": {}},
]
CALLS = [
    ("sns", "publish", {"TopicArn": "arn:t", "Message": "there & then"}),
    ("sns", "publish_batch", {"TopicArn": "arn:t", "PublishBatchRequestEntries": ENTRIES}),
    ("stepfunctions", "send_task_success", {"taskToken": "t", "output": '{"n": "ü"}'}),
    ("stepfunctions", "send_task_failure", {"taskToken": "t", "error": "e", "cause": "c"}),
]
BATCH = b"""<?xml version="1.0"?>
<PublishBatchResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishBatchResult><Failed>
<member><Id>1</Id><Code>Internal</Code><Message>a &amp; b</Message><SenderFault>false</SenderFault>
</member></Failed><Successful><member><Id>0</Id><MessageId>m</MessageId></member></Successful>
</PublishBatchResult></PublishBatchResponse>"""
REFUSAL = b'{"__type": "com.amazonaws.states#TaskTimedOut", "message": "too late"}'


@pytest.fixture
def answered(monkeypatch):
    """Both clients of a service; what they send; what is answered."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    seen = SimpleNamespace(sent=[], answer=(200, b"{}"))

    def exchange(_connections, url, headers, body):
        seen.sent.append((url, headers, body))
        return Answer(seen.answer[0], Headers(), seen.answer[1])

    def send(request, **_):
        headers = {name.lower(): value for name, value in request.headers.items()}
        texts = {k: v.decode() if isinstance(v, bytes) else v for k, v in headers.items()}
        seen.sent.append((request.url, texts, request.body))
        raw = SimpleNamespace(stream=lambda: iter([seen.answer[1]]))
        return AWSResponse(request.url, seen.answer[0], {}, raw)

    monkeypatch.setattr(without_boto3, "exchange", exchange)
    monkeypatch.setattr(without_boto3, "ATTEMPTS", 1)
    seen.of = {}
    for service, ours in (("sns", without_boto3.Topics), ("stepfunctions", without_boto3.States)):
        client = boto3.client(service)
        client.meta.events.register("before-send", send)
        seen.of[service] = (client, ours())
    return seen


@pytest.mark.parametrize(("service", "operation", "terms"), CALLS, ids=[one[1] for one in CALLS])
def test_a_call_is_what_boto3_would_send(answered, service, operation, terms):
    page = BATCH if operation == "publish_batch" else BATCH.replace(b"Batch", b"")
    answered.answer = (200, page if service == "sns" else b"")
    for client in answered.of[service]:
        getattr(client, operation)(**terms)
    (url, headers, body), (own_url, own_headers, own_body) = answered.sent
    reading = parse_qs if service == "sns" else json.loads
    assert reading(_text(own_body)) == reading(_text(body))
    assert own_url == url
    for name in ("x-amz-target", "content-type"):
        assert own_headers.get(name) == headers.get(name)
    scope = "/us-east-1/" + ("sns" if service == "sns" else "states") + "/aws4_request"
    assert scope in headers["authorization"]
    assert scope in own_headers["authorization"]


def test_what_a_batch_left_out_is_read_as_boto3_reads_it(answered):
    answered.answer = (200, BATCH)
    boto3s, ours = (
        client.publish_batch(TopicArn="arn:t", PublishBatchRequestEntries=ENTRIES)["Failed"]
        for client in answered.of["sns"]
    )
    assert [one["Id"] for one in ours] == [one["Id"] for one in boto3s] == ["1"]
    assert ours[0]["Message"] == boto3s[0]["Message"] == "a & b"


@pytest.mark.parametrize("page", [b"<html>", b"<html/>"])
def test_a_page_that_is_not_snss_confirms_nothing(answered, page):
    answered.answer = (200, page)
    with pytest.raises(HTTPClientError):
        answered.of["sns"][1].publish_batch(TopicArn="arn:t", PublishBatchRequestEntries=ENTRIES)


def test_a_refusal_has_the_code_that_boto3_reads(answered):
    answered.answer = (400, REFUSAL)
    for client in answered.of["stepfunctions"]:
        with pytest.raises(ClientError, match=r"TaskTimedOut.*too late"):
            client.send_task_success(taskToken="t", output="1")


def _text(body):
    return body.decode() if isinstance(body, bytes) else body
