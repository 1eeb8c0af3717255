"""The end of a task, and the message that tells of it."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from lifoq.aws.dynamo_values import plain
from lifoq.basics import jsontext
from lifoq.ends.changes import (
    Record,
    attribute,
    has_ended,
    status,
    was_replaced,
    was_shed,
)
from lifoq.errors import DamagedTask
from lifoq.items.change import Item
from lifoq.items.packed import Large
from lifoq.items.schema import TERMINAL, Attribute
from lifoq.items.task import Task
from lifoq.items.task_error import TaskError

VERSION: Final = 1
"""The message's version. Fields may be added to it; what changes or goes makes another version."""
MAX_RESULT_BYTES: Final = 16 * 1024
"""The longest JSON of a result in a message. SNS takes 256 KB; ten messages go in one call."""


class Ending(StrEnum):
    """The way in which a task ended."""

    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    CANCELLED = "CANCELLED"
    SHED = "SHED"
    """The task waited beyond its deadline."""
    REPLACED = "REPLACED"
    """A newer put took its place: the end of what a state machine waits for, not of the task."""


_BY_STATUS: Final = {status.value: Ending(status.value) for status in TERMINAL}


@dataclass(frozen=True, kw_only=True)
class End:
    """The end of a task, as it is told to others. All times are epoch microseconds."""

    event_id: str
    """The end's own id: somebody who is told twice of one end is told the same id."""
    ending: Ending
    task_id: str
    task_type: str
    key: str | None = None
    attempts: int = 0
    enqueued_at: int | None = None
    first_taken_at: int | None = None
    taken_at: int | None = None
    ended_at: int | None = None
    """The time of the end, in epoch microseconds; for a task that was shed, its deadline."""
    result: Any = None
    error: TaskError | None = None
    task_token: str | None = None
    traceparent: str | None = None

    @classmethod
    def of(cls, item: Item, ending: Ending, *, event_id: str) -> "End":
        """Read from a task's item as its end left it; or, where it was shed, as it waited. Without
        the token, which the end may have taken away."""
        try:
            task = Task.from_item(item)
        except DamagedTask as damage:
            return cls._of_damaged(item, damage, ending, event_id=event_id)
        return cls(
            event_id=event_id,
            ending=ending,
            task_id=task.task_id,
            task_type=task.task_type,
            key=task.key,
            attempts=task.attempts,
            enqueued_at=task.enqueued_at,
            first_taken_at=task.first_taken_at,
            taken_at=task.taken_at,
            ended_at=task.expires_at if ending is Ending.SHED else task.finished_at,
            result=task.result,
            error=task.error,
            traceparent=task.traceparent,
        )

    @classmethod
    def _of_damaged(
        cls, item: Item, damage: DamagedTask, ending: Ending, *, event_id: str
    ) -> "End":
        """Return the end of a damaged task: it ended, too, and somebody may wait for it."""
        task_type = item.get(Attribute.TASK_TYPE)
        return cls(
            event_id=event_id,
            ending=ending,
            task_id=damage.task_id,
            task_type=task_type if isinstance(task_type, str) else "",
            error=TaskError(type="DamagedTask", message=damage.reason),
        )

    def attributes(self) -> dict[str, str]:
        """Return the attributes of the message: subscribers filter by them, and go on with the
        trace."""
        found = {
            "status": self.ending.value,
            "taskType": self.task_type,
            "taskKey": self.key,
            "traceparent": self.traceparent,
        }
        return {name: value for name, value in found.items() if value}

    def message(self, *, queue: str) -> str:
        """Return the end as JSON. Fields that have no value are left out."""
        document = {
            "version": VERSION,
            "id": self.event_id,
            "queue": queue,
            "taskId": self.task_id,
            "taskType": self.task_type,
            "taskKey": self.key,
            "traceparent": self.traceparent,
            "status": self.ending.value,
            "attempts": self.attempts,
            "enqueuedAt": self.enqueued_at,
            "firstTakenAt": self.first_taken_at,
            "takenAt": self.taken_at,
            "endedAt": self.ended_at,
            "error": self.error and {"type": self.error.type, "message": self.error.message},
        }
        told = {name: value for name, value in document.items() if value is not None}
        if self.ending is Ending.SUCCESS:
            told |= self._bounded_result()
        return jsontext.encode(told, "message")

    def _bounded_result(self) -> dict[str, Any]:
        """A part of a JSON text is no JSON: what is cut has another name, and is text."""
        if isinstance(self.result, Large):
            return {"resultBytes": self.result.size}
        text = jsontext.encode(self.result, "result")
        if jsontext.size(text) <= MAX_RESULT_BYTES:
            return {"result": self.result}
        beginning = text.encode()[:MAX_RESULT_BYTES].decode(errors="ignore")
        return {"resultBytes": jsontext.size(text), "resultBeginning": beginning}


def end_of(record: Record) -> End | None:
    """The end that a record of the table's stream shows."""
    if was_shed(record):
        image, ending = "OldImage", Ending.SHED
    elif has_ended(record):
        image, ending = "NewImage", _BY_STATUS[status(record, "NewImage") or ""]
    elif was_replaced(record):
        image, ending = "OldImage", Ending.REPLACED
    else:
        return None
    end = End.of(plain(record["dynamodb"][image]), ending, event_id=record["eventID"])
    # The end of a damaged item takes away all that made it too large.
    return replace(end, task_token=attribute(record, "OldImage", Attribute.TASK_TOKEN, "S"))
