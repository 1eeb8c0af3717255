"""An attempt at a claimed task, and the messages by which its threads tell the run of it."""

import threading
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from lifoq.basics.host import MICROSECONDS
from lifoq.basics.times import spoken
from lifoq.errors import NotClaimed
from lifoq.items.task_error import TaskError
from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim
from lifoq.worker.handlers.context import Context
from lifoq.worker.handlers.outcome import Cancel, Outcome, Succeed, TryAgain
from lifoq.worker.run.shared_call import HandlerCall


class Settlement(Enum):
    """The ways in which an attempt can end, as the worker counts them."""

    SUCCEEDED = auto()
    FAILED = auto()
    RETRIED = auto()
    CANCELLED = auto()
    LEASE_LOST = auto()
    UNSETTLED = auto()
    """The outcome could not be written. The lease runs out, and the sweep brings the task back."""


_NOT_WRITTEN: Final = {
    Settlement.LEASE_LOST: TaskError(type="LeaseLost", message="the task went on without it"),
    Settlement.UNSETTLED: TaskError(type="Unsettled", message="its outcome was not written"),
}
_CANCELLED: Final = TaskError(type="Cancelled", message="somebody has cancelled the task")


class Interrupted(Exception):
    """Raised in an async handler, or put in the place of its outcome, because the worker must
    go."""


class Attempt:
    """An attempt at a claimed task: its handler, its times and its end.

    Three threads touch it. The thread that calls the handler decides the outcome and, as a rule,
    has it written. The thread of the run keeps the times. A third writes the outcome if the attempt
    times out or is handed back. ``begin_settling`` decides which of them writes it.
    """

    def __init__(
        self,
        *,
        claim: Claim,
        call: "HandlerCall[Attempt]",
        context: Context,
        began: int,
        renew_at: int,
        times_out_at: int,
    ) -> None:
        """``times_out_at`` and ``renew_at`` in monotonic microseconds. ``call``: that of its
        handler."""
        # Written once, here.
        self.claim = claim
        self.call = call
        self.kind = call.kind
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

    def begin_settling(self) -> bool:
        """Return True to the first caller only: that one writes the outcome. It is the thread of
        the attempt, or the run at a timeout or at its end."""
        return self._settling.acquire(blocking=False)

    @property
    def is_settling(self) -> bool:
        """True if the outcome is decided: what the handler does from now on changes nothing."""
        return self._settling.locked()

    def stops(self, why: BaseException) -> bool:
        """Stop an async handler by raising ``why`` in it; it may take some time to clean up. Return
        False if the handler cannot be stopped, has returned, or works for other tasks, too."""
        return self.call.stop(self.task.task_id, why)

    def took_too_long(self) -> TimeoutError:
        """Return the error of an attempt whose time is over. It says how long was allowed."""
        timeout = spoken(self._allowed / MICROSECONDS)
        return TimeoutError(f"attempt {self.task.attempts} took longer than its timeout, {timeout}")


@dataclass(frozen=True, kw_only=True)
class NotStarted:
    """Message: a claim gave nothing to run. ``error`` is KeyBusy, NotClaimed, DamagedTask, or the
    failure of the claim's call."""

    row: Candidate
    error: Exception


@dataclass(frozen=True)
class Started:
    """Message: the task is claimed. Its handler is called once its large values are read, and its
    batch is there."""

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
    outcome: Outcome | None = None
    """The outcome that was written; None if none was."""
    unexpected: Exception | None = None

    @property
    def error(self) -> TaskError | None:
        """The error that the attempt ended with; None after a success."""
        match self.outcome:
            case None:
                return _NOT_WRITTEN[self.how]
            case Succeed():
                return None
            case Cancel(error=None):
                return _CANCELLED
            case written:
                return written.error

    @property
    def is_fault(self) -> bool:
        """True if the attempt counts as failed."""
        match self.outcome:
            case Succeed() | Cancel() | TryAgain(counts=False):
                return False
        return True


@dataclass(frozen=True)
class NotRenewed:
    """Message: a heartbeat was not confirmed. ``unexpected`` is an error that ends the run."""

    attempt: Attempt
    unexpected: Exception | None = None


AttemptMessage = NotStarted | Started | Settled | NotRenewed


class TooLate(NotClaimed):
    """Raised if the run has less time left than an attempt at the task may take."""
