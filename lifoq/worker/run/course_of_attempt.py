"""The threads of attempts: each attempt has one of its own beside the run, in which its task is
claimed, its handler runs, and its outcome is written."""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Final

from lifoq import telemetry
from lifoq.basics.host import MICROSECONDS, Outbox, OutOfThreads, microseconds
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
from lifoq.items.task_error import TaskError
from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim
from lifoq.worker.gates.gate import HowItLeft, LoadSignal
from lifoq.worker.gates.gates import Passage, RunGates
from lifoq.worker.handlers.attempts_and_timeout_of_task import attempts_of, timeout_of
from lifoq.worker.handlers.context import Context
from lifoq.worker.handlers.invoke import Raised, call_handler
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
from lifoq.worker.handlers.task_id_in_logs import handling
from lifoq.worker.process_state import ProcessState
from lifoq.worker.run.attempt_and_messages import (
    Attempt,
    AttemptMessage,
    Interrupted,
    NotRenewed,
    NotStarted,
    Settled,
    Settlement,
    Started,
    TooLate,
)
from lifoq.worker.run.shared_call import HandlerCall

log = logging.getLogger("lifoq.attempt")

FIRST_OUTCOME_PAUSE: Final = 0.05
"""Seconds before an outcome that was not confirmed is written again; it doubles each time."""
LONGEST_OUTCOME_PAUSE: Final = 0.5
"""Seconds up to which that doubles: as soon as the database answers, the slot is free."""
HANDED_BACK: Final = "HandedBack"
"""The type of the error on a task that a worker claimed and did not begin, or handed back."""

_SETTLED_AS: Final[dict[type[Outcome], Settlement]] = {
    Succeed: Settlement.SUCCEEDED,
    GiveUp: Settlement.FAILED,
    TryAgain: Settlement.RETRIED,
    Cancel: Settlement.CANCELLED,
}


_NO_FAILURE: Final = (Busy, Cancelled, Interrupted, LeaseLost)
"""Errors with which a handler ends though nothing is wrong with its tasks: the downstream is full,
somebody cancelled, the worker must go, or the task is another worker's by now."""


