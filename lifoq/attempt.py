"""One attempt at a task: its handler, its outcome, in threads beside the run that started it."""

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from lifoq.backoff import Backoff
from lifoq.context import Context
from lifoq.errors import InvalidInput, ItemTooLarge, LeaseLost, StoreUnavailable
from lifoq.host import Host, Mailbox, microseconds
from lifoq.outcome import GiveUp, Outcome, Succeed, TryAgain, raised, returned
from lifoq.registry import TaskType
from lifoq.store import Store
from lifoq.task import Task, TaskError

log = logging.getLogger("lifoq.attempt")

FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 0.5
"""Seconds before an outcome that was not confirmed is written again, doubling."""


class End(Enum):
    """How an attempt ended."""

    SUCCEEDED = auto()
    FAILED = auto()
    RETRIED = auto()
    LEASE_LOST = auto()
    UNSETTLED = auto()
    """Its outcome could not be written; the lease runs out."""


_ENDS: Final[dict[type[Outcome], End]] = {
    Succeed: End.SUCCEEDED,
    GiveUp: End.FAILED,
    TryAgain: End.RETRIED,
}


class Attempt:
    """A claimed task on its way through a handler. The run keeps ``renew_at`` and
    ``times_out_at``, in epoch microseconds."""

    def __init__(
        self,
        *,
        task: Task,
        kind: TaskType,
        context: Context,
        renew_at: int,
        times_out_at: int,
    ) -> None:
        self.task = task
        self.kind = kind
        self.context = context
        self.renew_at = renew_at
        self.times_out_at = times_out_at
        self._settling = threading.Lock()

    def begin_settling(self) -> bool:
        """True for the first who asks: the handler's thread, or the timeout."""
        return self._settling.acquire(blocking=False)


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The attempt has ended; with what nobody understood, if it came to that."""

    attempt: Attempt
    end: End
    unexpected: Exception | None = None


@dataclass(frozen=True)
class Returned:
    """The handler's thread is free again, perhaps long after a timeout ended the attempt."""

    attempt: Attempt


Message = Settled | Returned


class Crew:
    """Runs attempts in threads of their own, and reports to the run's mailbox."""

    def __init__(
        self,
        *,
        store: Store,
        host: Host,
        mailbox: Mailbox[Message],
        backoff: Backoff,
        draw: random.Random,
        ends_at: int,
    ) -> None:
        """``backoff`` of task types that set none; no outcome is written after ``ends_at``."""
        self._store = store
        self._host = host
        self._mailbox = mailbox
        self._backoff = backoff
        self._draw = draw
        self._ends_at = ends_at

    def start(self, attempt: Attempt) -> None:
        self._spawn(lambda: self._work(attempt), attempt)

    def time_out(self, attempt: Attempt) -> bool:
        """End an attempt whose time is over; False where its handler was faster."""
        if not attempt.begin_settling():
            return False
        error = TimeoutError(f"attempt {attempt.task.attempts} took too long")
        self._spawn(lambda: self._settle(attempt, self._after(error, attempt)), attempt)
        return True

    def _spawn(self, work: Callable[[], None], attempt: Attempt) -> None:
        self._host.spawn(work, name=f"{attempt.kind.name} {attempt.task.task_id}")

    def _work(self, attempt: Attempt) -> None:
        try:
            value = attempt.kind.handler(attempt.task.payload, attempt.context)
            outcome = returned(value)
        except BaseException as error:  # noqa: BLE001  (whatever task code raises is its outcome)
            outcome = self._after(error, attempt)
        if attempt.begin_settling():
            self._settle(attempt, outcome)
        self._mailbox.put(Returned(attempt))

    def _after(self, error: BaseException, attempt: Attempt) -> Outcome:
        return raised(
            error,
            attempt=attempt.task.attempts,
            max_attempts=attempt.context.max_attempts,
            backoff=attempt.kind.backoff or self._backoff,
            draw=self._draw,
        )

    def _settle(self, attempt: Attempt, outcome: Outcome) -> None:
        unexpected = None
        try:
            end = self._write(attempt.task, outcome)
        except Exception as error:
            log.exception("task %s could not be settled", attempt.task.task_id)
            end, unexpected = End.UNSETTLED, error
        self._mailbox.put(Settled(attempt=attempt, end=end, unexpected=unexpected))

    def _write(self, task: Task, outcome: Outcome) -> End:
        """Write the outcome, again and again until it is confirmed or the run must end."""
        pause = FIRST_PAUSE
        while True:
            try:
                outcome.write(self._store, task)
            except LeaseLost:
                return End.LEASE_LOST
            except (ItemTooLarge, InvalidInput) as error:
                # The outcome itself cannot be written: the next attempt's could not be, either.
                if isinstance(outcome, GiveUp):
                    log.exception("task %s has no room for its error", task.task_id)
                    return End.UNSETTLED  # the sweep puts it aside
                outcome = GiveUp(error=TaskError.of(error))
            except StoreUnavailable as error:
                log.warning("outcome of task %s not confirmed: %s", task.task_id, error)
                if self._host.now() + microseconds(pause) >= self._ends_at:
                    return End.UNSETTLED
                self._host.sleep(pause)
                pause = min(LONGEST_PAUSE, pause * 2)
            else:
                return _ENDS[type(outcome)]
