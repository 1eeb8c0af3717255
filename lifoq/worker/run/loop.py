"""The loop of a run: it decides what is claimed, and watches over each task until it is settled.

The thread that calls ``execute`` decides, and makes no call itself. Attempts and background calls
run beside it, each in a thread of its own, and report to its mailbox. So a call that is answered
late keeps only its own task waiting. The run asks, of its own objects:

- ``_gates``: may one more task start, and this one?
- ``_tasks``: which tasks does the run have?
- ``_poller``: which task is next, and what is known of the backlog (``facts``)?
- ``_breaker``: can the run go on?
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from lifoq.basics.host import MICROSECONDS, Mailbox, OutOfThreads, microseconds
from lifoq.errors import DamagedTask, Fail, KeyBusy, NotClaimed
from lifoq.health.pressure import NOTE_EVERY
from lifoq.items.schema import Status
from lifoq.store.candidate import Candidate
from lifoq.worker.backlog.background_calls import (
    BackgroundCalls,
    CallMessage,
    DeadLettered,
    Failed,
    Noted,
    Promoted,
    PromotedAll,
    Remaining,
    Shown,
    ShownBehind,
)
from lifoq.worker.backlog.poller import Poller
from lifoq.worker.backlog.tasks_of_this_run import TasksOfThisRun
from lifoq.worker.backlog.when_to_poll_or_end import Facts, believed_at, next_poll
from lifoq.worker.backlog.when_to_promote import Promotions
from lifoq.worker.gates.gate import HowItLeft
from lifoq.worker.gates.gate_inputs import RunSetup
from lifoq.worker.gates.gates import Passage, RunGates
from lifoq.worker.gates.quota_protocol.renewal_answer import RenewalAnswer
from lifoq.worker.handlers.context import Context
from lifoq.worker.handlers.registry import TaskType, batch_size
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
from lifoq.worker.run.course_of_attempt import AttemptThreads
from lifoq.worker.run.database_circuit_breaker import CircuitBreaker
from lifoq.worker.run.report import ProcessUnusable, RunReport
from lifoq.worker.run.tally import Tally

if TYPE_CHECKING:
    from lifoq.health.worker_notes import Hold
    from lifoq.worker.run.why_tasks_wait import HeldBack

RENEW_AGAIN: Final = 1.0
"""Seconds until a heartbeat that was not confirmed is sent again."""
REMAINING_PATIENCE: Final = 2.0
"""Seconds for which the end of a run waits to hear whether tasks remain."""
NOTE_PATIENCE: Final = 1.0
"""Seconds for which the end of a run waits until what it started is noted."""

FOREVER: Final = 100 * 365 * 86_400
"""Seconds: the window of a run that goes on until it is stopped."""


class SlotFree:
    """Message: there is room at a gate of the process. A handler has returned, one of this run or
    of an earlier one; or it was not called after all; or a task weighs less than was believed; or
    the process has recalled how many tasks its downstream bears."""


@dataclass(frozen=True)
class Stop:
    """Message: claim no more. Tasks that are still at work after ``grace`` seconds are handed
    back."""

    grace: float


Message = AttemptMessage | CallMessage | SlotFree | Stop


class Run:
    """One run of the processor. Its fields are written by the thread that calls ``execute`` only.
    ``stop`` and ``idle`` may be called from any thread: ``stop`` sends a message, ``idle`` only
    reads."""

    def __init__(
        self,
        process: ProcessState,
        *,
        time_limit: float | None,
        woken_at: int | None,
        until_stopped: bool,
        on_progress: Callable[[RunReport], None],
    ) -> None:
        """``until_stopped``: the run has no window, and does not end when the queue is empty."""
        # From the process, which outlives the run.
        self._process = process
        self._registry, self._renewals, self._kept_limits = (
            process.registry,
            process.renewals,
            process.kept_limits,
        )
        self._host, self._settings = process.host, process.settings
        settings, now = self._settings, self._host.monotonic()

        # Moments, in monotonic microseconds. Messages and timers move them; ``_agenda`` and
        # ``_over`` act by them.
        self._claim_until = now + microseconds(FOREVER if until_stopped else settings.window)
        """The end of claiming: that of the window, or the stop."""
        self._ends_at = min(
            self._claim_until + microseconds(settings.task_timeout + settings.settle_time),
            now + microseconds(2 * FOREVER if time_limit is None else time_limit),
        )
        """The moment at which the run holds tasks no longer, come what may. ``_conclude`` follows:
        Lambda's timeout has ten seconds for it (``PROCESSOR_MARGIN_SECONDS``, ``settle_time``)."""
        self._tend_at = self._ends_at
        """The moment at which the first of the attempts needs a heartbeat, or its end."""
        self._hand_back_at: float = math.inf
        """The moment at which a run that was stopped hands back what is still at work."""

        # What works beside the run, and the mailbox that it reports to.
        self._mailbox: Mailbox[Message] = self._host.mailbox()
        process.gates.on_free = partial(self._mailbox.put, SlotFree())
        self._calls = BackgroundCalls(
            process.store, self._host, types=process.types, mailbox=self._mailbox
        )

        # What the run knows. No other thread writes to these objects.
        self._linger = None if until_stopped else settings.linger
        """Seconds for which an empty queue is watched before it is believed; None: for ever."""
        woken = None if woken_at is None else partial(_moment_of, woken_at, process, latest=now)
        # A run that does not linger (0), or that goes on anyhow (None), waits for no retry.
        waits_for_retries = bool(self._linger)
        self._promotions = Promotions.of_start(
            now, until=self._claim_until if waits_for_retries else now
        )
        self._tasks: TasksOfThisRun[Attempt] = TasksOfThisRun()
        batches = (kind.batch or 1 for kind in process.registry)
        self._poller = Poller(
            self._calls,
            clock=process.store.now,
            first_page=max(settings.page, settings.in_flight, *batches),
            order=process.order,
            claimed=self._tasks,
            woken_at=woken or (lambda: now),
            now=now,
        )
        self._breaker = CircuitBreaker()
        self._tally = Tally(on_progress, now, keeps_times=not until_stopped)
        self._gates = self._poller.gates = RunGates(process.gates, self._gate_setup())
        self._attempts = AttemptThreads(
            process, gates=self._gates, mailbox=self._mailbox, ends_at=self._ends_at
        )

        # What has happened to the run.
        self._handing_back = False
        """True once the grace after a stop is over."""
        self._out_of_threads = False
        """True once a thread could not be started: the run claims no more."""
        self._remaining: bool | None = None
        """The answer to the question at the end, if tasks wait; None until it has come."""
        self._noting = False
        """True while a note for producers is on its way."""
        self._held_back: HeldBack | None = None
        """Asks why tasks wait, from the first note on."""

    def _gate_setup(self) -> RunSetup:
        return RunSetup(
            process=self._process.gates.setup,
            kind_of=self._kind,
            types=self._process.types,
            claimed=self._tasks,
            claiming=self,
            rows_like=self._poller.rows_like,
            clock=self._process.store.now,
            ends_at=self._ends_at,
            key_starts=self._process.claims.starts,
        )

    def execute(self) -> RunReport:
        """Work until the run is over, settle what is in flight, and return the report."""
        now = self._host.monotonic()
        if self._kept_limits is not None and not self._kept_limits.recalled:
            self._try(partial(self._calls.recall, self._kept_limits))
        while not self._over(now):
            self._try(partial(self._do_what_is_due, now))
            message = self._mailbox.take(self._nap(now))
            now = self._host.monotonic()
            while message is not None:
                self._try(partial(self._take_in, message, now))
                message = self._mailbox.take(0)
        self._conclude()
        return self._tally.report

    def reasons(self, row: Candidate) -> list[tuple[str, str]]:
        """Return why the run does not start a task, as ``RunGates.reasons``."""
        return self._gates.reasons(row, self._host.monotonic())

    def stop(self, grace: float) -> None:
        """Ask the run to end. It may be called from any thread, or a signal's handler."""
        self._mailbox.put(Stop(grace))

    @property
    def _clean_up(self) -> int:
        """Microseconds that an async handler has to clean up after it is told to stop."""
        return microseconds(self._settings.settle_time) // 2

    @property
    def idle(self) -> bool:
        """True if the run holds no task."""
        return self._tasks.nothing

    # When

    def _over(self, now: int) -> bool:
        """Return True if the run has come to its end: its time is up, there is nothing more to do,
        or it claims no more and holds no task."""
        if now >= self._ends_at:
            return True
        claims_no_more = self.claims_no_more(now) is not None
        return now >= self._done_at or (self._tasks.nothing and claims_no_more)

    @property
    def _done_at(self) -> float:
        """The moment at which there is nothing more to do, unless something comes first."""
        empty_at = believed_at(self._poller.facts, linger=self._linger)
        if empty_at is None or not self._tasks.nothing:
            return math.inf
        return max(empty_at, self._promotions.awaited_until)

    def claims_no_more(self, now: int) -> str | None:
        """Return why the run claims no more tasks; None while it does, if there is a slot."""
        if now >= self._claim_until:
            return "its time is over"
        if self._breaker.hopeless:
            return "the database does not answer as it should"
        if self._out_of_threads:
            return "no thread can be started"
        if self._process.gates.is_stuck:
            return "handlers that hang take all slots"
        return None

    def _poll_at(self) -> int:
        """Return the moment at which the next poll is due, if there is a slot by then."""
        due = next_poll(self._poller.facts, watches=self._linger is None)
        return max(due.at, self._tasks.answers_by)

    def _agenda(self, now: int) -> Iterator[tuple[float, Callable[[int], None]]]:
        """Yield each thing that the run does by itself, and the moment from which it is due, in the
        order in which they are done. The run acts by this list and sleeps by it: so no timer is
        forgotten or overslept."""
        yield self._tend_at, self._tend_attempts
        yield self._tally.tell_at, self._tell
        yield self._hand_back_at, self._hand_back
        if self._renewals is not None:
            yield self._renewals.due_at, self._renew_quotas
        yield min(self._ends_at, self._done_at), _nothing
        if self.claims_no_more(now) is not None:
            return
        yield self._claim_until, _nothing
        wait = self._gates.wait_of_any(now)
        if wait < math.inf:  # else no task can start before a message tells of a free slot
            # A time that is rounded down to this moment would have the run spin.
            free_at = now + max(1, microseconds(wait)) if wait else now
            yield max(free_at, self._promotions.due_at), self._promote
            yield max(free_at, self._poll_at()), self._poller.poll

    def _do_what_is_due(self, now: int) -> None:
        for at, step in self._agenda(now):
            if now >= at:
                step(now)

    def _nap(self, now: int) -> float:
        """Return the seconds until something is to be done, unless a message comes first."""
        first = now if self._over(now) else min(at for at, _ in self._agenda(now))
        return max(0.0, (first - now) / MICROSECONDS)

    def _renew_quotas(self, now: int) -> None:
        if self._renewals is not None:
            self._calls.renewals(self._renewals.due(now))

    def _promote(self, now: int) -> None:
        self._promotions = self._promotions.sends(now)
        self._calls.promote(but=frozenset(self._tasks.in_flight))

    def _try(self, step: Callable[[], None]) -> None:
        """Take a step that may need a thread. If there is none, the run claims no more."""
        try:
            step()
        except OutOfThreads:
            self._out_of_threads = True

    # Messages

    def _take_in(self, message: Message, now: int) -> None:
        if isinstance(message, AttemptMessage):
            self._take_attempt_message(message, now)
        elif isinstance(message, SlotFree):
            self._poller.note(Facts.after_cause_to_poll, now)
        elif isinstance(message, RenewalAnswer):
            self._take_answer(message, now)
        elif isinstance(message, Stop):
            self._claim_until = min(self._claim_until, now)
            self._hand_back_at = now + microseconds(message.grace)
        else:
            self._take_call_message(message, now)

    def _take_attempt_message(self, message: AttemptMessage, now: int) -> None:
        match message:
            case NotStarted():
                self._not_started(message, now)
            case Started(attempt):
                self._started(attempt, now)
            case Settled():
                self._settled(message, now)
            case NotRenewed(attempt, unexpected):
                if unexpected is not None:
                    self._breaker.ends_the_run(unexpected)
                attempt.renew_at = min(attempt.renew_at, now + microseconds(RENEW_AGAIN))
                self._tend_at = min(self._tend_at, attempt.renew_at)

    def _take_call_message(self, message: CallMessage, now: int) -> None:
        match message:
            case Shown():
                self._shown(message, now)
            case ShownBehind():
                self._shown_behind(message, now)
            case Promoted(row):
                self._breaker.call_answered()
                self._tally.of_now.promoted += 1
                self._poller.note(Facts.after_claim_or_promotion, now)
                self._poller.task_returned(row, now)
            case PromotedAll():
                self._breaker.call_answered()
                self._promotions = self._promotions.done(now)
            case DeadLettered():
                self._tally.of_now.dead_lettered += 1
            case Remaining(some):
                self._remaining = some
            case Noted():
                self._noting = False
            case Failed():
                self._failed(message, now)

    def _take_answer(self, answer: RenewalAnswer, now: int) -> None:
        if self._renewals is not None and self._renewals.take_answer(answer):
            self._poller.note(Facts.after_cause_to_poll, now)
        if answer.error is None:
            self._breaker.call_answered()
        else:
            self._breaker.call_failed(answer.error, now)

    def _not_started(self, answer: NotStarted, now: int) -> None:
        """Forget that the task is being claimed, and decide by the reason when it may be tried
        again."""
        task_id = answer.row.task_id
        self._tasks.not_started(task_id)
        self._gates.not_started(task_id, answer.error)
        # It may have been claimed all the same, or handed back.
        self._poller.note(Facts.after_claim_or_promotion, now)
        self._poller.note(Facts.after_return, now)
        if isinstance(answer.error, KeyBusy | NotClaimed):
            self._breaker.call_answered()  # the database has answered
        if isinstance(answer.error, KeyBusy):
            self._poller.task_returned(answer.row, now)
        elif isinstance(answer.error, TooLate):  # a later run has the time for it
            self._tasks.refused(task_id, now, until=self._ends_at)
        elif isinstance(answer.error, NotClaimed):
            self._tasks.refused(task_id, now)
        elif isinstance(answer.error, DamagedTask):  # the claim may have come before
            seen = (Status.PENDING, Status.TAKEN)
            self._poller.dead_letter(task_id, seen, answer.error.reason)
        else:
            self._poller.task_returned(answer.row, now)
            self._breaker.call_failed(answer.error, now)
            self._poller.note(Facts.after_call_failed, now)

    def _started(self, attempt: Attempt, now: int) -> None:
        self._tasks.started(attempt.task.task_id, attempt)
        self._gates.started(attempt.task.task_id)
        self._breaker.call_answered()
        self._tend_at = min(self._tend_at, attempt.renew_at, attempt.times_out_at)
        self._poller.note(Facts.after_claim_or_promotion, now)
        self._tally.claimed(attempt.task)
        if self._handing_back:
            attempt.stops(Interrupted())
            self._attempts.interrupt(attempt)

    def _settled(self, settled: Settled, now: int) -> None:
        """Count the end of an attempt, and note that a slot, its key and perhaps the task itself
        are free again."""
        task, kind = settled.attempt.task, settled.attempt.kind
        self._tasks.settled(task.task_id)
        seconds = (now - settled.attempt.began) / MICROSECONDS
        self._tally.ended(settled, seconds=seconds)
        confirmed = settled.how is not Settlement.UNSETTLED
        self._gates.settled(task.task_id, HowItLeft(seconds=seconds, confirmed=confirmed))
        if settled.unexpected is not None:
            self._breaker.ends_the_run(settled.unexpected)
        self._poller.note(Facts.after_settlement, now)
        if kind.per_key is not None and task.key is not None:
            self._poller.note(Facts.after_cause_to_poll, now)  # another task of the key may start
        if settled.row is not None:
            self._poller.task_returned(settled.row, now)
        if settled.delay > 0:
            self._promotions = self._promotions.delays(now + microseconds(settled.delay), now=now)

    def _shown(self, shown: Shown, now: int) -> None:
        """Start what the first page shows, and read on behind it if slots are left."""
        self._breaker.call_answered()
        if not self._poller.shown(shown, now):
            return
        started = self._start_what_may(now)
        promoting = self._promotions.under_way
        self._poller.judge(now, page=shown.page, started=started, promoting=promoting)
        if self._poller.wants_more(started=started, free=self._gates.wait_of_any(now) == 0):
            self._poller.poll_behind(now)

    def _shown_behind(self, shown: ShownBehind, now: int) -> None:
        """Start what a later page shows, and read on behind it if it gave nothing to start."""
        self._poller.shown_behind(shown, now)
        started = self._start_what_may(now)
        promoting = self._promotions.under_way
        self._poller.judge(now, page=shown.page, started=started, promoting=promoting)
        if not started and self._gates.wait_of_any(now) == 0:
            self._poller.poll_behind(now)

    def _failed(self, failed: Failed, now: int) -> None:
        if isinstance(failed.request, PromotedAll):
            self._promotions = self._promotions.done(now, failed=True)
        elif failed.request is not None:
            self._poller.failed(failed.request, now)
        self._breaker.call_failed(failed.error, now)

    # Attempts

    def _tend_attempts(self, now: int) -> None:
        """End the attempts whose time is over, and send the heartbeats that are due."""
        attempts = self._tasks.in_flight.values()
        for attempt in attempts:
            if now >= attempt.times_out_at:
                self._time_out(attempt, now)
            if now >= attempt.renew_at:
                attempt.renew_at = now + microseconds(self._settings.heartbeat)
                self._attempts.renew(attempt)
        moments = [min(attempt.renew_at, attempt.times_out_at) for attempt in attempts]
        self._tend_at = min(moments, default=self._ends_at)

    def _time_out(self, attempt: Attempt, now: int) -> None:
        """End an attempt whose time is over. An async handler is stopped, and has a moment to clean
        up. Any other handler hangs: the task is settled without it."""
        first, attempt.timed_out = not attempt.timed_out, True
        if first and attempt.stops(attempt.took_too_long()):
            attempt.times_out_at = now + self._clean_up
            self._tally.of_now.timed_out += 1
        else:
            attempt.times_out_at = self._ends_at  # dealt with; nothing to wake up for
            ended = self._attempts.time_out(attempt)
            self._tally.of_now.timed_out += first and ended

    def _hand_back(self, now: int) -> None:
        """Hand back the tasks that are still at work: the grace is over. An async handler is
        stopped, and has a moment to clean up."""
        first, self._handing_back = not self._handing_back, True
        self._hand_back_at = math.inf
        if first:
            self._ends_at = min(self._ends_at, now + microseconds(self._settings.settle_time))
        for attempt in self._tasks.in_flight.values():
            if first and attempt.stops(Interrupted()):
                self._hand_back_at = now + self._clean_up
            else:
                self._attempts.interrupt(attempt)

    # Claiming

    def _start_what_may(self, now: int) -> bool:
        """Start attempts at the next tasks as long as the gates let any in. Return True if any was
        started. Where all slots are taken, each type is tried once: it may ask for more room."""
        started, shut = False, set[str]()
        while self._gates.worker_is_open(now):
            row = self._poller.choose_next(now, shut=lambda row: row.task_type in shut)
            if row is None:
                break
            passed = self._gates.enter(row, now)
            if passed is not None:
                self._start(row, passed, now)
                started = True
            elif self._gates.awaits_answer(row, now):
                break  # nothing that comes after it, until the answer says whether it may start
            else:
                shut.add(row.task_type)
        return started

    def _start(self, row: Candidate, passed: Passage, now: int) -> None:
        """Start a call of the handler for this task, and for those of its batch that come next.
        It has passed the gates."""
        kind, rows = self._kind(row.task_type), list[Candidate]()
        if kind.is_too_heavy(row):
            kind = _refusing(kind, TooHeavy(kind, row))
        size, following = batch_size(kind, row), row
        self._tasks.begins_call()
        while True:
            rows.append(following)
            self._poller.take_out(following)
            self._tasks.begins_claim(following, now)
            self._gates.enter_key(following, now)
            next_row = None if len(rows) == size else self._poller.next_like(row, now)
            if next_row is None or kind.is_too_heavy(next_row) or not passed.join(next_row, now):
                break
            following = next_row
        self._attempts.start(rows, kind, passed)

    def _kind(self, task_type: str) -> TaskType:
        return self._registry.get(task_type) or _unknown(task_type)

    # The end

    def _conclude(self) -> None:
        """Count what is left, give back the quotas, and tell if tasks remain. Raises what made the
        run end early."""
        now = self._host.monotonic()
        # Attempts that are still there had until the end of the run to settle.
        for attempt in self._tasks.in_flight.values():
            settled = attempt.settled or Settled(attempt=attempt, how=Settlement.UNSETTLED)
            self._tally.ended(settled, seconds=(now - attempt.began) / MICROSECONDS)
        self._report_progress(now)
        report = self._tally.report
        reason = self._unusable()
        self._give_back_quotas()
        if self._breaker.fatal is not None:
            raise self._breaker.fatal
        if self._breaker.error is not None and report.claimed == 0:
            raise self._breaker.error
        empty_at = believed_at(self._poller.facts, linger=self._linger)
        is_empty = self.claims_no_more(now) is None and empty_at is not None and now >= empty_at
        if not is_empty:  # else it is known that no task waits
            report.remaining = self._tasks_wait()
            self._note_last_starts(now, least=0 if report.remaining else NOTE_EVERY / 2)
        if reason is not None:
            raise ProcessUnusable(reason, report)

    def _tell(self, now: int) -> None:
        """Report progress to the caller, and to producers what was started."""
        self._report_progress(now)
        self._note_starts(now, least=NOTE_EVERY)

    def _report_progress(self, now: int) -> None:
        """Report progress to the caller. Where the caller's function fails, the run ends early, but
        not at once: its tasks still need heartbeats, and its quotas are to be given back."""
        self._tally.of_now.limits = self._found()
        try:
            self._tally.tell(now)
        except Exception as error:  # noqa: BLE001 - raised at the end of the run
            self._breaker.ends_the_run(error)

    def _found(self) -> dict[str, float]:
        """Return the tasks at a time that were found, by adaptive task type."""
        found = {} if self._kept_limits is None else self._kept_limits.found()
        return {name: tasks for name, (tasks, _) in found.items()}

    def _note_starts(self, now: int, *, least: float, ended: bool = False) -> None:
        starts = self._tally.to_note(now, least=least)
        if starts is not None:
            self._noting = True
            held = self._why_tasks_wait(now, ended=ended)
            about = partial(self._process.noted, ended=ended, held=held)
            self._try(
                partial(self._calls.note, starts, self._kept_limits, about=about, ended=ended)
            )

    def _why_tasks_wait(self, now: int, *, ended: bool) -> "tuple[Hold, ...]":
        if self._held_back is None:
            from lifoq.worker.run.why_tasks_wait import HeldBack  # noqa: PLC0415 - not at a cold start

            self._held_back = HeldBack(self._process.store.now)
        return self._held_back.look(self._gates, self._poller.heads, now, ended=ended)

    def _note_last_starts(self, now: int, *, least: float) -> None:
        """Note what was started, and wait for that: the process may be frozen once the run is
        over."""
        self._note_starts(now, least=least, ended=True)
        self._listen(lambda: self._out_of_threads or not self._noting, seconds=NOTE_PATIENCE)

    def _give_back_quotas(self) -> None:
        """Give back this process's quotas of the limits over all workers. What cannot be given back
        runs out. A renewal that is under way is waited for: written after the last one, it would
        take the quota again."""
        renewals = self._renewals
        if renewals is None:
            return
        self._listen(lambda: renewals.all_answered, seconds=REMAINING_PATIENCE)
        calls = renewals.last()
        if calls:
            self._try(partial(self._calls.renewals, calls))
            self._listen(lambda: renewals.all_answered, seconds=REMAINING_PATIENCE)

    def _tasks_wait(self) -> bool:
        """Return True if tasks wait that could be claimed, or if nobody could tell in time."""
        self._try(self._calls.ask_whether_tasks_wait)
        self._listen(
            lambda: self._out_of_threads or self._remaining is not None, seconds=REMAINING_PATIENCE
        )
        return self._remaining is not False

    def _listen(self, heard: Callable[[], bool], *, seconds: float) -> None:
        """Take in the messages that the end of a run waits for. All others come too late."""
        until = self._host.monotonic() + microseconds(seconds)
        while not heard() and (now := self._host.monotonic()) < until:
            match self._mailbox.take((until - now) / MICROSECONDS):
                case RenewalAnswer() as answer if self._renewals is not None:
                    self._renewals.take_answer(answer)
                case Remaining(some):
                    self._remaining = some
                case Noted():
                    self._noting = False

    def _unusable(self) -> str | None:
        """Return the reason why this process can start no more tasks; None if it can."""
        if self._out_of_threads:
            return "no thread can be started"
        if self._process.gates.is_stuck:
            return "all slots are taken by handlers that hang"
        if types := self._process.gates.stuck_types:
            return f"all slots of task type {', '.join(types)} are taken by handlers that hang"
        return None


