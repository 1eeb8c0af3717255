"""The outcome of an attempt, as a value: decided first, then written."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lifoq.basics import jsontext
from lifoq.basics.host import microseconds
from lifoq.errors import Busy, Fail, InvalidInput, Retry
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskError
from lifoq.store.candidate import Candidate
from lifoq.store.worker_writes import MAX_FOLLOW_UPS, AttemptWrites
from lifoq.worker.handlers.backoff import Backoff

SOON: Final = 0.001
"""Seconds until a retry is due whose time has come while it could not be written."""
TOO_LATE: Final = "not tried again, since its deadline would have passed by then: "


@dataclass(frozen=True, kw_only=True)
class Done:
    """The value that a handler returns to chain tasks: its result, and tasks that are put in the
    same transaction as its success. All of them are put, exactly once.

    Examples:
        >>> from lifoq import Done, NewTask, task
        >>> @task("order.pay")
        ... def pay(payload, context):
        ...     ship = NewTask(task_type="order.ship", payload=payload)
        ...     return Done(result={"paid": True}, follow_ups=[ship])
    """

    result: Any = None
    """The result, a JSON value."""
    follow_ups: Sequence[NewTask] = ()
    """The tasks to put: 99 at the most, and 4 MB in all. One whose ``task_id`` is in use is left
    out."""


@dataclass(frozen=True, kw_only=True)
class Succeed:
    """The outcome of an attempt that did the work: its result as JSON, and the tasks to put."""

    result: str
    follow_ups: Sequence[NewTask]

    def write(self, store: AttemptWrites, task: Task) -> Candidate | None:
        """Write the success together with the follow-ups."""
        return store.succeed(task, self.result, self.follow_ups)


@dataclass(frozen=True, kw_only=True)
class TryAgain:
    """The outcome of an attempt after which the task waits, and is tried again."""

    error: TaskError
    delay: float
    """Seconds."""
    counts: bool = True
    """True if the attempt counts towards the task's ``max_attempts``."""
    alone: bool = False
    """True if the task shares no call of its handler with others from now on."""

    def write(self, store: AttemptWrites, task: Task) -> Candidate | None:
        """The row, where the task waits in the queue again at once."""
        return store.retry(task, self.error, delay=self.delay, counts=self.counts, alone=self.alone)


@dataclass(frozen=True, kw_only=True)
class GiveUp:
    """The outcome of an attempt after which no other follows: FAILURE."""

    error: TaskError

    def write(self, store: AttemptWrites, task: Task) -> Candidate | None:
        """Write the failure."""
        return store.fail(task, self.error)


@dataclass(frozen=True, kw_only=True)
class Cancel:
    """The outcome of an attempt at a task that somebody has cancelled; ``error``: what came of the
    attempt, if it was not that it stopped."""

    error: TaskError | None

    def write(self, store: AttemptWrites, task: Task) -> Candidate | None:
        """Write the end of the cancelled task."""
        return store.end_cancelled(task, self.error)


Outcome = Succeed | TryAgain | GiveUp | Cancel


def later(outcome: Outcome, seconds: float, *, task: Task, now: int) -> Outcome:
    """An outcome, written so many seconds later, at epoch microseconds ``now``: a retry stays
    due when it was to be, unless its deadline has passed by now."""
    if not isinstance(outcome, TryAgain) or outcome.delay == 0:
        return outcome
    left = max(SOON, outcome.delay - seconds)
    if outcome.counts and now + microseconds(left) >= task.expires_at:
        return _too_late(outcome.error)
    return replace(outcome, delay=left)


def returned(value: Any) -> Outcome:
    """The outcome of a handler that returned ``value``."""
    done = value if isinstance(value, Done) else Done(result=value)
    try:
        _check_follow_ups(done.follow_ups)
        result = jsontext.encode(done.result, "result")
    except InvalidInput as error:
        # The work is done; to repeat it would give the same unusable answer.
        return GiveUp(error=TaskError.of(error))
    return Succeed(result=result, follow_ups=tuple(done.follow_ups))


def _check_follow_ups(follow_ups: Any) -> None:
    if not isinstance(follow_ups, list | tuple):
        raise InvalidInput("follow_ups", follow_ups, "must be a list of NewTask")
    if len(follow_ups) > MAX_FOLLOW_UPS:
        problem = f"are more than the {MAX_FOLLOW_UPS} that fit one transaction; chain in levels"
        raise InvalidInput("follow_ups", len(follow_ups), problem)
    for index, new in enumerate(follow_ups):
        if not isinstance(new, NewTask):
            raise InvalidInput(f"follow_ups[{index}]", new, "must be a NewTask")


def raised(
    error: BaseException,
    *,
    task: Task,
    max_attempts: int,
    backoff: Backoff,
    draw: random.Random,
    now: int,
    batched: bool = False,
) -> Outcome:
    """The outcome of an attempt at ``task`` whose handler raised, at epoch microseconds ``now``.

    ``batched``: the task's type has batches. After a fault, which is any error but a Retry, the
    task runs alone: nobody knows which task of the batch was the cause.
    """
    described = TaskError.of(error)
    if isinstance(error, Busy):
        # To be refused for lack of room is no attempt: only the deadline ends it.
        delay = backoff.delay(1, retries=max_attempts, draw=draw)
        return TryAgain(error=described, delay=_wish(error, delay), counts=False)
    if isinstance(error, Fail) or task.attempts >= max_attempts:
        return GiveUp(error=described)
    delay = backoff.delay(task.attempts, retries=max_attempts - 1, draw=draw)
    delay = _wish(error, delay)
    if now + microseconds(delay) >= task.expires_at:
        return _too_late(described)
    return TryAgain(error=described, delay=delay, alone=batched and not isinstance(error, Retry))


def _too_late(error: TaskError) -> GiveUp:
    return GiveUp(error=replace(error, message=TOO_LATE + error.message))


def _wish(error: BaseException, delay: float) -> float:
    """The delay that a Retry asks for, where it does (a subclass may lack it); else ``delay``."""
    wish = getattr(error, "after", None) if isinstance(error, Retry) else None
    if isinstance(wish, int | float) and 0 <= wish < math.inf:
        return wish
    return delay
