"""The OpenAPI document of a queue over HTTP: ``python -m lifoq.api.openapi``.

Made of the operations, terms and bounds that the function itself goes by.
"""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from lifoq.api import requests
from lifoq.api.answers import SHED
from lifoq.api.operations import OPERATIONS, Operation
from lifoq.basics.numbers import LONGEST
from lifoq.client.listing import LISTED
from lifoq.items import traceparent
from lifoq.items.schema import (
    MAX_ID_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_TASK_KEY_BYTES,
    MAX_TYPE_BYTES,
    Status,
)

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
TIME: Final[Schema] = {"type": "string", "format": "date-time"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
AGE: Final[Schema] = {"type": ["number", "null"], "minimum": 0}


def name(bytes_: int, meaning: str) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": bytes_, "description": meaning}


TERMS: Final[Mapping[str, Schema]] = {
    "type": name(MAX_TYPE_BYTES, f"Which task type runs it; at most {MAX_TYPE_BYTES} bytes"),
    "payload": {
        "description": f"Any JSON value of at most {MAX_PAYLOAD_BYTES} bytes; where the queue has "
        "large_payloads, of as many as Lambda takes",
        "default": None,
    },
    "id": name(
        MAX_ID_BYTES,
        f"Of your own, at most {MAX_ID_BYTES} bytes: a second put of it returns the first task",
    ),
    "key": name(MAX_TASK_KEY_BYTES, f"Whom or what it is for; at most {MAX_TASK_KEY_BYTES} bytes"),
    "deadline": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "maximum": LONGEST,
        "description": "Seconds until it is shed; at most the queue's own, which is the default",
    },
    "delay": {
        "type": ["number", "null"],
        "minimum": 0,
        "maximum": LONGEST,
        "description": "Seconds until it enters the queue",
    },
    "ifExists": {
        "type": "string",
        "enum": ["keep", "replace"],
        "default": "keep",
        "description": "What becomes of a task that has the id: of several puts, the first counts, "
        "or the newest",
    },
    "traceparent": {
        "type": "string",
        "pattern": f"^{traceparent.FORM}$",
        "description": "Of the trace it belongs to, as the W3C writes it; by default the header's",
    },
}


def document(*, server: str = "/") -> Schema:
    """OpenAPI 3.1."""
    paths: dict[str, Schema] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "A lifoq queue",
            "version": "1",
            "description": "A task queue, newest first. Requests are signed (AWS Signature "
            "Version 4, service execute-api), unless the queue has an authorizer of its own.",
        },
        "servers": [{"url": server}],
        "security": [{"iam": []}],
        "paths": paths,
        "components": {"schemas": SCHEMAS, "securitySchemes": {"iam": IAM}},
    }


IAM: Final[Schema] = {
    "type": "apiKey",
    "name": "Authorization",
    "in": "header",
    "x-amazon-apigateway-authtype": "awsSigv4",
}


def _object(properties: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _ref(schema: str) -> Schema:
    return {"$ref": f"#/components/schemas/{schema}"}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_SUMMARY: Final[Mapping[str, Schema]] = {
    "id": TEXT,
    "type": TEXT,
    "status": {"type": "string", "enum": [*(status.value for status in Status), SHED]},
    "key": TEXT,
    "traceparent": TEXT,
    "attempts": COUNT,
    "enqueuedAt": TIME,
    "deadline": TIME,
    "dueAt": {**TIME, "description": "When a DELAYED one enters the queue"},
    "takenAt": TIME,
    "cancelAskedAt": {**TIME, "description": "When it was cancelled while it ran"},
    "finishedAt": TIME,
    "error": _object({"type": TEXT, "message": TEXT}, ("type", "message")),
}
_PARTS: Final[Mapping[str, Schema]] = {
    part: schema
    for name in ("payload", "result")
    for part, schema in (
        (name, {}),
        (
            f"{name}Bytes",
            {**COUNT, "description": f"Of a {name} that is too large for the answer: that is null"},
        ),
    )
}
_ALWAYS: Final = ("id", "type", "status", "attempts", "enqueuedAt", "deadline")

SCHEMAS: Final[Mapping[str, Schema]] = {
    "NewTask": _object(TERMS, ("type",)),
    "TaskSummary": _object(_SUMMARY, _ALWAYS),
    "Task": _object({**_SUMMARY, **_PARTS}, (*_ALWAYS, "payload")),
    "Error": _object(
        {"error": _object({"type": TEXT, "message": TEXT, "field": TEXT}, ("type",))}, ("error",)
    ),
    "Outcomes": _object(
        {
            "outcomes": _list(
                {
                    "oneOf": [
                        _object(
                            {"task": _ref("TaskSummary"), "created": {"type": "boolean"}},
                            ("task", "created"),
                        ),
                        _ref("Error"),
                    ]
                }
            )
        },
        ("outcomes",),
    ),
    "Listing": _object(
        {
            "tasks": _list(_ref("TaskSummary")),
            "damaged": _list(_object({"id": TEXT, "error": {"type": "object"}}, ("id", "error"))),
            "next": {**TEXT, "description": "The start of the page that follows"},
        },
        ("tasks",),
    ),
    "Stats": _object(
        {
            **dict.fromkeys(("pending", "delayed", "taken", "failure"), COUNT),
            "atLeast": {**_list(TEXT), "description": "Counts that stopped at 10,000"},
            "newestWaitingSeconds": AGE,
            "oldestWaitingSeconds": AGE,
            "unknownTypes": {
                **_list(TEXT),
                "description": "Of tasks that wait, those that no worker is known to have",
            },
        },
        ("pending", "delayed", "taken", "failure", "atLeast", "unknownTypes"),
    ),
}

_PATH_ID: Final[Schema] = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {
        **name(
            MAX_ID_BYTES,
            f"The task's id; {requests.IN_THE_QUERY} for one of other characters, which stands in "
            "the query",
        ),
        "pattern": f"^{requests.IN_A_PATH}$",
    },
}
_IDEMPOTENCY_KEY: Final[Schema] = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_ID_BYTES},
    "description": "Becomes the task's id: a repeated request returns the first task",
}
_TRACEPARENT: Final[Schema] = {
    "name": "traceparent",
    "in": "header",
    "schema": TEXT,
    "description": "Of the trace that the tasks belong to; is it none, the tasks have none",
}