def _nothing(_now: int) -> None:
    """Do nothing: the run wakes up only to see if it is over."""


def _moment_of(kick: int, process: ProcessState, *, latest: int) -> int:
    """Return a kick's time, given in epoch microseconds, by the monotonic clock."""
    return min(latest, process.host.monotonic() - (process.store.now() - kick))


def _unknown(name: str) -> TaskType:
    return _refusing(TaskType(name=name, handler=print), UnknownTaskType(name))


def _refusing(kind: TaskType, error: Fail) -> TaskType:
    """Return the type with a handler that fails."""

    def refuse(_payload: object, _context: Context) -> None:
        raise error

    return replace(kind, handler=refuse, is_async=False, batch=None, batch_wait=0.0)


class UnknownTaskType(Fail):
    """Raised for a task of an unknown type if such tasks are to fail: no handler is registered.
    Deploy one, then redrive the task."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no handler is registered for task type {name!r}; deploy one and redrive")


class TooHeavy(Fail):
    """Raised for a task that weighs more than a limit of its type: it could never start."""

    def __init__(self, kind: TaskType, row: Candidate) -> None:
        super().__init__(
            f"weighs {row.weight:,} {kind.weight}, and task type {kind.name!r} starts none above "
            f"{kind.most_units:,.10g}; put smaller ones, or raise the limit and redrive"
        )
