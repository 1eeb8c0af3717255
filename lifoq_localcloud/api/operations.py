"""Which operation of which service an HTTP request asks for."""

import re
from typing import Any

IAM_PREFIXES = {"monitoring": "cloudwatch", "dynamodbstreams": "dynamodb"}
"""The prefix in policies of services whose signing name is another."""

_REST = {
    "lambda": (
        ("POST", r"/2015-03-31/functions/[^/]+/invocations/?", "InvokeFunction"),
        ("POST", r"/2015-03-31/functions/?", "CreateFunction"),
        ("DELETE", r"/2015-03-31/functions/[^/]+/?", "DeleteFunction"),
        ("PUT", r"/2015-03-31/functions/[^/]+/code/?", "UpdateFunctionCode"),
        ("PUT", r"/2015-03-31/functions/[^/]+/configuration/?", "UpdateFunctionConfiguration"),
        ("PUT", r"/2017-10-31/functions/[^/]+/concurrency/?", "PutFunctionConcurrency"),
        ("DELETE", r"/2017-10-31/functions/[^/]+/concurrency/?", "DeleteFunctionConcurrency"),
        ("GET", r"/2024-08-31/functions/[^/]+/recursion-config/?", "GetFunctionRecursionConfig"),
        ("POST", r"/2015-03-31/event-source-mappings/?", "CreateEventSourceMapping"),
        ("PUT", r"/2015-03-31/event-source-mappings/[^/]+/?", "UpdateEventSourceMapping"),
        ("DELETE", r"/2015-03-31/event-source-mappings/[^/]+/?", "DeleteEventSourceMapping"),
    ),
    "scheduler": (
        ("POST", r"/schedules/[^/]+", "CreateSchedule"),
        ("PUT", r"/schedules/[^/]+", "UpdateSchedule"),
        ("DELETE", r"/schedules/[^/]+", "DeleteSchedule"),
        ("GET", r"/schedules/[^/]+", "GetSchedule"),
        ("GET", r"/schedules", "ListSchedules"),
    ),
    "s3": (
        ("GET", r".+/.+", "GetObject"),
        ("HEAD", r".+/.+", "GetObject"),
        ("PUT", r".+/.+", "PutObject"),
        ("DELETE", r".+/.+", "DeleteObject"),
        ("GET", r"/[^/]*", "ListBucket"),
    ),
}
"""Method, path and IAM action of the operations that a queue's functions could need."""


def name(service: str, environ: dict[str, Any], request: dict[str, Any]) -> str:
    """The operation's name; for REST services the IAM action, or method and path if unknown."""
    if target := environ.get("HTTP_X_AMZ_TARGET"):
        return str(target).rsplit(".", 1)[-1]
    if action := request.get("Action"):
        return str(action)
    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    for known_method, pattern, operation in _REST.get(service, ()):
        if method == known_method and re.fullmatch(pattern, path):
            return operation
    return f"{method} {path}"