def _query(name_: str, schema: Schema, *, required: bool = False) -> Schema:
    return {"name": name_, "in": "query", "required": required, "schema": schema}


_ID: Final = (_PATH_ID, _query("id", name(MAX_ID_BYTES, "The task's id, of any characters")))
_PARAMETERS: Final[Mapping[str, Sequence[Schema]]] = {
    "putTask": (_IDEMPOTENCY_KEY, _TRACEPARENT),
    "putTasks": (_TRACEPARENT,),
    "getTask": (
        *_ID,
        _query("wait", {"type": "integer", "minimum": 0, "maximum": requests.LONGEST_WAIT}),
    ),
    "listTasks": (
        _query(
            "status",
            {"type": "string", "enum": [status.value for status in LISTED]},
            required=True,
        ),
        *(_query(each, {"type": "string", "minLength": 1}) for each in requests.FILTERS),
        _query("limit", {"type": "integer", "minimum": 1, "maximum": requests.MOST_LISTED}),
        _query("start", {**TEXT, "minLength": 1, "description": "The next of the page before"}),
    ),
    "cancelTask": _ID,
    "redriveTask": _ID,
}
_BODIES: Final[Mapping[str, Schema]] = {
    "putTask": _ref("NewTask"),
    "putTasks": _object(
        {
            "tasks": {
                **_list(_ref("NewTask")),
                "minItems": 1,
                "maxItems": requests.MOST_PUT,
            }
        },
        ("tasks",),
    ),
}
_ANSWERS: Final[Mapping[str, Mapping[int, str]]] = {
    "putTask": {200: "Task", 201: "Task", 409: "Error", 422: "Error"},
    "putTasks": {200: "Outcomes"},
    "getTask": {200: "Task", 404: "Error", 409: "Error"},
    "listTasks": {200: "Listing"},
    "cancelTask": {200: "Task", 404: "Error", 409: "Error"},
    "redriveTask": {200: "Task", 404: "Error", 409: "Error"},
    "getStats": {200: "Stats"},
}
_ALWAYS_POSSIBLE: Final[Mapping[int, str]] = {400: "Error", 503: "Error"}
_OF_API_GATEWAY: Final = (403, 429)
"""Not allowed; more requests than the stage lets through."""


def _operation(operation: Operation) -> Schema:
    statuses = {**_ANSWERS[operation.name], **_ALWAYS_POSSIBLE}
    answers = {str(status): _answer(status, schema) for status, schema in statuses.items()}
    for status in _OF_API_GATEWAY:
        answers[str(status)] = {"description": HTTPStatus(status).phrase}
    found: Schema = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": list(_PARAMETERS.get(operation.name, ())),
        "responses": dict(sorted(answers.items())),
    }
    if operation.name in _BODIES:
        content = {"application/json": {"schema": _BODIES[operation.name]}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _answer(status: int, schema: str) -> Schema:
    answer: Schema = {
        "description": HTTPStatus(status).phrase,
        "content": {"application/json": {"schema": _ref(schema)}},
    }
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        answer["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    if status == HTTPStatus.CREATED:
        answer["headers"] = {"Location": {"schema": TEXT}}
    return answer


if __name__ == "__main__":
    print(json.dumps(document(), indent=2))  # noqa: T201 - a command's answer
