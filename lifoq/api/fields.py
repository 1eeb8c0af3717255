"""The fields that go in and out over HTTP, each once: its name, what the library calls it or where
it is read, and its schema. Requests, answers and the OpenAPI document go by them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lifoq.basics import times
from lifoq.basics.numbers import LONGEST, MOST
from lifoq.client.listing import LISTED
from lifoq.ends.end import Ending
from lifoq.health.statistics import QueueStats
from lifoq.items import put_terms, traceparent
from lifoq.items.put_terms import (
    Choice,
    Count,
    Door,
    Json,
    Seconds,
    SecondsOrMoment,
    Term,
    Text,
    Trace,
)
from lifoq.items.schema import MAX_ID_BYTES, Status
from lifoq.items.task import Task
from lifoq.store.table_protocol import Count as Counted

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
SOME_TEXT: Final[Schema] = {**TEXT, "minLength": 1}
TIME: Final[Schema] = {"type": "string", "format": "date-time"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
AGE: Final[Schema] = {"type": ["number", "null"], "minimum": 0}

MOST_PUT: Final = 100
"""Tasks of one request."""
MOST_LISTED: Final = 100
"""Tasks of one list, at the most."""
LONGEST_WAIT: Final = 20
"""Seconds for which a request may wait for a task: API Gateway ends a request after 30."""


def name(bytes_: int, meaning: str) -> Schema:
    """Return the schema of a text of at most ``bytes_``."""
    return {**SOME_TEXT, "maxLength": bytes_, "description": meaning}


def list_of(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def object_of(properties: Mapping[str, Schema], *required: str) -> Schema:
    """Return the schema of an object; ``required`` names fields that must be there."""
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


def _sent(term: Term) -> Schema:
    """Return the schema of a term in a request."""
    unit, schema = "", {}
    match term.rule:
        case Text(most=most):
            unit, schema = f"At most {most} bytes.", {**SOME_TEXT, "maxLength": most}
        case Seconds(zero=True):
            unit, schema = "Seconds.", {"type": ["number", "null"], "minimum": 0}
        case Seconds() | SecondsOrMoment():
            unit, schema = "Seconds.", {"type": ["number", "null"], "exclusiveMinimum": 0}
        case Count():
            schema = {"type": ["integer", "null"], "minimum": 1, "maximum": MOST}
        case Choice(choices=choices):
            schema = {**TEXT, "enum": list(choices), "default": term.default}
        case Trace():
            schema = {**TEXT, "pattern": f"^{traceparent.FORM}$"}
        case Json():
            unit, schema = f"{term.rule.words.capitalize()}.", {"default": term.default}
    if unit == "Seconds.":
        schema["maximum"] = LONGEST
    return {**schema, "description": f"{term.meaning} {unit}".rstrip()}


TERMS: Final[Mapping[str, Sent]] = {
    term.at(Door.HTTP): Sent(term.name, _sent(term)) for term in put_terms.at(Door.HTTP)
}
"""The terms that a task to be put can have."""
FILTERS: Final[Mapping[str, Sent]] = {
    "type": Sent("task_type", SOME_TEXT),
    "key": Sent("key", SOME_TEXT),
    "errorType": Sent("error_type", SOME_TEXT),
}
"""The terms, beside their status, that tasks are listed by."""
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
    """Reads the field's value of a task, at a time in epoch microseconds. A value of None is left
    out."""
    schema: Schema
    always: bool = False


def _status(task: Task, now: int) -> str:
    """A task whose deadline passed while it waited is shed; DynamoDB deletes it later."""
    return Ending.SHED if task.waiting and task.expired(now) else task.status.value


def _time(attribute: str, meaning: str | None = None, *, always: bool = False) -> Told:
    schema = TIME if meaning is None else {**TIME, "description": meaning}
    return Told(lambda task, _: iso(getattr(task, attribute)), schema, always)


def _term(term: Term) -> Told:
    kinds = {Seconds: "number", Count: "integer"}
    schema = {"type": kinds.get(type(term.rule), "string"), "description": term.sentence}
    return Told(lambda task, _: task.terms.get(term), schema)


SUMMARY: Final[Mapping[str, Told]] = {
    "id": Told(lambda task, _: task.task_id, TEXT, always=True),
    "type": Told(lambda task, _: task.task_type, TEXT, always=True),
    "status": Told(_status, {"type": "string", "enum": [*Status, Ending.SHED]}, always=True),
    **{term.at(Door.HTTP): _term(term) for term in put_terms.SHOWN},
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
COUNTED: Final[Mapping[str, Callable[[QueueStats], Counted]]] = {
    "pending": lambda found: found.live,
    "delayed": lambda found: found.delayed,
    "taken": lambda found: found.taken,
    "failure": lambda found: found.failure,
}
"""The kinds of tasks that are counted, and the number of each in the queue's stats."""


def iso(micros: int | None) -> str | None:
    """Return epoch microseconds as ISO 8601; None stays None."""
    return None if micros is None else times.iso(micros)
