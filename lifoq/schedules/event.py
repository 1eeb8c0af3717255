"""The event with which a schedule invokes the function that puts its task.

Whoever makes a schedule writes it with ``event_of``; the function reads it back with ``new_task``.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lifoq.basics import jsontext
from lifoq.errors import InvalidInput
from lifoq.items.put_terms import Door, at
from lifoq.items.task import IfExists, NewTask

LOAD: Final = "load"
TERMS: Final = {term.at(Door.RECURRING): term.name for term in at(Door.RECURRING)}
"""The library's name of each term of the event."""
SCHEDULED_TIME: Final = "<aws.scheduler.scheduled-time>"
"""EventBridge Scheduler puts the time of the invocation in its place."""


def task_id(name: str, if_exists: IfExists) -> str:
    """Return the id of each task of a schedule, which has its time, so that a schedule that fires
    twice puts one task; of all its tasks together, where the newest counts."""
    return name if if_exists == "replace" else f"{name}-{SCHEDULED_TIME}"


def event_of(task: NewTask) -> dict[str, Any]:
    """Return the event of a task; what it leaves at its default is not said, but its payload is."""
    return {
        event_name: _plain(value)
        for event_name, name in TERMS.items()
        if (value := getattr(task, name)) != _DEFAULTS[name] or name == "payload"
    }


def new_task(event: Mapping[str, Any]) -> NewTask:
    """Return the task that the event puts, or of which it makes load. InvalidInput."""
    known = (*TERMS, LOAD)
    if unknown := sorted(set(event) - set(known)):
        raise InvalidInput("event", unknown, f"are unknown; known are {', '.join(known)}")
    terms = {TERMS[name]: value for name, value in event.items() if name in TERMS}
    return NewTask(**{"task_type": "", **terms})


def filled(task: NewTask, *, scheduled: datetime) -> NewTask:
    """Return a schedule's task as it is put at a time: by its event, as on AWS."""
    text = jsontext.encode(event_of(task), "payload")
    return new_task(json.loads(fill(text, {"scheduled-time": written(scheduled)})))


def written(moment: datetime) -> str:
    """Return a time as EventBridge Scheduler writes it."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def fill(text: str, attributes: Mapping[str, str]) -> str:
    """Return an event with Scheduler's context attributes in their places."""
    for name, value in attributes.items():
        text = text.replace(f"<aws.scheduler.{name}>", value)
    return text


_DEFAULTS: Final = {term.name: term.default for term in at(Door.RECURRING)}


def _plain(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else value