class AttemptThreads:
    """Makes attempts. Each task is claimed in a thread of its own, and its outcome is written in
    one. Each attempt reports to the run's mailbox: NotStarted; or Started, and later Settled."""

    def __init__(
        self,
        process: ProcessState,
        *,
        gates: RunGates,
        mailbox: Outbox[AttemptMessage],
        ends_at: int,
    ) -> None:
        """``ends_at``: monotonic microseconds after which no outcome is written."""
        self._store = process.store
        self._host = process.host
        self._gates = gates
        self._renewals = process.renewals
        self._settings = process.settings
        self._draw = process.draw
        self._claims = process.claims
        self._mailbox = mailbox
        self._ends_at = ends_at

    def start(self, rows: Sequence[Candidate], kind: TaskType, passed: Passage) -> None:
        """Claim these tasks, and run them by one call of the handler, which has ``passed`` the
        gates. Raises OutOfThreads; the tasks that have no thread are reported as NotStarted."""
        ids = [row.task_id for row in rows]
        call: HandlerCall[Attempt] = HandlerCall(kind, ids, passed=passed, host=self._host)
        for number, row in enumerate(rows):
            try:
                self._spawn(partial(self._work, row, call), row.task_id, kind)
            except OutOfThreads:
                for left in rows[number:]:
                    self._not_started(left, call, NotClaimed(left.task_id))
                raise

    def renew(self, attempt: Attempt) -> None:
        """Send a heartbeat in a thread of its own. So no other task waits for its answer, and the
        next heartbeat is sent in time. Raises OutOfThreads."""
        self._spawn(lambda: self._renew(attempt), attempt.task.task_id, attempt.kind)

    def time_out(self, attempt: Attempt) -> bool:
        """End an attempt whose time is over. Return False if its handler was faster. Raises
        OutOfThreads."""
        if not attempt.begin_settling():
            return False
        attempt.call.out_of_time(attempt.task.task_id)
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

    def _not_started(self, row: Candidate, call: HandlerCall[Attempt], error: Exception) -> None:
        call.leave(row.task_id)
        self._mailbox.put(NotStarted(row=row, error=error))

    def _work(self, row: Candidate, call: HandlerCall[Attempt]) -> None:
        """Claim a task, and make an attempt at it: the work of an attempt's thread."""
        kind = call.kind
        try:
            claim = self._claim(row, kind)
        except Exception as error:  # noqa: BLE001  (the run tells them apart)
            self._not_started(row, call, error)
            return
        try:
            self._check(row, claim)
        except NotClaimed as error:
            call.leave(row.task_id)
            self._hand_back(claim)
            self._mailbox.put(NotStarted(row=row, error=error))
        else:
            self._attempt(self._begin(claim, call))

    def _hand_back(self, claim: Claim) -> None:
        """Undo a claim: its answer came too late to begin, or the task is of another type than the
        index said, since its id was put anew. The key slot that the claim holds is emptied, too. If
        the write fails, the lease runs out."""
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
        self._check(row, None)
        return self._claims.claim(row, key_limit=kind.key_limit, lease=self._settings.lease)

    def _check(self, row: Candidate, claim: Claim | None) -> None:
        """Ask the gates again, which may have closed since: before the claim, and after it. Raises
        NotClaimed; its kind TooLate if there is no time left for the task."""
        refuses = self._gates.refuses(row, claim, self._host.monotonic())
        if refuses is not None:
            raise (TooLate if refuses == "time_left" else NotClaimed)(row.task_id)

    def _begin(self, claim: Claim, call: HandlerCall[Attempt]) -> Attempt:
        """Return the attempt at a task that was just claimed. Its time begins now."""
        now, settings, task, kind = self._host.monotonic(), self._settings, claim.task, call.kind
        seconds = timeout_of(task, kind, longest=settings.task_timeout)
        times_out_at, renewals = now + microseconds(seconds), self._renewals
        context = Context(
            task=task,
            store=self._store,
            host=self._host,
            lease=(
                (lambda: settings.lease)
                if renewals is None
                else partial(renewals.lease, kind.name, settings.lease)
            ),
            max_attempts=attempts_of(task, kind, by_default=settings.max_attempts),
            ends_at=times_out_at,
            async_handlers=call.async_handlers,
            answers=None if kind.batch is None else call.answers,
            weighed=None if kind.weight is None else partial(call.weighed, task.task_id),
        )
        return Attempt(
            claim=claim,
            call=call,
            context=context,
            began=now,
            renew_at=now + microseconds(settings.heartbeat),
            times_out_at=times_out_at,
        )

    def _attempt(self, attempt: Attempt) -> None:
        """Run the attempt to its end, in the thread that claimed its task. A batch's handler is
        called by the thread of its first task; the others' threads are done once they have
        joined."""
        self._mailbox.put(Started(attempt))
        call, outcome = attempt.call, self._not_loaded(attempt)
        if outcome is not None:
            call.leave(attempt.task.task_id)
        elif not call.join(attempt.task.task_id, attempt):
            late = TaskError(type=HANDED_BACK, message="the batch has begun without it")
            outcome = TryAgain(error=late, delay=0, counts=False)
        elif call.is_led_by(attempt.task.task_id):
            self._call(call)
        if outcome is not None and attempt.begin_settling():
            self._settle(attempt, outcome)

    def _call(self, call: HandlerCall[Attempt]) -> None:
        """Call the handler for the tasks that share the call, and settle each."""
        attempts = [attempt for attempt in call.gather() if not attempt.is_settling]
        if not attempts:  # their time is over
            call.returned(HowItLeft())
            return
        with handling([attempt.task.task_id for attempt in attempts]), self._traced(call, attempts):
            answers = call_handler(
                call.kind,
                [attempt.task.payload for attempt in attempts],
                [attempt.context for attempt in attempts],
                call.answers,
            )
        outcomes = [self._outcome(*one) for one in zip(answers, attempts, strict=True)]
        errors = [answer.error for answer in answers if isinstance(answer, Raised)]
        signal = LoadSignal.DONE  # one success: the time of the call is that of real work
        if len(errors) == len(answers):
            slow = any(attempt.timed_out for attempt in attempts)
            overloaded = slow or any(isinstance(error, TimeoutError) for error in errors)
            signal = LoadSignal.OVERLOADED if overloaded else LoadSignal.UNTOLD
        refused = any(isinstance(error, Busy) for error in errors)
        failed = not all(isinstance(error, _NO_FAILURE) for error in errors)
        call.returned(HowItLeft(refused=refused, failed=failed, signal=signal))
        left = [one for one in zip(attempts, outcomes, strict=True) if one[0].begin_settling()]
        # This thread writes one outcome itself, so a call for one task needs no second thread.
        for attempt, outcome in left[1:]:
            self._settle_beside(attempt, outcome)
        for attempt, outcome in left[:1]:
            self._settle(attempt, outcome)

    def _traced(
        self, call: HandlerCall[Attempt], attempts: Sequence[Attempt]
    ) -> AbstractContextManager[object]:
        """Begin the span of the call, where the process traces. What the attempts send on, and
        their follow-up tasks, lead back to it."""
        tasks, batched = [attempt.task for attempt in attempts], call.kind.batch is not None
        call.span = telemetry.call_span(tasks, batched=batched, now=self._host.now())
        if call.span is None:
            return nullcontext()
        for attempt in attempts:  # whose time was over before there was a span to be told
            if attempt.settled is not None:
                _tell_span(attempt.settled, decided=self._host.now())
        if (own := call.span.traceparent) is not None:
            for attempt in attempts:
                attempt.task = replace(attempt.task, traceparent=own)
                attempt.context.traceparent = own
        return call.span.current()

    def _outcome(self, answer: Any, attempt: Attempt) -> Outcome:
        """Return the outcome of an attempt, by the handler's answer for its task."""
        if isinstance(answer, Raised):
            return self._after(answer.error, attempt)
        return returned(answer)

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
        """Return the outcome of an attempt that has ended with an error."""
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
            batched=attempt.kind.batch is not None,
        )

    def _settle_beside(self, attempt: Attempt, outcome: Outcome) -> None:
        """Settle one of several tasks in a thread of its own, if there is one to be had."""
        try:
            self._spawn(partial(self._settle, attempt, outcome), attempt.task.task_id, attempt.kind)
        except OutOfThreads:
            self._settle(attempt, outcome)

    def _settle(self, attempt: Attempt, outcome: Outcome) -> None:
        """Write the outcome, free what the claim holds beside the task, and tell the run."""
        decided = self._host.now()
        try:
            settled = attempt.settled = self._write(attempt, outcome)
            if settled.how is not Settlement.UNSETTLED:
                attempt.claim.leave()
        except Exception as error:
            log.exception("task %s could not be settled", attempt.task.task_id)
            settled = Settled(attempt=attempt, how=Settlement.UNSETTLED, unexpected=error)
        _tell_span(settled, decided=decided)
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
                return Settled(attempt=attempt, how=how, row=row, delay=delay, outcome=outcome)

    def _renew(self, attempt: Attempt) -> None:
        """Send a heartbeat. Its answer may tell that the lease is lost, or that the task was
        cancelled: then an async handler is stopped."""
        if attempt.context.lease_lost:
            return
        told = attempt.context.cancelled
        call, task_id = attempt.call, attempt.task.task_id
        handlers = call.async_handlers if call.is_led_by(task_id) else None
        where = None if handlers is None else handlers.blocked_at()
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


def _tell_span(settled: Settled, *, decided: int) -> None:
    """Tell the span of the call how an attempt has ended, if there is one, and does not know.
    ``decided``: when the outcome was known, in epoch microseconds."""
    attempt = settled.attempt
    if (span := attempt.call.span) is not None:
        task_id, is_fault = attempt.task.task_id, settled.is_fault
        span.settled(task_id, settled.error, is_fault=is_fault, decided=decided)
