"""Answers of the HTTP API, as JSON values."""

from typing import Any

from lifoq.api.fields import COUNTED, SUMMARY
from lifoq.client.listing import Listing
from lifoq.errors import (
    DamagedTask,
    InvalidInput,
    LifoqError,
    StoreUnavailable,
    TaskNotFound,
    WrongStatus,
)
from lifoq.health.statistics import QueueStats
from lifoq.items.packed import Large
from lifoq.items.schema import Status
from lifoq.items.task import Task
from lifoq.store.puts import PutOutcome


class KeyReused(LifoqError):
    """An Idempotency-Key that came with another task before."""

    def __init__(self, task_id: str) -> None:
        super().__init__(
            f"the Idempotency-Key {task_id!r} has come with another type or payload before: "
            "send each task with a key of its own"
        )


STATUSES: dict[type[LifoqError], int] = {
    InvalidInput: 400,
    TaskNotFound: 404,
    WrongStatus: 409,
    DamagedTask: 409,
    KeyReused: 422,
    StoreUnavailable: 503,
}
"""The HTTP status of each error. An error of another class is the queue's own fault: 500."""


def summary(task: Task, *, now: int) -> dict[str, Any]:
    """A task without what may be large; what it does not have is left out."""
    found = {name: told.read(task, now) for name, told in SUMMARY.items()}
    return {name: value for name, value in found.items() if value is not None}


def whole(task: Task, *, now: int) -> dict[str, Any]:
    """Return a task with its payload and its result."""
    found = {**summary(task, now=now), **_part("payload", task.payload)}
    if task.status is Status.SUCCESS:
        found |= _part("result", task.result)
    return found


def _part(name: str, value: Any) -> dict[str, Any]:
    """Return a value as JSON. One that was not read from the queue's bucket is told by its size."""
    return {name: None, f"{name}Bytes": value.size} if isinstance(value, Large) else {name: value}


def listing(found: Listing, *, now: int) -> dict[str, Any]:
    """Return a page of tasks."""
    page: dict[str, Any] = {"tasks": [summary(task, now=now) for task in found.tasks]}
    if found.damaged:
        page["damaged"] = [
            {"id": each.task_id, "error": error(each)["error"]} for each in found.damaged
        ]
    return page if found.next is None else {**page, "next": found.next}


def outcome(put: PutOutcome, *, now: int) -> dict[str, Any]:
    """Return the outcome of one of several puts, as JSON."""
    if put.task is None:
        known = isinstance(put.error, LifoqError)
        return error(put.error) if known else {"error": {"type": "Unconfirmed"}}
    return {"task": summary(put.task, now=now), "created": put.created}


def stats(found: QueueStats) -> dict[str, Any]:
    """Return the numbers of a queue."""
    counts = {name: count(found) for name, count in COUNTED.items()}
    return {
        **{name: count.value for name, count in counts.items()},
        "atLeast": [name for name, count in counts.items() if count.capped],
        "newestWaitingSeconds": found.newest_waiting_seconds,
        "oldestWaitingSeconds": found.oldest_waiting_seconds,
        "unknownTypes": found.unknown_types,
    }


def error(refusal: Exception | None) -> dict[str, Any]:
    """Return an error with its type and message; of an InvalidInput with the field."""
    found = {"type": type(refusal).__name__, "message": str(refusal)}
    if isinstance(refusal, InvalidInput):
        found["field"] = refusal.field
    return {"error": found}
