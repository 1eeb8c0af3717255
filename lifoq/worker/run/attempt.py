"""Attempts at tasks. Each has a thread of its own beside the run, in which the task is claimed, its
handler runs, and its outcome is written."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Final

from lifoq.basics.host import MICROSECONDS, Outbox, OutOfThreads, microseconds
from lifoq.basics.times import spoken
from lifoq.errors import (
    Busy,
    Cancelled,
    DamagedTask,
    ItemTooLarge,
    LeaseLost,
    NotClaimed,
    QueueMisconfigured,
    StoreUnavailable,
)
from lifoq.items.task import Task
from lifoq.items.task_error import TaskError
from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim
from lifoq.worker.handlers import allowance
from lifoq.worker.handlers.attempt_log import handling
from lifoq.worker.handlers.context import Context
from lifoq.worker.handlers.outcome import (
    Cancel,
    GiveUp,
    Outcome,
    Succeed,
    TryAgain,
    later,
    raised,
    returned,
)
from lifoq.worker.handlers.registry import TaskType
from lifoq.worker.limits.limits import Limits
from lifoq.worker.limits.load_signal import LoadSignal
from lifoq.worker.process_state import ProcessState

if TYPE_CHECKING:
    from lifoq.worker.handlers.async_handlers import AsyncHandlers  # not where nothing is async
    from lifoq.worker.limits.attempt_times import Sample  # not where no type is adaptive

log = logging.getLogger("lifoq.attempt")

FIRST_OUTCOME_PAUSE: Final = 0.05
"""Seconds before an outcome that was not confirmed is written again; it doubles each time."""
LONGEST_OUTCOME_PAUSE: Final = 0.5
"""Seconds up to which that doubles: as soon as the database answers, the slot is free."""


HANDED_BACK: Final = "HandedBack"
"""The type of the error on a task that a worker claimed and did not begin, or handed back."""


class Settlement(Enum):
    """The ways in which an attempt can end, as the worker counts them."""

    SUCCEEDED = auto()
    FAILED = auto()
    RETRIED = auto()
    CANCELLED = auto()
    LEASE_LOST = auto()
    UNSETTLED = auto()
    """The outcome could not be written. The lease runs out, and the sweep brings the task back."""


_SETTLED_AS: Final[dict[type[Outcome], Settlement]] = {
    Succeed: Settlement.SUCCEEDED,
    GiveUp: Settlement.FAILED,
    TryAgain: Settlement.RETRIED,
    Cancel: Settlement.CANCELLED,
}


class Interrupted(Exception):
    """Raised in an async handler, or put in the place of its outcome, because the worker must
    go."""


class Attempt:
    """An attempt at a claimed task: its handler, its times and its end.

    Three threads touch it. The thread of the attempt runs the handler and, as a rule, writes the
    outcome. The thread of the run keeps the times. A third writes the outcome if the attempt times
    out or is handed back. ``begin_settling`` decides which of them writes it.
    """

    def __init__(
        self,
        *,
        claim: Claim,
        kind: TaskType,
        context: Context,
        began: int,
        renew_at: int,
        times_out_at: int,
        async_handlers: "AsyncHandlers | None",
        sample: "Sample | None",
    ) -> None:
        """``times_out_at`` and ``renew_at`` in monotonic microseconds. ``async_handlers``: runs the
        handler if it is async, else None. ``sample``: the measurement for the task type's adaptive
        concurrency, None if it has none."""
        # Written once, here.
        self.claim = claim
        self._sample = sample
        self.async_handlers = async_handlers
        self.kind = kind
        self.context = context
        self.began = began
        """Monotonic microseconds at which the handler may begin."""
        self._allowed = times_out_at - began
        self._settling = threading.Lock()
        """Taken once, by the thread that settles (``begin_settling``)."""

        # Written by the thread of the run.
        self.renew_at = renew_at
        self.times_out_at = times_out_at
        self.timed_out = False

        # Written by the thread of the attempt, before its handler begins.
        self.task = claim.task
        """The task, with its large values once they are read."""

        # Written by the thread that settles.
        self.settled: Settled | None = None
        """The end of the attempt, once its outcome is written. The run does not wait for what that
        thread has left to do."""

        # Written under the lock: by the thread of the attempt, and by the run.
        self._lock = threading.Lock()
        self._returned = False
        self._hangs = False

    def begin_settling(self) -> bool:
        """Return True to the first caller only: that one writes the outcome. It is the thread of
        the attempt, or the run at a timeout or at its end."""
        return self._settling.acquire(blocking=False)

    def stops(self, why: BaseException) -> bool:
        """Stop an async handler by raising ``why`` in it; it may take some time to clean up. Return
        False if the handler cannot be stopped, or has returned."""
        return self.async_handlers is not None and self.async_handlers.stop(why)

    def took_too_long(self) -> TimeoutError:
        """Return the error of an attempt whose time is over. It says how long was allowed."""
        timeout = spoken(self._allowed / MICROSECONDS)
        return TimeoutError(f"attempt {self.task.attempts} took longer than its timeout, {timeout}")

    def hangs(self, limits: Limits) -> None:
        """Note that the time is over while the handler has not returned. It keeps its slot, since
        it may still use what lies downstream. Called by the run."""
        with self._lock:
            if not self._returned:
                self._hangs = True
                limits.hangs(self.kind.name, sample=self._sample)

    def handler_returned(self, limits: Limits, *, refused: bool, signal: LoadSignal) -> None:
        """Leave the slot: the handler has returned. Called by the thread of the attempt."""
        with self._lock:
            self._returned = True
            limits.leave(
                self.kind.name,
                refused=refused,
                hung=self._hangs,
                sample=self._sample,
                signal=signal,
            )

    def signal_after(self, error: BaseException) -> LoadSignal:
        """Return what the error of an attempt says of the downstream's capacity."""
        overloaded = self.timed_out or isinstance(error, TimeoutError)
        return LoadSignal.OVERLOADED if overloaded else LoadSignal.UNTOLD


