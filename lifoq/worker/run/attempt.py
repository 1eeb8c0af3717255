"""Attempts at tasks: each is claimed, run and settled in a thread of its own, beside the run."""

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
from lifoq.worker.limits.load_signal import End
from lifoq.worker.worker import Worker

if TYPE_CHECKING:
    from lifoq.worker.handlers.async_handlers import AsyncHandlers  # not where nothing is async
    from lifoq.worker.limits.attempt_times import Sample  # not where no type is adaptive

log = logging.getLogger("lifoq.attempt")

FIRST_OUTCOME_PAUSE: Final = 0.05
"""Seconds before an outcome that was not confirmed is written again; it doubles each time."""
LONGEST_OUTCOME_PAUSE: Final = 0.5
"""Seconds up to which that doubles: as soon as the database answers, the slot is free."""


HANDED_BACK: Final = "HandedBack"
"""The error's type on a task that a worker claimed, and did not begin with."""


class Settlement(Enum):
    """What came of an attempt, as the worker counts it."""

    SUCCEEDED = auto()
    FAILED = auto()
    RETRIED = auto()
    CANCELLED = auto()
    LEASE_LOST = auto()
    UNSETTLED = auto()
    """Its outcome could not be written; the lease runs out."""


_SETTLED_AS: Final[dict[type[Outcome], Settlement]] = {
    Succeed: Settlement.SUCCEEDED,
    GiveUp: Settlement.FAILED,
    TryAgain: Settlement.RETRIED,
    Cancel: Settlement.CANCELLED,
}


class Interrupted(Exception):
    """The worker must go."""


class Attempt:
    """A claimed task on its way through a handler. The run keeps ``renew_at`` and
    ``times_out_at``, in monotonic microseconds."""

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
        """``async_handlers``: what runs its handler, where that is async. ``sample``: its
        measurement, where the number of its type at a time is looked for."""
        self.claim = claim
        self._sample = sample
        self.task = claim.task
        self.async_handlers = async_handlers
        self.kind = kind
        self.context = context
        self.began = began
        """Monotonic microseconds."""
        self.renew_at = renew_at
        self.times_out_at = times_out_at
        self._allowed = times_out_at - began
        self.timed_out = False
        self.settled: Settled | None = None
        """Once its outcome is written; what is left to do, the run need not wait for."""
        self._settling = threading.Lock()
        self._lock = threading.Lock()
        self._returned = False
        self._hangs = False

    def begin_settling(self) -> bool:
        """True for the first who asks: the handler's thread, or the timeout."""
        return self._settling.acquire(blocking=False)

    def stops(self, why: BaseException) -> bool:
        """Have an async handler stop, which may take some time to clean up, and then raises
        ``why``. False where it cannot be stopped, or has returned."""
        return self.async_handlers is not None and self.async_handlers.stop(why)

    def took_too_long(self) -> TimeoutError:
        """The error of an attempt whose time is over: it says how long was allowed."""
        timeout = spoken(self._allowed / MICROSECONDS)
        return TimeoutError(f"attempt {self.task.attempts} took longer than its timeout, {timeout}")

    def hangs(self, limits: Limits) -> None:
        """Its time is over, but its handler may still be at the downstream: it keeps its slot."""
        with self._lock:
            if not self._returned:
                self._hangs = True
                limits.hangs(self.kind.name, sample=self._sample)

    def handler_returned(self, limits: Limits, *, refused: bool, end: End) -> None:
        """Its handler has returned, and leaves its slot."""
        with self._lock:
            self._returned = True
            limits.leave(
                self.kind.name, refused=refused, hung=self._hangs, sample=self._sample, end=end
            )

    def end_after(self, error: BaseException) -> End:
        """What an attempt that raised tells of the downstream's capacity."""
        overloaded = self.timed_out or isinstance(error, TimeoutError)
        return End.OVERLOADED if overloaded else End.UNTOLD


@dataclass(frozen=True, kw_only=True)
class NotStarted:
    """A claim gave nothing to run. ``error`` says why: KeyBusy, NotClaimed, DamagedTask, or
    trouble."""

    row: Candidate
    error: Exception


