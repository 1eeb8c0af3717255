"""The fields that go in and out over HTTP, each once: its name, what the library calls it or where
it is read, and its schema. Requests, answers and the OpenAPI document go by them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lifoq.basics import times
from lifoq.basics.host import MICROSECONDS
from lifoq.basics.numbers import LONGEST
from lifoq.client.listing import LISTED
from lifoq.ends.end import Ending
from lifoq.items import traceparent
from lifoq.items.schema import (
    MAX_ID_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_TASK_KEY_BYTES,
    MAX_TYPE_BYTES,
    Status,
)
from lifoq.items.task import Task
from lifoq.tables.stats import QueueStats
from lifoq.tables.table import Count

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
SOME_TEXT: Final[Schema] = {**TEXT, "minLength": 1}
TIME: Final[Schema] = {"type": "string", "format": "date-time"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
AGE: Final[Schema] = {"type": ["number", "null"], "minimum": 0}

MOST_PUT: Final = 100
"""Tasks of one request."""
MOST_LISTED: Final = 100
LONGEST_WAIT: Final = 20
"""Seconds. API Gateway ends an HTTP API's request after 30."""


def name(bytes_: int, meaning: str) -> Schema:
    return {**SOME_TEXT, "maxLength": bytes_, "description": meaning}


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def object_of(properties: Mapping[str, Schema], *required: str) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


# What comes in.


@dataclass(frozen=True)
class Sent:
    """A field of a request."""

    library: str
    """The library's name of the field."""
    schema: Schema


def _seconds(meaning: str, **least: float) -> Schema:
    return {"type": ["number", "null"], **least, "maximum": LONGEST, "description": meaning}


TERMS: Final[Mapping[str, Sent]] = {
    "type": Sent(
        "task_type",
        name(MAX_TYPE_BYTES, f"Which task type runs it; at most {MAX_TYPE_BYTES} bytes"),
    ),
    "payload": Sent(
        "payload",
        {
            "description": f"Any JSON value of at most {MAX_PAYLOAD_BYTES} bytes; where the queue "
            "has large_payloads, of as many as Lambda takes",
            "default": None,
        },
    ),
    "id": Sent(
        "task_id",
        name(
            MAX_ID_BYTES,
            f"Of your own, at most {MAX_ID_BYTES} bytes: a second put of it returns the first task",
        ),
    ),
    "key": Sent(
        "key",
        name(MAX_TASK_KEY_BYTES, f"Whom or what it is for; at most {MAX_TASK_KEY_BYTES} bytes"),
    ),
    "deadline": Sent(
        "deadline",
        _seconds(
            "Seconds until it is shed; at most the queue's own, which is the default",
            exclusiveMinimum=0,
        ),
    ),
    "delay": Sent("delay", _seconds("Seconds until it enters the queue", minimum=0)),
    "headStart": Sent(
        "head_start",
        _seconds(
            "Seconds by which it goes ahead: it stands where it would if it had come so much "
            "later; at most its deadline",
            minimum=0,
        ),
    ),
    "ifExists": Sent(
        "if_exists",
        {
            "type": "string",
            "enum": ["keep", "replace"],
            "default": "keep",
            "description": "What becomes of a task that has the id: of several puts, the first "
            "counts, or the newest",
        },
    ),
    "traceparent": Sent(
        "traceparent",
        {
            "type": "string",
            "pattern": f"^{traceparent.FORM}$",
            "description": "Of the trace it belongs to, as the W3C writes it; by default the "
            "header's",
        },
    ),
}
"""The terms that a task to be put can have."""
FILTERS: Final[Mapping[str, Sent]] = {
    "type": Sent("task_type", SOME_TEXT),
    "key": Sent("key", SOME_TEXT),
    "errorType": Sent("error_type", SOME_TEXT),
}
"""By what tasks are listed, beside their status."""
LISTING: Final[Mapping[str, Schema]] = {
    "status": {"type": "string", "enum": [status.value for status in LISTED]},
    **{name: sent.schema for name, sent in FILTERS.items()},
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED},
    "start": {**SOME_TEXT, "description": "The next of the page before"},
}
"""Query parameters of a listing; the status is required."""
GETTING: Final[Mapping[str, Schema]] = {
    "id": name(MAX_ID_BYTES, "The task's id, of any characters"),
    "wait": {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT},
}


# What goes out.


@dataclass(frozen=True)
class Told:
    """A field of an answer about a task."""

    read: Callable[[Task, int], Any]
    """Its value for a task, at a time in epoch microseconds. What is None is left out."""
    schema: Schema
    always: bool = False


def _status(task: Task, now: int) -> str:
    """A task whose deadline passed while it waited is shed; DynamoDB deletes it later."""
    return Ending.SHED if task.waiting and task.expired(now) else task.status.value


def _time(attribute: str, meaning: str | None = None, *, always: bool = False) -> Told:
    schema = TIME if meaning is None else {**TIME, "description": meaning}
    return Told(lambda task, _: iso(getattr(task, attribute)), schema, always)


SUMMARY: Final[Mapping[str, Told]] = {
    "id": Told(lambda task, _: task.task_id, TEXT, always=True),
    "type": Told(lambda task, _: task.task_type, TEXT, always=True),
    "status": Told(_status, {"type": "string", "enum": [*Status, Ending.SHED]}, always=True),
    "key": Told(lambda task, _: task.key, TEXT),
    "traceparent": Told(lambda task, _: task.traceparent, TEXT),
    "headStart": Told(
        lambda task, _: task.head_start / MICROSECONDS or None,
        {"type": "number", "description": "Seconds by which it goes ahead, if any"},
    ),
    "attempts": Told(lambda task, _: task.attempts, COUNT, always=True),
    "enqueuedAt": _time("enqueued_at", always=True),
    "deadline": _time("expires_at", always=True),
    "dueAt": _time("due_at", "When a DELAYED one enters the queue"),
    "takenAt": _time("taken_at"),
    "cancelAskedAt": _time("cancel_asked", "When it was cancelled while it ran"),
    "finishedAt": _time("finished_at"),
    "error": Told(
        lambda task, _: task.error and {"type": task.error.type, "message": task.error.message},
        object_of({"type": TEXT, "message": TEXT}, "type", "message"),
    ),
}
"""A task without what may be large."""
COUNTED: Final[Mapping[str, Callable[[QueueStats], Count]]] = {
    "pending": lambda found: found.live,
    "delayed": lambda found: found.delayed,
    "taken": lambda found: found.taken,
    "failure": lambda found: found.failure,
}
"""The kinds of tasks that are counted, and the number of each in the queue's stats."""


def iso(micros: int | None) -> str | None:
    return None if micros is None else times.iso(micros)
