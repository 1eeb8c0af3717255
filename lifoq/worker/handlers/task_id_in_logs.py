"""Log records of task code, which carry the id of its task, or the ids of a batch's tasks."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from lifoq.basics.shown import harmless

FIELD: Final = "taskId"
_TASK: ContextVar[str | None] = ContextVar("the ids of the tasks whose handler runs", default=None)


class Formatter(logging.Formatter):
    """Lines for people, with the id of the task, which no terminal obeys."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, with control characters as text."""
        task_id = getattr(record, FIELD, None)
        told = "" if task_id is None else f" ({task_id})"
        return harmless(super().format(record) + told, lines=True)


def current() -> str | None:
    """Return the id of the task whose handler runs in this thread, or a batch's ids with a comma
    between two; None outside of handlers."""
    return _TASK.get()


@contextmanager
def handling(task_ids: Sequence[str]) -> Iterator[None]:
    """Have log records carry the tasks' ids, with a comma between two, in this thread, and in the
    async handler that it waits for."""
    token = _TASK.set(",".join(task_ids))
    try:
        yield
    finally:
        _TASK.reset(token)


def with_task_id(record: logging.LogRecord) -> bool:
    """Give the record a field ``taskId``, unless task code gave it one, and keep every record."""
    task_id = _TASK.get()
    if task_id is not None and not hasattr(record, FIELD):
        setattr(record, FIELD, task_id)
    return True


def install() -> None:
    """Add the filter to all handlers that the root logger has by now."""
    for handler in logging.getLogger().handlers:
        handler.addFilter(with_task_id)
