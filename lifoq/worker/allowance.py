"""What one task is allowed: how many attempts it has, and how long each of them may take.

The processor and the sweep both ask here, so that they never judge a task differently.
"""

from lifoq.items.task import Task
from lifoq.tables.candidate import Candidate
from lifoq.worker.registry import TaskType


def attempts(task: Task, kind: TaskType | None, *, by_default: int) -> int:
    """Return how many attempts a task has.

    ``kind``: its type, if it has a handler here. ``by_default``: the worker's setting.
    """
    return (kind and kind.max_attempts) or by_default


def seconds(task: Task | Candidate | None, kind: TaskType, *, longest: float) -> float:
    """Return how long an attempt at a task may take; without a task, at any of its type.

    ``longest``: the worker's ``task_timeout``, which is the default and the most.
    """
    if not kind.timed or kind.timeout is None:
        return longest
    return kind.timeout
