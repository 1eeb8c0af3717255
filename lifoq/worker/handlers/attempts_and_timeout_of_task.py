"""The attempts that one task has, and the longest time that each of them may take.

The processor and the sweep both ask here, so that they never judge a task differently.
"""

from lifoq.basics.host import MICROSECONDS
from lifoq.items.schema import Preview
from lifoq.items.task import Task
from lifoq.store.candidate import Candidate
from lifoq.worker.handlers.registry import TaskType


def attempts_of(task: Task, kind: TaskType | None, *, by_default: int) -> int:
    """Return how many attempts a task has: its own number, or its type's, or the default.

    ``kind``: its type, if it has a handler here. ``by_default``: the worker's setting.
    """
    return task.max_attempts or (kind and kind.max_attempts) or by_default


def timeout_of(task: Task | Candidate | None, kind: TaskType, *, longest: float) -> float:
    """Return how long an attempt at a task may take: its own time, or its type's, or the longest.

    Without a task, at any of the type. ``longest``: the worker's ``task_timeout``, which is the
    default, and the most.
    """
    if not kind.timed:
        return longest
    own = None if task is None else task.preview.get(Preview.TIMEOUT)
    if isinstance(own, int):  # else the row is damaged, which its claim tells
        return min(longest, own / MICROSECONDS)
    return longest if kind.timeout is None else kind.timeout
