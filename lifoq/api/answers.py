"""What goes out, as JSON values."""

from datetime import UTC, datetime
from typing import Any

from lifoq.client.listing import Listing
from lifoq.errors import (
    DamagedTask,
    InvalidInput,
    LifoqError,
    StoreUnavailable,
    TaskNotFound,
    WrongStatus,
)
from lifoq.items.packed import Large
from lifoq.items.schema import Status
from lifoq.items.task import Task
from lifoq.tables.puts import PutOutcome
from lifoq.tables.stats import QueueStats

SHED = "SHED"
"""The status of a task whose deadline passed while it waited; DynamoDB deletes it later."""


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
"""Which HTTP status says so. What is none of these is the queue's own fault: 500."""


def summary(task: Task, *, now: int) -> dict[str, Any]:
    """A task without what may be large; what it does not have is left out."""
    shed = task.waiting and task.expired(now)
    found = {
        "id": task.task_id,
        "type": task.task_type,
        "status": SHED if shed else task.status.value,
        "key": task.key,
        "traceparent": task.traceparent,
        "attempts": task.attempts,
        "enqueuedAt": _time(task.enqueued_at),
        "deadline": _time(task.expires_at),
        "dueAt": _time(task.due_at),
        "takenAt": _time(task.taken_at),
        "cancelAskedAt": _time(task.cancel_asked),
        "finishedAt": _time(task.finished_at),
        "error": task.error and {"type": task.error.type, "message": task.error.message},
    }
    return {name: value for name, value in found.items() if value is not None}


def whole(task: Task, *, now: int) -> dict[str, Any]:
    found = {**summary(task, now=now), **_part("payload", task.payload)}
    if task.status is Status.SUCCESS:
        found |= _part("result", task.result)
    return found


def _part(name: str, value: Any) -> dict[str, Any]:
    """What was not read from the queue's bucket is told by its size."""
    return {name: None, f"{name}Bytes": value.size} if isinstance(value, Large) else {name: value}


def listing(found: Listing, *, now: int) -> dict[str, Any]:
    page: dict[str, Any] = {"tasks": [summary(task, now=now) for task in found.tasks]}
    if found.damaged:
        page["damaged"] = [
            {"id": each.task_id, "error": error(each)["error"]} for each in found.damaged
        ]
    return page if found.next is None else {**page, "next": found.next}


def outcome(put: PutOutcome, *, now: int) -> dict[str, Any]:
    """What became of one of several puts, as JSON."""
    if put.task is None:
        known = isinstance(put.error, LifoqError)
        return error(put.error) if known else {"error": {"type": "Unconfirmed"}}
    return {"task": summary(put.task, now=now), "created": put.created}


def stats(found: QueueStats) -> dict[str, Any]:
    counts = {
        "pending": found.live,
        "delayed": found.delayed,
        "taken": found.taken,
        "failure": found.failure,
    }
    return {
        **{name: count.value for name, count in counts.items()},
        "atLeast": [name for name, count in counts.items() if count.capped],
        "newestWaitingSeconds": found.newest_waiting_seconds,
        "oldestWaitingSeconds": found.oldest_waiting_seconds,
        "unknownTypes": found.unknown_types,
    }


def error(refusal: Exception | None) -> dict[str, Any]:
    found = {"type": type(refusal).__name__, "message": str(refusal)}
    if isinstance(refusal, InvalidInput):
        found["field"] = refusal.field
    return {"error": found}


def _time(micros: int | None) -> str | None:
    """ISO 8601, UTC. A time beyond the calendar (of a damaged item) is its last moment."""
    if micros is None:
        return None
    seconds = min(micros / 1e6, datetime.max.replace(tzinfo=UTC).timestamp() - 1)
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")[:-6] + "Z"
