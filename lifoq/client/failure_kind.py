"""The kinds of failures: failures of one kind have one task type, and errors that differ only in
numbers."""

import re
from dataclasses import dataclass
from typing import Final

from lifoq.items.task import Task
from lifoq.items.task_error import TaskError

_VARIES: Final = re.compile(
    r"""
    (?<!\w)'(?![A-Za-z_]+')[^']*'(?!\w)      # what is quoted, and is no name of code
    | "(?![A-Za-z_]+")[^"]*"
    | https?://\S+
    | \b[0-9a-fA-F-]*\d[0-9a-fA-F-]{7,}\b    # ids
    | \d+(?:[.,:]\d+)*
    """,
    re.VERBOSE,
)
LONGEST: Final = 120
"""Characters of a shape."""
UNKNOWN: Final = TaskError(type="Unknown", message="no error was kept")


def shape(message: str) -> str:
    """A message without what differs from task to task: ``no device … answers``."""
    return _VARIES.sub("…", " ".join(message.split()))[:LONGEST]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The marks that the failures of one group share."""

    task_type: str
    error_type: str
    shape: str

    @classmethod
    def of(cls, task: Task) -> "Kind":
        """Return the kind of a task's failure."""
        error = task.error or UNKNOWN
        return cls(task_type=task.task_type, error_type=error.type, shape=shape(error.message))
