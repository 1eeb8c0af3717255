"""A line for each attempt that ended, as the writes of a queue's table tell it; and, the first time
for each kind of error, the traceback of the task's own code."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final

from lifoq.aws.dynamo_values import plain
from lifoq.basics.host import MICROSECONDS
from lifoq.basics.shown import harmless
from lifoq.basics.times import spoken
from lifoq.client.failure_kind import Kind
from lifoq.errors import DamagedTask
from lifoq.items.schema import Attribute, Status
from lifoq.items.task import Task
from lifoq_localcloud.tables import dynamodb_json
from lifoq_localcloud.tables.journal import Image, Journal, Write

MOST: Final = 1_000
"""Writes that one look takes from a table."""
_OUTCOMES: Final = {
    Status.SUCCESS: "✓ done",
    Status.FAILURE: "✗ failed",
    Status.CANCELLED: "– cancelled",
    Status.DELAYED: "↻ again",
    Status.PENDING: "↻ again",
}
_UNPACKED: Final = re.compile(r"(?<=File \")[^\"]*/assets/[0-9a-f]{64}/")
"""The place of a function's code: without it a path begins at the project's folder."""
_WITH_ERROR: Final = (Status.FAILURE, Status.DELAYED, Status.PENDING)


class AttemptLog:
    """Follows all queues' tables, those that are still to come among them."""

    def __init__(
        self, journals: Callable[[], Mapping[str, Journal]], attempts: Mapping[str, int]
    ) -> None:
        """``journals``: by their tables; ``attempts``: how many a task may have, by its type."""
        self._journals = journals
        self._attempts = attempts
        self._read: Counter[str] = Counter()
        self._told: set[Kind] = set()

    def news(self) -> Iterator[str]:
        """Yield the lines since the last call: one for each attempt that ended, and one for the
        tasks that were shed."""
        for table, journal in self._journals().items():
            writes = journal.read(self._read[table], MOST)
            self._read[table] += len(writes)
            for write in writes:
                if _ends_attempt(write):
                    yield from self._lines(write)
            if shed := [write for write in writes if _is_shed(write)]:
                yield f"{_clock(shed[-1].micros)}  shed: {len(shed)} that waited for too long"

    def _lines(self, write: Write) -> Iterator[str]:
        try:
            task, before = _task(write.new), _task(write.old)
        except DamagedTask as damage:
            yield f"{_clock(write.micros)}  ✗ {damage}"
            return
        took = spoken((write.micros - (before.taken_at or write.micros)) / MICROSECONDS)
        most = before.max_attempts or self._attempts.get(task.task_type)
        said = [took, f"attempt {before.attempts}" + (f" of {most}" if most else "")]
        if task.leases_lost > before.leases_lost:
            said.append("its worker was lost")
        if task.status is Status.DELAYED and task.due_at is not None:
            said.append(f"next in {spoken((task.due_at - write.micros) / MICROSECONDS)}")
        error = task.error if task.status in _WITH_ERROR else None
        if error is not None:
            said.append(f"{error.type}: {error.message}")
        outcome = _OUTCOMES[task.status]
        text = f"{outcome:<11} {task.task_type} {task.task_id}: {', '.join(said)}"
        yield f"{_clock(write.micros)}  {harmless(text)}"
        if error is not None and error.traceback is not None and Kind.of(task) not in self._told:
            self._told.add(Kind.of(task))
            yield harmless(_UNPACKED.sub("", error.traceback.rstrip()), lines=True)


def _ends_attempt(write: Write) -> bool:
    return _status(write.old) == Status.TAKEN and _status(write.new) in _OUTCOMES


def _is_shed(write: Write) -> bool:
    return write.new is None and _status(write.old) in (Status.PENDING, Status.DELAYED)


def _status(image: Image | None) -> str | None:
    found: dict[str, str] = (image or {}).get(Attribute.TASK_STATUS.value, {})
    return found.get("S")


def _task(image: Image | None) -> Task:
    """Return the task that an image shows. Raises DamagedTask."""
    return Task.from_item(plain(json.loads(dynamodb_json.encode(image))))


def _clock(micros: int) -> str:
    return f"{datetime.fromtimestamp(micros / MICROSECONDS).astimezone():%H:%M:%S}"