@dataclass(frozen=True, kw_only=True)
class NotStarted:
    """Message: a claim gave nothing to run. ``error`` is KeyBusy, NotClaimed, DamagedTask, or the
    failure of the claim's call."""

    row: Candidate
    error: Exception


@dataclass(frozen=True)
class Started:
    """Message: the task is claimed, and its handler runs."""

    attempt: Attempt


@dataclass(frozen=True, kw_only=True)
class Settled:
    """Message: the attempt has ended. ``row`` is the task's row in the index if it waits again.
    ``unexpected`` is an error that ends the run."""

    attempt: Attempt
    how: Settlement
    row: Candidate | None = None
    delay: float = 0.0
    """Seconds until the next attempt is due, if the task waits for one."""
    unexpected: Exception | None = None


@dataclass(frozen=True)
class NotRenewed:
    """Message: a heartbeat was not confirmed. ``unexpected`` is an error that ends the run."""

    attempt: Attempt
    unexpected: Exception | None = None


AttemptMessage = NotStarted | Started | Settled | NotRenewed


@dataclass(frozen=True, kw_only=True)
class _Slot:
    """The slot that an attempt has taken."""

    entered: int
    """Monotonic microseconds at which it was taken."""
    sample: "Sample | None"


class TooLate(NotClaimed):
    """Raised if the run has less time left than an attempt at the task may take."""


