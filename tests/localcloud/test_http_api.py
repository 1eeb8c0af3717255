"""What an HTTP API makes of a request, and of a function's answer."""

import base64
import io
import json
from typing import Any

import pytest

from localcloud.function import Outcome
from localcloud.http_api import HttpAnswer, Route, ask, event, find

ROUTES = [
    Route(key=key, function_arn=f"arn:aws:lambda:us-east-1:123456789012:function:{name}")
    for key, name in (
        ("GET /tasks/{id}", "one"),
        ("GET /tasks/batch", "fixed"),
        ("POST /tasks", "put"),
    )
]
API: dict[str, Any] = {"api_id": "a1", "routes": ROUTES}


@pytest.mark.parametrize(
    ("method", "path", "name", "parameters"),
    [
        ("GET", "/tasks/a%2Fb c", "one", {"id": "a/b c"}),
        ("GET", "/tasks/batch", "fixed", {}),
        ("POST", "/tasks", "put", {}),
    ],
)
def test_the_most_specific_route_answers(method, path, name, parameters):
    route, found = find(ROUTES, method, path)
    assert (route.function_arn.rpartition(":")[2], found) == (name, parameters)


def test_what_no_route_names_is_not_found():
    for path in ("/tasks", "/tasks/", "/tasks/a/b", "/"):
        assert find(ROUTES, "GET", path) is None


def answered_to(sent: str) -> tuple[int, Any]:
    def run(_arn: str, event: dict[str, Any]) -> Outcome:
        return Outcome(payload=json.dumps([event["rawPath"], event["pathParameters"]]).encode())

    environ = {"REQUEST_METHOD": "GET", "wsgi.input": io.BytesIO()}
    given = ask(environ, sent=sent, known=True, run=run, **API)
    return given.status, json.loads(given.body)


@pytest.mark.parametrize(
    ("sent", "raw"),
    [
        ("question%3Fvalue", "question"),
        ("unicode-%CE%BB", "unicode-λ"),
        ("literal%252Fvalue", "literal/value"),
        ("literal%2525value", "literal%value"),
    ],
)
def test_a_path_is_decoded_as_live_apis_do(sent, raw):
    assert answered_to(f"/tasks/{sent}") == (200, [f"/tasks/{raw}", {"id": raw}])


@pytest.mark.parametrize(("sent", "status"), [("percent%25done", 400), ("slash%2Fvalue", 404)])
def test_a_path_that_api_gateway_makes_nothing_of_reaches_no_function(sent, status):
    assert answered_to(f"/tasks/{sent}")[0] == status


def asked(body: bytes, **environ: str) -> dict[str, Any]:
    return event(
        {"REQUEST_METHOD": "POST", "wsgi.input": io.BytesIO(body), **environ},
        api_id="a1",
        path="/tasks",
        route=ROUTES[2],
        parameters={},
    )


def test_a_request_is_the_event_of_format_2():
    found = asked(
        b'{"n": 1}',
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


def test_a_body_that_is_no_text_comes_as_base64():
    found = asked(b"\xff\x00")
    assert (base64.b64decode(found["body"]), found["isBase64Encoded"]) == (b"\xff\x00", True)


def answered(value: Any, *, failed: bool = False) -> HttpAnswer:
    return HttpAnswer.of_function(Outcome(payload=json.dumps(value).encode(), failed=failed))


def test_an_answer_has_status_headers_cookies_and_body():
    given = answered(
        {"statusCode": 201, "headers": {"Location": "/a"}, "cookies": ["x=1"], "body": "made"}
    )
    assert (given.status, given.body) == (201, b"made")
    assert ("location", "/a") in given.headers
    assert ("set-cookie", "x=1") in given.headers


def test_a_binary_answer_is_decoded_and_a_plain_one_is_json():
    encoded = base64.b64encode(b"\xff").decode()
    binary = answered({"statusCode": 200, "body": encoded, "isBase64Encoded": True})
    assert binary.body == b"\xff"
    plain = answered({"n": 1})
    assert (plain.status, json.loads(plain.body)) == (200, {"n": 1})


def test_a_function_that_fails_tells_the_client_nothing_of_it():
    given = answered({"errorMessage": "secret"}, failed=True)
    assert given.status == 500
    assert b"secret" not in given.body
