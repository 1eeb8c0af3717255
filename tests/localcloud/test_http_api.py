"""An HTTP API turns a request into an event, and a function's answer into a response."""

import base64
import io
import json
import time
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
    )
]


def asked(method: str, sent: str, *, body: bytes = b"", **environ: str) -> tuple[Any, Any]:
    """The function that is asked, and with which event; or the status without one."""
    calls: list[tuple[str, Any]] = []

    def run(arn: str, event: dict[str, Any]) -> Outcome:
        calls.append((arn.rpartition(":")[2], event))
        return Outcome(payload=b"null")

    asked = {"REQUEST_METHOD": method, "wsgi.input": io.BytesIO(body), **environ}
    answer = ask(asked, sent=sent, known=True, run=run, api_id="a1", routes=ROUTES)
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
    for sent in ("/tasks", "/", "/tasks/slash%2Fvalue"):
        assert asked("GET", sent) == (404, None)
    assert asked("GET", "/tasks/percent%25done") == (400, None)


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
    )

    assert found["version"] == "2.0"
    assert found["routeKey"] == found["requestContext"]["routeKey"] == "POST /tasks"
    assert found["queryStringParameters"] == {"a": "1,2", "b": ""}
    assert found["headers"] == {"content-type": "application/json", "idempotency-key": "k"}
    assert found["cookies"] == ["x=1", "y=2"]
    assert (found["body"], found["isBase64Encoded"]) == ('{"n": 1}', False)
    when = found["requestContext"]
    told = datetime.strptime(when["time"], "%d/%b/%Y:%H:%M:%S %z")
    assert when["timeEpoch"] // 1000 == told.timestamp() >= begun
    _, found = asked("POST", "/tasks", body=b"\xff\x00")
    assert (base64.b64decode(found["body"]), found["isBase64Encoded"]) == (b"\xff\x00", True)


def answered(value: Any, *, failed: bool = False) -> HttpAnswer:
    return HttpAnswer.of_function(Outcome(payload=json.dumps(value).encode(), failed=failed))


def test_an_answer_has_status_headers_cookies_and_body():
    given = answered(
        {"statusCode": 201, "headers": {"Location": "/a"}, "cookies": ["x=1"], "body": "made"}
    )
    assert (given.status, given.body) == (201, b"made")
    assert {("location", "/a"), ("set-cookie", "x=1")} <= set(given.headers)
    encoded = base64.b64encode(b"\xff").decode()
    binary = answered({"statusCode": 200, "body": encoded, "isBase64Encoded": True})
    assert binary.body == b"\xff"
    plain = answered({"n": 1})
    assert (plain.status, json.loads(plain.body)) == (200, {"n": 1})


def test_a_function_that_fails_tells_the_client_nothing_of_it():
    given = answered({"errorMessage": "secret"}, failed=True)
    assert given.status == 500
    assert b"secret" not in given.body
