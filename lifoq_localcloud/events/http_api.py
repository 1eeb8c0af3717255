"""An HTTP API of API Gateway in front of a function: a request as its event, its answer as HTTP.

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html

What no document says was recorded by others, of live APIs, in July 2026: a path is decoded twice,
ends at a question mark that the first time brings, and is refused where the second time fails.
"""

import base64
import json
import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote

from lifoq_localcloud.basics.account import ACCOUNT
from lifoq_localcloud.functions.function import Outcome

Environ = Mapping[str, Any]

_MALFORMED = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, kw_only=True)
class Route:
    """A method and a path, and the function that answers."""

    key: str
    """The method and the path, for example ``GET /tasks/{id}``."""
    function_arn: str
    public: bool = False
    """True if the route asks for no authorization, neither here nor on AWS."""

    def match(self, method: str, path: str) -> dict[str, str] | None:
        """The parameters that a path (decoded once) brings; None where it is another."""
        wanted, _, pattern = self.key.partition(" ")
        parts, given = pattern.split("/"), path.split("/")
        if wanted not in {method, "ANY"} or len(parts) != len(given):
            return None
        parameters = {}
        for part, value in zip(parts, given, strict=True):
            if part.startswith("{") and value:
                parameters[part[1:-1]] = unquote(value)
            elif part != value:
                return None
        return parameters


@dataclass(frozen=True, kw_only=True)
class HttpAnswer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @classmethod
    def of_gateway(cls, status: int) -> "HttpAnswer":
        """Return the answer that API Gateway itself gives with this status."""
        text = {"message": HTTPStatus(status).phrase}
        return cls(
            status=status,
            headers=[("Content-Type", "application/json")],
            body=json.dumps(text).encode(),
        )

    @classmethod
    def of_function(cls, outcome: Outcome) -> "HttpAnswer":
        answer = outcome.document()
        if outcome.failed:
            return cls.of_gateway(500)
        if not isinstance(answer, dict) or "statusCode" not in answer:
            answer = {"statusCode": 200, "body": json.dumps(answer)}
        headers = {"content-type": "application/json"}
        headers |= {name.lower(): str(value) for name, value in answer.get("headers", {}).items()}
        body = (answer.get("body") or "").encode()
        return cls(
            status=int(answer["statusCode"]),
            headers=[
                *headers.items(),
                *(("set-cookie", cookie) for cookie in answer.get("cookies", [])),
            ],
            body=base64.b64decode(body) if answer.get("isBase64Encoded") else body,
        )


def ask(
    environ: Environ,
    *,
    api_id: str,
    sent: str,
    known: bool,
    routes: Iterable[Route],
    run: Callable[[str, dict[str, Any]], Outcome],
) -> HttpAnswer:
    """``sent``: the path as it came. ``known``: whether the caller has an access key of this cloud.
    ``run``: has a function, by its ARN, answer an event."""
    found = called(environ, sent, routes)
    if isinstance(found, HttpAnswer):
        return found
    route, parameters = found
    if not (known or route.public):
        return HttpAnswer.of_gateway(403)
    path = _decoded(sent)
    asked = event(environ, api_id=api_id, path=unquote(path), route=route, parameters=parameters)
    return HttpAnswer.of_function(run(route.function_arn, asked))


def called(
    environ: Environ, sent: str, routes: Iterable[Route]
) -> tuple[Route, dict[str, str]] | HttpAnswer:
    """The route that a request asks for, and the path's parameters; or what it is told where there
    is none."""
    path = _decoded(sent)
    if _MALFORMED.search(path):
        return HttpAnswer.of_gateway(400)
    return find(routes, environ["REQUEST_METHOD"], path) or HttpAnswer.of_gateway(404)


def _decoded(sent: str) -> str:
    """The path, decoded once."""
    return unquote(sent).partition("?")[0]


def find(routes: Iterable[Route], method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The most specific of the routes, and the path's parameters."""
    found = [
        (route, parameters)
        for route in routes
        if (parameters := route.match(method, path)) is not None
    ]
    return min(found, key=lambda one: len(one[1])) if found else None


def event(
    environ: Environ, *, api_id: str, path: str, route: Route, parameters: Mapping[str, str]
) -> dict[str, Any]:
    """An event of payload format 2.0. ``path``: decoded."""
    body: bytes = environ["wsgi.input"].read()
    query: dict[str, str] = {}
    for name, value in parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True):
        query[name] = f"{query[name]},{value}" if name in query else value
    headers = {
        name.removeprefix("HTTP_").replace("_", "-").lower(): value
        for name, value in environ.items()
        if name.startswith("HTTP_") or name in {"CONTENT_TYPE", "CONTENT_LENGTH"}
    }
    cookies = headers.pop("cookie", "")
    now = time.time()
    found: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route.key,
        "rawPath": path,
        "rawQueryString": environ.get("QUERY_STRING", ""),
        "headers": headers,
        "requestContext": {
            "accountId": ACCOUNT,
            "apiId": api_id,
            "domainName": environ.get("HTTP_HOST", ""),
            "http": {
                "method": environ["REQUEST_METHOD"],
                "path": path,
                "protocol": environ.get("SERVER_PROTOCOL", "HTTP/1.1"),
                "sourceIp": environ.get("REMOTE_ADDR", "127.0.0.1"),
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": str(uuid.uuid4()),
            "routeKey": route.key,
            "stage": "$default",
            "time": datetime.fromtimestamp(now, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": int(now * 1000),
        },
        "isBase64Encoded": False,
    }
    if cookies:
        found["cookies"] = cookies.split("; ")
    if query:
        found["queryStringParameters"] = query
    if parameters:
        found["pathParameters"] = dict(parameters)
    if body:
        try:
            found["body"] = body.decode()
        except UnicodeDecodeError:
            found |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    return found
