"""Printed lines of task code, which carry the time and the id of their task.

Loaded by a function's own process, too, beside which nothing of this package can be imported.
"""

import json
import sys
import threading
from datetime import UTC, datetime
from typing import Any


class Printed:
    """A standard output. A line that a handler prints becomes a record, as its log lines are; all
    else passes as it is."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._begun = threading.local()
        """Values of each thread: ``line``, the task's id and the beginning of a line without an
        end."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        task_id = current_task()
        before, begun = getattr(self._begun, "line", (task_id, ""))
        if before is not None and before != task_id:  # its handler is over
            self._stream.write(as_record(begun, before) + "\n")
            begun = ""
        if task_id is None:
            self._begun.__dict__.pop("line", None)
            self._stream.write(text)
            return len(text)
        *whole, rest = (begun + text).split("\n")
        for line in whole:
            self._stream.write(as_record(line, task_id) + "\n")
        if rest:
            self._begun.line = (task_id, rest)
        else:
            self._begun.__dict__.pop("line", None)
        return len(text)


def as_record(line: str, task_id: str) -> str:
    """Return the line as a JSON record; a record of a logger, or of metrics, as it is."""
    if line.startswith("{"):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = {}
        if "_aws" in found or {"level", "message"} <= found.keys():
            return line
    now = datetime.now(UTC).isoformat(sep=" ", timespec="milliseconds")
    return json.dumps({"message": line, "taskId": task_id, "timestamp": now})


def current_task() -> str | None:
    """Return the id of the task whose handler runs here; None outside of handlers."""
    log = sys.modules.get("lifoq.worker.handlers.task_id_in_logs")
    found: str | None = log.current() if log is not None else None
    return found
