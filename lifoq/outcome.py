"""How an attempt ended, as a value: decided first, then written."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lifoq import jsontext
from lifoq.backoff import Backoff
from lifoq.errors import Fail, InvalidInput, Retry
from lifoq.store import MAX_FOLLOW_UPS, Store
from lifoq.task import NewTask, Task, TaskError


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a handler returns to chain: its result, and tasks that are put atomically with its
    success, at most 99."""

    result: Any = None
    follow_ups: Sequence[NewTask] = ()


@dataclass(frozen=True, kw_only=True)
class Succeed:
    result: str
    follow_ups: Sequence[NewTask]

    def write(self, store: Store, task: Task) -> None:
        store.succeed(task, self.result, self.follow_ups)


@dataclass(frozen=True, kw_only=True)
class TryAgain:
    error: TaskError
    delay: float
    """Seconds."""

    def write(self, store: Store, task: Task) -> None:
        store.retry(task, self.error, delay=self.delay)


@dataclass(frozen=True, kw_only=True)
class GiveUp:
    error: TaskError

    def write(self, store: Store, task: Task) -> None:
        store.fail(task, self.error)


Outcome = Succeed | TryAgain | GiveUp


def returned(value: Any) -> Outcome:
    """The outcome of a handler that returned ``value``."""
    done = value if isinstance(value, Done) else Done(result=value)
    try:
        _check_number(len(done.follow_ups))
        result = jsontext.encode(done.result, "result")
    except InvalidInput as error:
        # The work is done; to repeat it would give the same unusable answer.
        return GiveUp(error=TaskError.of(error))
    return Succeed(result=result, follow_ups=tuple(done.follow_ups))


def _check_number(follow_ups: int) -> None:
    if follow_ups > MAX_FOLLOW_UPS:
        problem = f"are more than the {MAX_FOLLOW_UPS} that fit one transaction; chain in levels"
        raise InvalidInput("follow_ups", follow_ups, problem)


def raised(
    error: BaseException, *, attempt: int, max_attempts: int, backoff: Backoff, draw: random.Random
) -> Outcome:
    """The outcome of a handler that raised."""
    described = TaskError.of(error)
    if isinstance(error, Fail) or attempt >= max_attempts:
        return GiveUp(error=described)
    if isinstance(error, Retry) and error.after is not None:
        return TryAgain(error=described, delay=error.after)
    delay = backoff.delay(attempt, retries=max_attempts - 1, draw=draw)
    return TryAgain(error=described, delay=delay)