@dataclass(frozen=True)
class Started:
    """The task is claimed, and its handler runs."""

    attempt: Attempt


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The attempt has ended; with the row that it became, where it waits again, and with what
    nobody understood, if it came to that."""

    attempt: Attempt
    how: Settlement
    row: Candidate | None = None
    delay: float = 0.0
    """Seconds until its next attempt is due, where it waits for one."""
    unexpected: Exception | None = None


@dataclass(frozen=True)
class NotRenewed:
    """A heartbeat was not confirmed; with what nobody understood, if it came to that."""

    attempt: Attempt
    unexpected: Exception | None = None


AttemptMessage = NotStarted | Started | Settled | NotRenewed


@dataclass(frozen=True, kw_only=True)
class _Slot:
    """A slot that an attempt has taken."""

    entered: int
    """Monotonic microseconds."""
    sample: "Sample | None"


class TooLate(NotClaimed):
    """The run has less time left than an attempt at the task may take."""


class Attempts:
    """Makes attempts, each in a thread of its own, and reports to the run's mailbox: NotStarted; or
    Started, then Settled."""

    def __init__(self, worker: Worker, *, mailbox: Outbox[AttemptMessage], ends_at: int) -> None:
        """After ``ends_at`` (monotonic microseconds) no handler is started, no outcome written."""
        self._store = worker.store
        self._host = worker.host
        self._limits = worker.limits
        self._settings = worker.settings
        self._draw = worker.draw
        self._claims = worker.claims
        self._mailbox = mailbox
        self._ends_at = ends_at

    def start(self, row: Candidate, kind: TaskType) -> None:
        """Claim the task, which has just taken a slot, and run it. OutOfThreads."""
        slot = _Slot(entered=self._host.monotonic(), sample=self._limits.measure(kind.name))
        try:
            self._spawn(lambda: self._work(row, kind, slot), row.task_id, kind)
        except OutOfThreads:
            self._undo_enter(kind, slot)
            raise

    def latest_start(self, kind: TaskType, task: Task | Candidate | None = None) -> int:
        """Return the last monotonic moment at which an attempt can begin and have its whole time;
        without a task, of one whose type alone says how long that is."""
        return self._ends_at - microseconds(self._settings.settle_time + self._time(kind, task))

    def _time(self, kind: TaskType, task: Task | Candidate | None) -> float:
        return allowance.seconds(task, kind, longest=self._settings.task_timeout)

    def renew(self, attempt: Attempt) -> None:
        """Send a heartbeat. However long its answer takes, no other task waits for it, and the next
        heartbeat is sent in time. OutOfThreads."""
        self._spawn(lambda: self._renew(attempt), attempt.task.task_id, attempt.kind)

    def time_out(self, attempt: Attempt) -> bool:
        """End an attempt whose time is over; False where its handler was faster. OutOfThreads."""
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
        """Hand back a task whose handler has not returned, uncounted: the worker must go.
        OutOfThreads."""
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
        """Undo a claim whose answer came too late to begin, also for this worker's quota of a limit
        that all share; or which turned out to be of another type than the index said (its id was
        put anew). Where that fails, the lease runs out."""
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
        refused, end = False, End.UNTOLD
        try:
            outcome = self._not_loaded(attempt)
            if outcome is None:
                with handling(attempt.task.task_id):
                    value = attempt.kind.handler(attempt.task.payload, attempt.context)
                outcome, end = returned(value), End.DONE
        except BaseException as error:  # noqa: BLE001  (whatever task code raises is its outcome)
            outcome, refused = self._after(error, attempt), isinstance(error, Busy)
            end = attempt.end_after(error)
        attempt.handler_returned(self._limits, refused=refused, end=end)
        if attempt.begin_settling():
            self._settle(attempt, outcome)

    def _not_loaded(self, attempt: Attempt) -> Outcome | None:
        """Read what of the task lies in the queue's bucket. How the attempt ends, where it cannot
        be had: uncounted, if it may be there the next time."""
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
