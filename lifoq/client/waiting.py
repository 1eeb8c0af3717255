"""Wait for tasks to end: one, or many together."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.errors import (
    DamagedTask,
    InvalidInput,
    LifoqError,
    TaskCancelled,
    TaskNotFound,
    TaskShed,
    WaitTimeout,
)
from lifoq.items.put_terms import check_name
from lifoq.items.schema import MAX_KEY_BYTES, Status
from lifoq.items.task import Task
from lifoq.items.task_error import TaskError, TaskFailed
from lifoq.store.store import Store

FIRST_POLL: Final = 0.1
"""Seconds between the first two polls of a wait; it grows by half each time."""
CALL_POLL: Final = 1.0
"""Seconds up to which that grows at first: so late an end may be seen while somebody waits."""
LATE: Final = 1 / 20
"""The part of the time waited so far that the pause between two polls may be, where that is
longer."""
LAST_POLL: Final = 5.0
"""Seconds that it is at the most: each poll costs a read of each task that has not ended."""
MOST_IDS: Final = 1_000
"""Ids of one ``get_many`` or ``wait_many``: ten calls of DynamoDB."""

Look = Callable[[Sequence[str]], Mapping[str, Task | DamagedTask]]
"""Reads tasks by their ids; leaves out ids that have none."""
Unended = Callable[[Sequence[str]], Collection[str]]
"""Returns those of the ids whose tasks have certainly not ended, by less than whole items."""


@dataclass(frozen=True, kw_only=True)
class WaitOutcome:
    """The outcome for one task of a ``Queue.wait_many``: how it ended, or that it has not.

    Examples:
        >>> put = queue.put("device.check", task_id="d-17")
        >>> task = queue.cancel("d-17")
        >>> (outcome,) = queue.wait_many(["d-17"], timeout=1)
        >>> outcome.task.status, outcome.error
        (<Status.CANCELLED: 'CANCELLED'>, TaskCancelled("task 'd-17' was cancelled"))
    """

    task_id: str
    """The id of the task."""
    task: Task | None
    """The task as it was read last, with its result. None if nothing was read that is a task."""
    error: LifoqError | None = None
    """The error that ``Queue.wait`` would raise; None if the task has succeeded."""

    def result(self) -> Any:
        """Return the result of the task, or raise ``error``.

        Raises:
            LifoqError: The ``error``, if there is one.

        Examples:
            >>> (outcome,) = queue.wait_many(["nobody"], timeout=1)
            >>> outcome.result()
            Traceback (most recent call last):
            lifoq.errors.TaskNotFound: task 'nobody' is not in the queue: it was never put, ...
        """
        if self.error is not None:
            raise self.error
        return None if self.task is None else self.task.result


def check_ids(task_ids: Iterable[str]) -> list[str]:
    """Return the ids, each once. Raises InvalidInput where one is none, or there are too many."""
    if isinstance(task_ids, str) or not isinstance(task_ids, Iterable):
        raise InvalidInput("task_ids", task_ids, "must be an iterable of ids, such as a list")
    asked = list(task_ids)
    for task_id in asked:
        check_name("task_id", task_id, MAX_KEY_BYTES)
    asked = list(dict.fromkeys(asked))
    if len(asked) > MOST_IDS:
        problem = f"must be ids of {MOST_IDS:,} tasks at the most; ask in parts"
        raise InvalidInput("task_ids", f"{len(asked):,} ids", problem)
    return asked


def whole_tasks(
    task_ids: Sequence[str], *, look: Look, store_of: Callable[[str], Store]
) -> dict[str, Task | None]:
    """Return tasks with all their values by their ids. Raises DamagedTask."""
    found, tasks = look(task_ids), dict[str, Task | None]()
    for task_id in task_ids:
        task = found.get(task_id)
        if isinstance(task, DamagedTask):
            raise task
        tasks[task_id] = None if task is None else store_of(task_id).whole(task)
    return tasks


def pauses() -> Iterator[float]:
    """Yield the seconds between two polls of a wait, without an end."""
    pause, waited = FIRST_POLL, 0.0
    while True:
        yield pause
        waited += pause
        pause = min(LAST_POLL, max(min(CALL_POLL, pause * 1.5), LATE * waited))


def outcomes(
    task_ids: Sequence[str],
    *,
    timeout: float,
    look: Look,
    unended: Unended,
    store_of: Callable[[str], Store],
    host: Host,
) -> Iterator[WaitOutcome]:
    """Yield the outcome of each task as it ends, and of those that have not after ``timeout``
    seconds. ``store_of``: the store of an id. The first and the last poll read whole tasks, which
    are the answer; the polls between them only look for those that have ended, and read these."""
    until = host.now() + microseconds(timeout)
    left: dict[str, Task | None] = dict.fromkeys(task_ids)
    is_first = True
    for pause in pauses():
        is_last = host.now() >= until
        still = () if is_first or is_last else unended(list(left))
        asked = [task_id for task_id in left if task_id not in still]
        found = look(asked) if asked else {}
        for task_id in asked:
            task, before = found.get(task_id), left[task_id]
            outcome = ended_as(task_id, task, before, store_of(task_id))
            if outcome is not None:
                del left[task_id]
                yield outcome
            elif isinstance(task, Task):
                left[task_id] = task
        is_first = False
        if is_last or not left:
            break
        if (rest := (until - host.now()) / MICROSECONDS) > 0:
            host.sleep(min(pause, rest))
    for task_id, last in left.items():
        yield WaitOutcome(task_id=task_id, task=last, error=WaitTimeout(task_id, timeout))


def ended_as(
    task_id: str, task: Task | DamagedTask | None, before: Task | None, store: Store
) -> WaitOutcome | None:
    """Return how a task has ended; None if it has not. ``before``: the task as it was read last."""
    if task is None:
        gone = TaskNotFound(task_id) if before is None else TaskShed(task_id)
        return WaitOutcome(task_id=task_id, task=before, error=gone)
    try:
        if isinstance(task, DamagedTask):
            raise task
        if task.status is Status.SUCCESS:
            return WaitOutcome(task_id=task_id, task=store.whole(task, "result"))
    except DamagedTask as damage:
        return WaitOutcome(task_id=task_id, task=before, error=damage)
    error = _bad_end(task, store.now())
    return None if error is None else WaitOutcome(task_id=task_id, task=task, error=error)


def _bad_end(task: Task, now: int) -> LifoqError | None:
    if task.status is Status.FAILURE:
        unknown = TaskError(type="Unknown", message="no error was kept")
        return TaskFailed(task.task_id, task.error or unknown)
    if task.status is Status.CANCELLED:
        return TaskCancelled(task.task_id)
    return TaskShed(task.task_id) if task.waiting and task.expired(now) else None
