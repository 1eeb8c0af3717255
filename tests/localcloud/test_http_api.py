"""An HTTP API turns a request into an event, and a function's answer into a response."""

import base64
import io
import json
import time
import uuid
from datetime import datetime
from typing import Any

import pytest

from lifoq_localcloud.events.http_api import HttpAnswer, Route, ask
from lifoq_localcloud.functions.function import Outcome

ROUTES = [
    Route(key=key, function_arn=f"arn:aws:lambda:us-east-1:123456789012:function:{name}")
    for key, name in (
        ("GET /tasks/{id}", "one"),
        ("GET /tasks/batch", "fixed"),
        ("POST /tasks", "put"),
        ("ANY /any", "any"),
    )
]
PUBLIC = Route(key="GET /open", function_arn=ROUTES[0].function_arn, public=True)


def asked(
    method: str, sent: str, *, body: bytes = b"", known: bool = True, **environ: str
) -> tuple[Any, Any]:
    """The function that is asked, and with which event; or the status without one."""
    calls: list[tuple[str, Any]] = []

    def run(arn: str, event: dict[str, Any]) -> Outcome:
        calls.append((arn.rpartition(":")[2], event))
        return Outcome(payload=b"null")

    asked = {"REQUEST_METHOD": method, "wsgi.input": io.BytesIO(body), **environ}
    answer = ask(asked, sent=sent, known=known, run=run, api_id="a1", routes=[*ROUTES, PUBLIC])
    return calls[0] if calls else (answer.status, None)


@pytest.mark.parametrize(
    ("sent", "function", "path", "parameters"),
    [
        # Of the routes, the most specific. A path is decoded as live APIs do.
        ("/tasks/batch", "fixed", "/tasks/batch", None),
        ("/tasks/a b", "one", "/tasks/a b", {"id": "a b"}),
        ("/tasks/question%3Fvalue", "one", "/tasks/question", {"id": "question"}),
        ("/tasks/unicode-%CE%BB", "one", "/tasks/unicode-λ", {"id": "unicode-λ"}),
        ("/tasks/literal%252Fvalue", "one", "/tasks/literal/value", {"id": "literal/value"}),
        ("/tasks/literal%2525value", "one", "/tasks/literal%value", {"id": "literal%value"}),
    ],
)
def test_a_request_reaches_the_function_of_its_route(sent, function, path, parameters):
    name, event = asked("GET", sent)
    assert (name, event["rawPath"], event.get("pathParameters")) == (function, path, parameters)


def test_what_api_gateway_makes_nothing_of_reaches_no_function():
    for sent in ("/tasks", "/", "/tasks/slash%2Fvalue", "/tasks/", "/Any"):
        assert asked("GET", sent) == (404, None)
    assert asked("GET", "/tasks/percent%25done") == (400, None)


def test_a_route_is_open_to_whoever_has_a_key_and_a_public_one_to_anybody():
    assert asked("GET", "/tasks/1", known=False) == (403, None)
    assert asked("GET", "/open", known=False)[0] == asked("GET", "/open")[0] == "one"
    assert [asked(method, "/any")[0] for method in ("GET", "DELETE")] == ["any", "any"]


def test_a_request_is_the_event_of_format_2():
    begun = int(time.time())
    _, found = asked(
        "POST",
        "/tasks",
        body=b'{"n": 1}',
        QUERY_STRING="a=1&a=2&b=",
        CONTENT_TYPE="application/json",
        HTTP_IDEMPOTENCY_KEY="k",
        HTTP_COOKIE="x=1; y=2",
        HTTP_USER_AGENT="tests",
        HTTP_HOST="h",
        REMOTE_ADDR="10.0.0.1",
    )

    context = found["requestContext"]
    told = datetime.strptime(context.pop("time"), "%d/%b/%Y:%H:%M:%S %z")
    assert context.pop("timeEpoch") // 1000 == told.timestamp() >= begun
    assert uuid.UUID(context.pop("requestId"))
    assert found == {
        "version": "2.0",
        "routeKey": "POST /tasks",
        "rawPath": "/tasks",
        "rawQueryString": "a=1&a=2&b=",
        "queryStringParameters": {"a": "1,2", "b": ""},
        "headers": {
            "content-type": "application/json",
            "idempotency-key": "k",
            "user-agent": "tests",
            "host": "h",
        },
        "cookies": ["x=1", "y=2"],
        "body": '{"n": 1}',
        "isBase64Encoded": False,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "a1",
            "domainName": "h",
            "http": {
                "method": "POST",
                "path": "/tasks",
                "protocol": "HTTP/1.1",
                "sourceIp": "10.0.0.1",
                "userAgent": "tests",
            },
            "routeKey": "POST /tasks",
            "stage": "$default",
        },
    }
    _, found = asked("POST", "/tasks", body=b"\xff\x00")
    assert (base64.b64decode(found["body"]), found["isBase64Encoded"]) == (b"\xff\x00", True)
    _, found = asked("GET", "/any")
    assert found.keys().isdisjoint({"body", "cookies", "pathParameters", "queryStringParameters"})


def answered(value: Any, *, failed: bool = False) -> HttpAnswer:
    return HttpAnswer.of_function(Outcome(payload=json.dumps(value).encode(), failed=failed))


def test_an_answer_has_status_headers_cookies_and_body():
    given = answered(
        {"statusCode": 201, "headers": {"Location": "/a"}, "cookies": ["x=1"], "body": "made"}
    )
    json_type = ("content-type", "application/json")
    headers = [json_type, ("location", "/a"), ("set-cookie", "x=1")]
    assert given == HttpAnswer(status=201, headers=headers, body=b"made")
    empty = answered({"statusCode": "204", "body": None, "headers": {"Content-Type": "x"}})
    assert empty == HttpAnswer(status=204, headers=[("content-type", "x")], body=b"")
    encoded = base64.b64encode(b"\xff").decode()
    binary = answered({"statusCode": 200, "body": encoded, "isBase64Encoded": True})
    assert binary.body == b"\xff"
    plain = answered({"n": 1})
    assert plain == HttpAnswer(status=200, headers=[json_type], body=b'{"n": 1}')
    assert answered([1]).body == b"[1]"


def test_a_function_that_fails_tells_the_client_nothing_of_it():
    body = b'{"message": "Internal Server Error"}'
    for value in ({"errorMessage": "secret"}, {"statusCode": 200}):
        assert answered(value, failed=True) == HttpAnswer(
            status=500, headers=[("Content-Type", "application/json")], body=body
        )
