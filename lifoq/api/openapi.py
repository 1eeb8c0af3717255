"""The OpenAPI document of a queue over HTTP: ``python -m lifoq.api.openapi``.

Made of the operations, terms and bounds that the function itself goes by.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Final

from lifoq.api import fields, requests
from lifoq.api.fields import AGE, COUNT, SOME_TEXT, TEXT, Schema, list_of, name, object_of
from lifoq.api.operations import OPERATIONS, Operation
from lifoq.items.schema import MAX_ID_BYTES


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


def _ref(schema: str) -> Schema:
    return {"$ref": f"#/components/schemas/{schema}"}


_SUMMARY: Final = {name: told.schema for name, told in fields.SUMMARY.items()}
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
_ALWAYS: Final = tuple(name for name, told in fields.SUMMARY.items() if told.always)

SCHEMAS: Final[Mapping[str, Schema]] = {
    "NewTask": object_of({name: sent.schema for name, sent in fields.TERMS.items()}, "type"),
    "TaskSummary": object_of(_SUMMARY, *_ALWAYS),
    "Task": object_of({**_SUMMARY, **_PARTS}, *_ALWAYS, "payload"),
    "Error": object_of(
        {"error": object_of({"type": TEXT, "message": TEXT, "field": TEXT}, "type")}, "error"
    ),
    "Outcomes": object_of(
        {
            "outcomes": list_of(
                {
                    "oneOf": [
                        object_of(
                            {"task": _ref("TaskSummary"), "created": {"type": "boolean"}},
                            "task",
                            "created",
                        ),
                        _ref("Error"),
                    ]
                }
            )
        },
        "outcomes",
    ),
    "Listing": object_of(
        {
            "tasks": list_of(_ref("TaskSummary")),
            "damaged": list_of(object_of({"id": TEXT, "error": {"type": "object"}}, "id", "error")),
            "next": {**TEXT, "description": "The start of the page that follows"},
        },
        "tasks",
    ),
    "Stats": object_of(
        {
            **dict.fromkeys(fields.COUNTED, COUNT),
            "atLeast": {**list_of(TEXT), "description": "Counts that stopped at 10,000"},
            "newestWaitingSeconds": AGE,
            "oldestWaitingSeconds": AGE,
            "unknownTypes": {
                **list_of(TEXT),
                "description": "Of tasks that wait, those that no worker is known to have",
            },
        },
        *fields.COUNTED,
        "atLeast",
        "unknownTypes",
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
    "schema": {**SOME_TEXT, "maxLength": MAX_ID_BYTES},
    "description": "Becomes the task's id: a repeated request returns the first task",
}
_TRACEPARENT: Final[Schema] = {
    "name": "traceparent",
    "in": "header",
    "schema": TEXT,
    "description": "Of the trace that the tasks belong to; is it none, the tasks have none",
}


def _query(names: Mapping[str, Schema], *required: str) -> Iterator[Schema]:
    for each, schema in names.items():
        yield {"name": each, "in": "query", "required": each in required, "schema": schema}


_ID: Final = (_PATH_ID, *_query({"id": fields.GETTING["id"]}))
_PARAMETERS: Final[Mapping[str, Sequence[Schema]]] = {
    "putTask": (_IDEMPOTENCY_KEY, _TRACEPARENT),
    "putTasks": (_TRACEPARENT,),
    "getTask": (_PATH_ID, *_query(fields.GETTING)),
    "listTasks": tuple(_query(fields.LISTING, "status")),
    "cancelTask": _ID,
    "redriveTask": _ID,
}
_BODIES: Final[Mapping[str, Schema]] = {
    "putTask": _ref("NewTask"),
    "putTasks": object_of(
        {
            "tasks": {**list_of(_ref("NewTask")), "minItems": 1, "maxItems": fields.MOST_PUT},
        },
        "tasks",
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
"""The statuses that API Gateway answers by itself: not allowed, and more requests than the stage
lets through."""


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