class Attempts:
    """Makes attempts, each in a thread of its own. Each reports to the run's mailbox: NotStarted;
    or Started, and later Settled."""

    def __init__(
        self, process: ProcessState, *, mailbox: Outbox[AttemptMessage], ends_at: int
    ) -> None:
        """``ends_at``: monotonic microseconds after which no handler is started and no outcome
        written."""
        self._store = process.store
        self._host = process.host
        self._limits = process.limits
        self._settings = process.settings
        self._draw = process.draw
        self._claims = process.claims
        self._mailbox = mailbox
        self._ends_at = ends_at

    def start(self, row: Candidate, kind: TaskType) -> None:
        """Claim the task and run it. The caller has taken a slot for it. Raises OutOfThreads; then
        the slot is free again."""
        slot = _Slot(entered=self._host.monotonic(), sample=self._limits.measure(kind.name))
        try:
            self._spawn(lambda: self._work(row, kind, slot), row.task_id, kind)
        except OutOfThreads:
            self._undo_enter(kind, slot)
            raise

    def latest_start(self, kind: TaskType, task: Task | Candidate | None = None) -> int:
        """Return the last monotonic moment at which an attempt can begin and have its whole time.
        Without ``task``, the type alone says how long that is."""
        return self._ends_at - microseconds(self._settings.settle_time + self._time(kind, task))

    def _time(self, kind: TaskType, task: Task | Candidate | None) -> float:
        return allowance.seconds(task, kind, longest=self._settings.task_timeout)

    def renew(self, attempt: Attempt) -> None:
        """Send a heartbeat in a thread of its own. So no other task waits for its answer, and the
        next heartbeat is sent in time. Raises OutOfThreads."""
        self._spawn(lambda: self._renew(attempt), attempt.task.task_id, attempt.kind)

    def time_out(self, attempt: Attempt) -> bool:
        """End an attempt whose time is over. Return False if its handler was faster. Raises
        OutOfThreads."""
        if not attempt.begin_settling():
            return False
        attempt.hangs(self._limits)
        self._spawn(
            lambda: self._settle(attempt, self._after(attempt.took_too_long(), attempt)),
            attempt.task.task_id,
            attempt.kind,
        )
        return True

    def interrupt(self, attempt: Attempt) -> None:
        """Hand back a task whose handler has not returned: the worker must go. The attempt does not
        count. Raises OutOfThreads."""
        if attempt.begin_settling():
            self._spawn(
                lambda: self._settle(attempt, self._after(Interrupted(), attempt)),
                attempt.task.task_id,
                attempt.kind,
            )

    def _spawn(self, work: Callable[[], None], task_id: str, kind: TaskType) -> None:
        self._host.spawn(work, name=f"{kind.name} {task_id}")

    def _undo_enter(self, kind: TaskType, slot: _Slot) -> None:
        after = (self._host.monotonic() - slot.entered) / MICROSECONDS
        self._limits.undo_enter(kind.name, after=after, sample=slot.sample)

    def _work(self, row: Candidate, kind: TaskType, slot: _Slot) -> None:
        try:
            claim = self._claim(row, kind)
        except Exception as error:  # noqa: BLE001  (the run tells them apart)
            self._undo_enter(kind, slot)
            self._mailbox.put(NotStarted(row=row, error=error))
            return
        task = claim.task
        in_time = self._host.monotonic() <= self.latest_start(kind, task)
        may_begin = in_time and self._limits.usable(kind.name)
        if may_begin and task.task_type == row.task_type and task.cancel_asked is None:
            self._attempt(self._begin(claim, kind, slot))
        else:
            self._undo_enter(kind, slot)
            self._hand_back(claim)
            why = NotClaimed(task.task_id) if in_time else TooLate(task.task_id)
            self._mailbox.put(NotStarted(row=row, error=why))

    def _hand_back(self, claim: Claim) -> None:
        """Undo a claim: its answer came too late to begin, or the task is of another type than the
        index said, since its id was put anew. The claim's place in a limit over all workers is
        given back, too. If the write fails, the lease runs out."""
        task = claim.task
        error = TaskError(type=HANDED_BACK, message="the worker could not begin with it")
        try:
            try:
                self._store.retry(task, error, delay=0, counts=False)
            except Cancelled:
                self._store.end_cancelled(task)
        except LeaseLost as failure:
            log.warning("task %s was not handed back: %s", task.task_id, failure)
        except (StoreUnavailable, QueueMisconfigured) as failure:
            log.warning("task %s was not handed back: %s", task.task_id, failure)
            return
        claim.leave()

    def _claim(self, row: Candidate, kind: TaskType) -> Claim:
        if self._host.monotonic() > self.latest_start(kind, row):
            raise TooLate(row.task_id)
        if not self._limits.usable(kind.name):  # any more
            raise NotClaimed(row.task_id)
        return self._claims.claim(row, per_key=kind.per_key, lease=self._settings.lease)

    def _begin(self, claim: Claim, kind: TaskType, slot: _Slot) -> Attempt:
        now, settings, task = self._host.monotonic(), self._settings, claim.task
        times_out_at = now + microseconds(self._time(kind, task))
        async_handlers = _async_handlers(f"{kind.name} {task.task_id}") if kind.is_async else None
        context = Context(
            task=task,
            store=self._store,
            host=self._host,
            lease=partial(self._limits.lease, kind.name, settings.lease),
            max_attempts=allowance.attempts(task, kind, by_default=settings.max_attempts),
            ends_at=times_out_at,
            async_handlers=async_handlers,
        )
        return Attempt(
            claim=claim,
            kind=kind,
            context=context,
            began=now,
            renew_at=now + microseconds(settings.heartbeat),
            times_out_at=times_out_at,
            async_handlers=async_handlers,
            sample=slot.sample,
        )

    def _attempt(self, attempt: Attempt) -> None:
        self._mailbox.put(Started(attempt))
        refused, signal = False, LoadSignal.UNTOLD
        try:
            outcome = self._not_loaded(attempt)
            if outcome is None:
                with handling(attempt.task.task_id):
                    value = attempt.kind.handler(attempt.task.payload, attempt.context)
                outcome, signal = returned(value), LoadSignal.DONE
        except BaseException as error:  # noqa: BLE001  (whatever task code raises is its outcome)
            outcome, refused = self._after(error, attempt), isinstance(error, Busy)
            signal = attempt.signal_after(error)
        attempt.handler_returned(self._limits, refused=refused, signal=signal)
        if attempt.begin_settling():
            self._settle(attempt, outcome)

    def _not_loaded(self, attempt: Attempt) -> Outcome | None:
        """Read the large values of the task from the queue's bucket. Return None, or the outcome of
        an attempt that cannot have them. The attempt does not count if they may be there the next
        time."""
        try:
            attempt.task = self._store.whole(attempt.task)
        except DamagedTask as damage:
            return GiveUp(error=TaskError.of(damage))
        except (StoreUnavailable, QueueMisconfigured) as error:
            log.warning("task %s cannot begin: %s", attempt.task.task_id, error)
            backoff = attempt.kind.backoff or self._settings.backoff
            delay = backoff.delay(1, retries=attempt.context.max_attempts, draw=self._draw)
            return TryAgain(error=TaskError.of(error), delay=delay, counts=False)
        attempt.context.last_checkpoint = attempt.task.checkpoint
        return None

    def _after(self, error: BaseException, attempt: Attempt) -> Outcome:
        if attempt.context.cancelled:
            told = isinstance(error, Cancelled | Interrupted)
            return Cancel(error=None if told else TaskError.of(error))
        if isinstance(error, Interrupted):
            stopped = TaskError(type=HANDED_BACK, message="the worker was stopped")
            return TryAgain(error=stopped, delay=0, counts=False)
        return raised(
            error,
            task=attempt.task,
            max_attempts=attempt.context.max_attempts,
            backoff=attempt.kind.backoff or self._settings.backoff,
            draw=self._draw,
            now=self._store.now(),
        )

    def _settle(self, attempt: Attempt, outcome: Outcome) -> None:
        try:
            settled = attempt.settled = self._write(attempt, outcome)
            if settled.how is not Settlement.UNSETTLED:
                attempt.claim.leave()
        except Exception as error:
            log.exception("task %s could not be settled", attempt.task.task_id)
            settled = Settled(attempt=attempt, how=Settlement.UNSETTLED, unexpected=error)
        self._mailbox.put(settled)

    def _write(self, attempt: Attempt, outcome: Outcome) -> Settled:
        """Write the outcome, again and again until it is confirmed or the run must end."""
        task, pause = attempt.task, FIRST_OUTCOME_PAUSE
        while True:
            sent = self._host.monotonic()
            try:
                row = outcome.write(self._store, task)
            except LeaseLost:
                return Settled(attempt=attempt, how=Settlement.LEASE_LOST)
            except Cancelled:  # which the attempt has not heard of
                outcome = Cancel(error=None if isinstance(outcome, Succeed) else outcome.error)
            except (StoreUnavailable, QueueMisconfigured) as error:
                log.warning("outcome of task %s not confirmed: %s", task.task_id, error)
                if self._host.monotonic() + microseconds(pause) >= self._ends_at:
                    told = error if isinstance(error, QueueMisconfigured) else None
                    return Settled(attempt=attempt, how=Settlement.UNSETTLED, unexpected=told)
                self._host.sleep(pause)
                pause = min(LONGEST_OUTCOME_PAUSE, pause * 2)
                passed = (self._host.monotonic() - sent) / MICROSECONDS
                outcome = later(outcome, passed, task=task, now=self._store.now())
            except Exception as error:
                if isinstance(outcome, GiveUp | Cancel):
                    if isinstance(error, ItemTooLarge):
                        log.exception("task %s has no room for its error", task.task_id)
                        # The sweep's matter.
                        return Settled(attempt=attempt, how=Settlement.UNSETTLED)
                    raise
                # The outcome itself cannot be written: the next attempt's could not be, either.
                log.exception("the outcome of task %s cannot be kept", task.task_id)
                outcome = GiveUp(error=TaskError.of(error))
            else:
                how = _SETTLED_AS[type(outcome)]
                delay = outcome.delay if isinstance(outcome, TryAgain) else 0.0
                return Settled(attempt=attempt, how=how, row=row, delay=delay)

    def _renew(self, attempt: Attempt) -> None:
        if attempt.context.lease_lost:
            return
        told = attempt.context.cancelled
        where = None if attempt.async_handlers is None else attempt.async_handlers.blocked_at()
        if where is not None:
            log.warning("all async handlers wait, since one of them does not await:\n%s", where)
        try:
            attempt.context.heartbeat()
        except LeaseLost as error:
            # Also where the attempt has just been settled, which its own message tells.
            log.debug("the lease on task %s is gone", attempt.task.task_id)
            if attempt.settled is None:
                attempt.stops(error)
        except Cancelled as error:
            log.debug("task %s was cancelled: its handler can see it", attempt.task.task_id)
            if not told:
                attempt.stops(error)
        except (StoreUnavailable, QueueMisconfigured) as error:
            log.warning("heartbeat of task %s not confirmed: %s", attempt.task.task_id, error)
            self._mailbox.put(NotRenewed(attempt))
        except Exception as error:  # noqa: BLE001  (the run ends by it)
            self._mailbox.put(NotRenewed(attempt, error))


def _async_handlers(name: str) -> "AsyncHandlers":
    from lifoq.worker.handlers.async_handlers import AsyncHandlers  # noqa: PLC0415 - not where nothing is async

    return AsyncHandlers(name)
