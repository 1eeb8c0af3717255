"""One attempt at a task: its claim, its handler, its outcome, in a thread beside the run."""

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from lifoq.context import Context
from lifoq.errors import Busy, InvalidInput, ItemTooLarge, LeaseLost, StoreUnavailable
from lifoq.host import Host, Mailbox, microseconds
from lifoq.outcome import GiveUp, Outcome, Succeed, TryAgain, raised, returned
from lifoq.registry import TaskType
from lifoq.store import Store
from lifoq.task import Task, TaskError
from lifoq.worker import WorkerSettings

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
class NotStarted:
    """A claim gave nothing to run. ``error`` says why: NotClaimed, DamagedTask, or trouble."""

    task_id: str
    kind: TaskType
    error: Exception


@dataclass(frozen=True)
class Started:
    """The task is claimed, and its handler runs."""

    attempt: Attempt


@dataclass(frozen=True)
class Returned:
    """The handler is back, perhaps long after a timeout ended the attempt; ``refused`` where the
    downstream had no room for it."""

    attempt: Attempt
    refused: bool


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The attempt has ended; with what nobody understood, if it came to that."""

    attempt: Attempt
    end: End
    unexpected: Exception | None = None


Message = NotStarted | Started | Returned | Settled


class Crew:
    """Makes attempts, each in a thread of its own, and reports to the run's mailbox: NotStarted; or
    Started, then Returned and Settled, in either order."""

    def __init__(
        self,
        *,
        store: Store,
        host: Host,
        mailbox: Mailbox[Message],
        settings: WorkerSettings,
        draw: random.Random,
        ends_at: int,
    ) -> None:
        """After ``ends_at`` no handler is started and no outcome written."""
        self._store = store
        self._host = host
        self._mailbox = mailbox
        self._settings = settings
        self._draw = draw
        self._ends_at = ends_at

    def start(self, task_id: str, kind: TaskType) -> None:
        """Claim the task and run it."""
        self._spawn(lambda: self._work(task_id, kind), task_id, kind)

    def timeout(self, kind: TaskType) -> float:
        """Seconds that an attempt may take."""
        return self._settings.task_timeout if kind.timeout is None else kind.timeout

    def time_out(self, attempt: Attempt) -> bool:
        """End an attempt whose time is over; False where its handler was faster."""
        if not attempt.begin_settling():
            return False
        error = TimeoutError(f"attempt {attempt.task.attempts} took too long")
        self._spawn(
            lambda: self._settle(attempt, self._after(error, attempt)),
            attempt.task.task_id,
            attempt.kind,
        )
        return True

    def _spawn(self, work: Callable[[], None], task_id: str, kind: TaskType) -> None:
        self._host.spawn(work, name=f"{kind.name} {task_id}")

    def _work(self, task_id: str, kind: TaskType) -> None:
        try:
            task = self._claim(task_id)
        except Exception as error:  # noqa: BLE001  (the run tells them apart)
            self._mailbox.put(NotStarted(task_id=task_id, kind=kind, error=error))
            return
        if self._host.now() < self._ends_at:  # else it is left to its lease
            self._attempt(self._begin(task, kind))

    def _claim(self, task_id: str) -> Task:
        """Claim; an unconfirmed claim is asked for once more, under the same id, and so
        recognised. After that it is left to its lease."""
        claim_id, lease = self._host.new_id(), self._settings.lease
        try:
            return self._store.claim(task_id, claim_id=claim_id, lease=lease)
        except StoreUnavailable as error:
            log.warning("claim of task %s not confirmed: %s", task_id, error)
            return self._store.claim(task_id, claim_id=claim_id, lease=lease)

    def _begin(self, task: Task, kind: TaskType) -> Attempt:
        now, settings = self._host.now(), self._settings
        times_out_at = now + microseconds(self.timeout(kind))
        context = Context(
            task=task,
            store=self._store,
            host=self._host,
            lease=settings.lease,
            max_attempts=kind.max_attempts or settings.max_attempts,
            ends_at=times_out_at,
        )
        return Attempt(
            task=task,
            kind=kind,
            context=context,
            renew_at=now + microseconds(settings.heartbeat),
            times_out_at=times_out_at,
        )

    def _attempt(self, attempt: Attempt) -> None:
        self._mailbox.put(Started(attempt))
        refused = False
        try:
            value = attempt.kind.handler(attempt.task.payload, attempt.context)
            outcome = returned(value)
        except BaseException as error:  # noqa: BLE001  (whatever task code raises is its outcome)
            outcome, refused = self._after(error, attempt), isinstance(error, Busy)
        self._mailbox.put(Returned(attempt, refused))
        if attempt.begin_settling():
            self._settle(attempt, outcome)

    def _after(self, error: BaseException, attempt: Attempt) -> Outcome:
        return raised(
            error,
            attempt=attempt.task.attempts,
            max_attempts=attempt.context.max_attempts,
            backoff=attempt.kind.backoff or self._settings.backoff,
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
