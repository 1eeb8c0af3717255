"""A run of the processor: it decides what is claimed, and watches over it until it is settled."""

import logging
import math
import random
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Final

from lifoq.attempt import Attempt, Crew, End, Message, NotStarted, Returned, Settled, Started
from lifoq.context import Context
from lifoq.errors import (
    DamagedTask,
    LeaseLost,
    LifoqError,
    NotClaimed,
    QueueMisconfigured,
    StoreUnavailable,
)
from lifoq.host import MICROSECONDS, Host, Mailbox, microseconds
from lifoq.limits import Gate, Rates
from lifoq.order import Order
from lifoq.registry import Registry, TaskType
from lifoq.schema import Status
from lifoq.store import Candidate, Candidates, Store
from lifoq.worker import RunReport, WorkerSettings

log = logging.getLogger("lifoq.run")

PROMOTE_EVERY: Final = 1.0
"""Seconds between two looks at the due tasks."""
PROMOTE_AT_MOST: Final = 25
"""Due tasks that one look brings in, so that claims are not kept waiting."""
EMPTY_POLL: Final = 0.1
"""Seconds between two looks at a queue that was empty: a task that comes waits half of it."""
SHORTEST_POLL: Final = 0.05
LONGEST_POLL: Final = 0.5
"""Seconds between two looks that could start nothing, or failed, doubling from one to the other."""
TROUBLE_LIMIT: Final = 10.0
"""Seconds of a database that does not answer, after which a run gives up; the sweep starts one."""
CROWD: Final = 1.5
"""Tasks claimed and not settled, at the most, for each slot. More would take the processor and the
connections from one another."""
PAGE_GROWTH: Final = 10
"""How much larger each page of a look is than the one before."""
LARGEST_PAGE: Final = 1_000
"""Rows; only a first page may be larger, which has one for each slot."""


class _Found(IntEnum):
    """What a look at the queue found, the more telling the greater."""

    NOTHING = 0
    BLOCKED = 1
    """Tasks that must not start now."""
    CLAIMED = 2


class Run:
    """One run of the processor, in the thread that calls ``execute``."""

    def __init__(
        self,
        *,
        store: Store,
        registry: Registry,
        settings: WorkerSettings,
        rates: Rates,
        order: Order,
        host: Host,
        draw: random.Random,
        time_limit: float | None,
        woken_at: int | None,
    ) -> None:
        self._store = store
        self._registry = registry
        self._settings = settings
        self._order = order
        self._host = host
        self._gate = Gate(in_flight=settings.in_flight, bucket=rates.of_all)
        self._gates = {
            kind.name: Gate(
                in_flight=kind.in_flight,
                bucket=rates.by_type.get(kind.name),
                room=rates.rooms.get(kind.name),
            )
            for kind in registry
        }
        self._report = RunReport()
        self._in_flight: dict[str, Attempt] = {}
        """By the task's id: claimed, and not settled."""
        self._asked = 0
        """Claims that are not answered yet."""
        self._not_started: list[NotStarted] = []
        now = self._host.now()
        self._claim_until = now + microseconds(self._settings.window)
        self._ends_at = self._claim_until + microseconds(
            self._settings.task_timeout + self._settings.settle_time
        )
        if time_limit is not None:
            self._ends_at = min(self._ends_at, now + microseconds(time_limit))
        self._mailbox: Mailbox[Message] = host.mailbox()
        self._crew = Crew(
            store=store,
            host=host,
            mailbox=self._mailbox,
            settings=settings,
            draw=draw,
            ends_at=self._ends_at,
        )
        self._promote_at = now
        self._tend_at = self._ends_at
        self._poll = SHORTEST_POLL
        self._next_look = now
        self._empty_since: int | None = None
        self._woken_at = now if woken_at is None else min(now, woken_at)
        self._trouble_since: int | None = None
        self._trouble: LifoqError | None = None
        self._hopeless = False
        self._unexpected: Exception | None = None

    def execute(self) -> RunReport:
        while not self._over():
            self._tend_attempts()
            if self._may_claim():
                self._guarded(self._promote_due)
                self._guarded(self._look)
            self._collect()
        self._conclude()
        return self._report

    # When

    def _over(self) -> bool:
        now = self._host.now()
        if now >= self._ends_at:
            return True
        if self._in_flight or self._asked:
            return False
        return not self._claiming(now) or self._believed_empty(now)

    def _claiming(self, now: int) -> bool:
        return now < self._claim_until and not self._hopeless and self._unexpected is None

    def _believed_empty(self, now: int) -> bool:
        return self._empty_since is not None and now - self._empty_since >= microseconds(
            self._settings.linger
        )

    def _may_claim(self) -> bool:
        now = self._host.now()
        return self._claiming(now) and now >= self._next_look and self._wait() == 0

    def _wait(self) -> float:
        """Seconds until another task of some type could start; inf until one has ended.

        A slot is free once its handler has returned, since it is the handlers that must not
        overrun the downstream. Outcomes are written beside, but not ever more of them.
        """
        crowded = self._asked + len(self._in_flight) >= CROWD * self._settings.in_flight
        of_types = min((gate.wait() for gate in self._gates.values()), default=0.0)
        return math.inf if crowded else max(self._gate.wait(), of_types)

    def _nap(self) -> float:
        """Seconds until something is to be done, unless a message comes first."""
        if self._over():
            return 0.0
        now = self._host.now()
        moments = [self._tend_at]
        if self._claiming(now) and not self._asked:
            wait = self._wait()
            if wait < self._settings.window:
                moments.append(max(self._next_look, now + microseconds(wait)))
            moments.append(self._claim_until)
            if self._empty_since is not None and not self._in_flight:
                moments.append(self._empty_since + microseconds(self._settings.linger))
        return max(0.0, (min(moments) - now) / MICROSECONDS)

    # Messages

    def _collect(self) -> None:
        """Take in what the handlers' threads report; sleep until there is something to do."""
        message = self._mailbox.take(self._nap())
        if message is not None:
            self._take_in(message)
            self._take_in_all()

    def _take_in_all(self) -> None:
        while (message := self._mailbox.take(0)) is not None:
            self._take_in(message)

    def _take_in(self, message: Message) -> None:
        match message:
            case NotStarted():
                self._asked -= 1
                self._gate.turn_back()
                self._gates[message.kind.name].turn_back()
                self._not_started.append(message)
            case Started():
                self._asked -= 1
                self._started(message.attempt)
            case Returned():
                # Not before: a handler that hangs after its timeout may still be at the downstream.
                self._gate.leave()
                self._gates[message.attempt.kind.name].leave(refused=message.refused)
                self._next_look = self._host.now()
            case Settled():
                del self._in_flight[message.attempt.task.task_id]
                self._count(message)
                if self._empty_since is not None:  # its follow-ups are in the queue by now
                    self._empty_since = None
                    self._next_look = self._host.now()

    def _started(self, attempt: Attempt) -> None:
        self._in_flight[attempt.task.task_id] = attempt
        self._tend_at = min(self._tend_at, attempt.renew_at, attempt.times_out_at)
        self._report.claimed += 1
        task = attempt.task
        if task.taken_at is not None and task.taken_at == task.first_taken_at:
            self._report.waits.append((task.taken_at - task.enqueued_at) / MICROSECONDS)

    def _count(self, settled: Settled) -> None:
        report, task = self._report, settled.attempt.task
        match settled.end:
            case End.SUCCEEDED:
                report.succeeded += 1
                report.services.append(self._seconds_since(task.taken_at))
            case End.FAILED:
                report.failed += 1
            case End.RETRIED:
                report.retried += 1
            case End.LEASE_LOST:
                report.leases_lost += 1
            case End.UNSETTLED:
                report.unsettled += 1
        self._unexpected = self._unexpected or settled.unexpected

    def _seconds_since(self, moment: int | None) -> float:
        return 0.0 if moment is None else (self._host.now() - moment) / MICROSECONDS

    # Attempts

    def _tend_attempts(self) -> None:
        now = self._host.now()
        if now < self._tend_at:
            return
        for attempt in self._in_flight.values():
            if now >= attempt.times_out_at:
                attempt.times_out_at = self._ends_at  # dealt with; nothing to wake up for
                self._report.timed_out += self._crew.time_out(attempt)
            if now >= attempt.renew_at:
                self._guarded(partial(self._renew, attempt))
        moments = [
            min(attempt.renew_at, attempt.times_out_at) for attempt in self._in_flight.values()
        ]
        self._tend_at = min(moments, default=self._ends_at)

    def _renew(self, attempt: Attempt) -> None:
        attempt.renew_at = self._host.now() + microseconds(self._settings.heartbeat)
        if attempt.context.lease_lost:
            return
        try:
            attempt.context.heartbeat()
        except LeaseLost:
            # Also where the attempt has just been settled, which its own message tells.
            log.debug("the lease on task %s is gone", attempt.task.task_id)
        except StoreUnavailable as error:
            attempt.renew_at = self._host.now() + microseconds(1)
            log.warning("heartbeat of task %s not confirmed: %s", attempt.task.task_id, error)

    # Claiming

    def _guarded(self, step: Callable[[], None]) -> None:
        """Take a step; its failure must not leave the tasks in flight alone."""
        try:
            step()
        except (StoreUnavailable, QueueMisconfigured) as error:
            self._troubled(error)
        except Exception as error:
            log.exception("the run ends early")
            self._unexpected = error

    def _promote_due(self) -> None:
        now = self._host.now()
        if now < self._promote_at:
            return
        self._promote_at = now + microseconds(PROMOTE_EVERY)
        due, _ = self._store.due(limit=PROMOTE_AT_MOST)
        for task_id in due:
            if task_id not in self._in_flight:  # else whoever delayed it could not recognise that
                self._promote(task_id)

    def _promote(self, task_id: str) -> None:
        try:
            self._report.promoted += self._store.promote(task_id) is not None
        except DamagedTask as damage:
            self._condemn(task_id, Status.DELAYED, damage.reason)

    def _look(self) -> None:
        """Go through the queue, by default from the newest task on, and claim what can start."""
        found = self._claim_next()
        self._trouble = self._trouble_since = None
        now = self._host.now()
        if found is _Found.CLAIMED:
            self._poll = SHORTEST_POLL
            self._next_look = now
        elif found is _Found.NOTHING:
            self._poll = SHORTEST_POLL
            self._next_look = now + microseconds(EMPTY_POLL)
        else:
            self._back_off(now)
        if found is _Found.NOTHING:
            self._empty_since = self._quiet_since(now)
        else:
            self._empty_since = None

    def _quiet_since(self, now: int) -> int:
        """Since when a queue that was just found empty has held nothing new. Since the kick, if
        the run has changed nothing yet: the index has had that long to show what the kick was sent
        for, and a run that a late kick started ends after one look."""
        if self._empty_since is not None:
            return self._empty_since
        unchanged = self._report.claimed == self._report.promoted == 0
        return self._woken_at if unchanged else now

    def _claim_next(self) -> _Found:
        """Claim from the first page that holds something to start; then the next look begins at
        the front again. A page without is no barrier: the look goes on behind it."""
        found, page, limit = _Found.NOTHING, self._first_page(), self._page()
        while True:
            found = max(found, self._claim_from(page))
            if found is _Found.CLAIMED or page.next is None or self._wait() > 0:
                return found
            self._tend_attempts()  # a long way must not cost the others their leases
            if not self._claiming(self._host.now()):
                return found
            limit = larger_page(limit)
            page = self._store.candidates(
                limit=limit, start=page.next, newest_first=self._order.newest_first
            )

    def _claim_from(self, page: Candidates) -> _Found:
        """Claim what can start: as many at a time as there is room for, the first rows of the
        page; where every claim was refused, the rows behind them."""
        found, claimed = _Found.NOTHING, self._report.claimed
        self._take_in_all()  # slots may have become free while the page was on its way
        rows = iter(page.rows)
        while row := next(rows, None):
            found = max(found, self._try(row))
            if self._wait() > 0:
                self._await_answers()
                if self._report.claimed > claimed or self._wait() > 0:
                    break
        self._await_answers()
        return _Found.CLAIMED if self._report.claimed > claimed else found

    def _first_page(self) -> Candidates:
        if self._order.asks_for_oldest():
            oldest = self._store.candidates(limit=self._page(), newest_first=False)
            self._order.decide(oldest)
            if not self._order.newest_first:
                return oldest
        return self._store.candidates(limit=self._page())

    def _page(self) -> int:
        """Rows of a first page: enough to fill every slot."""
        return max(self._settings.page, self._settings.in_flight)

    def _try(self, row: Candidate) -> _Found:
        """Have a row claimed, if it can start; whether it is, an answer tells."""
        if row.damage is not None:
            self._condemn(row.task_id, Status.PENDING, row.damage)
            return _Found.NOTHING
        now = self._host.now()
        if row.expires_at <= now:
            return _Found.NOTHING
        kind = self._registry.get(row.task_type) or _unknown(row.task_type)
        gate = self._gates.setdefault(kind.name, Gate(in_flight=None, bucket=None))
        latest = self._ends_at - microseconds(self._settings.settle_time + self._crew.timeout(kind))
        unfinishable = now > latest or not self._claiming(now)  # in this run, or its window is over
        ours = row.task_id in self._in_flight  # the index lags, or its return is unconfirmed
        if unfinishable or ours or not gate.enter():
            return _Found.BLOCKED
        if not self._gate.enter():
            gate.turn_back()
            return _Found.BLOCKED
        self._asked += 1
        self._crew.start(row.task_id, kind)
        return _Found.NOTHING

    def _await_answers(self) -> None:
        """Until every claim is answered; looks after the attempts in flight meanwhile."""
        while self._asked and self._host.now() < self._ends_at:
            self._tend_attempts()
            self._collect()
        refused, self._not_started = self._not_started, []
        for answer in refused:
            if isinstance(answer.error, DamagedTask):
                for seen in (Status.PENDING, Status.TAKEN):  # the claim may have come before
                    self._condemn(answer.task_id, seen, answer.error.reason)
            elif not isinstance(answer.error, NotClaimed):
                raise answer.error

    def _condemn(self, task_id: str, seen: Status, reason: str) -> None:
        if self._store.condemn(task_id, seen=seen, reason=reason):
            self._report.condemned += 1
            log.error("task %s is damaged and went to FAILURE: %s", task_id, reason)

    def _troubled(self, error: LifoqError) -> None:
        now = self._host.now()
        self._trouble = error
        self._trouble_since = now if self._trouble_since is None else self._trouble_since
        # Decided at a failure: a call that took long, and then was answered, is none.
        lasts = now - self._trouble_since >= microseconds(TROUBLE_LIMIT)
        self._hopeless = lasts or isinstance(error, QueueMisconfigured)
        self._back_off(now)
        log.warning("%s", error)

    def _back_off(self, now: int) -> None:
        self._next_look = now + microseconds(self._poll)
        self._poll = min(LONGEST_POLL, self._poll * 2)

    # The end

    def _conclude(self) -> None:
        self._report.unsettled += len(self._in_flight)
        if self._unexpected is not None:
            raise self._unexpected
        if self._trouble is not None and self._report.claimed == 0:
            raise self._trouble
        if not self._believed_empty(self._host.now()):
            self._report.remaining = self._tasks_wait()

    def _tasks_wait(self) -> bool:
        try:
            return self._store.end_of_line(newest=True) is not None
        except StoreUnavailable:
            return True  # unknown; a run for nothing costs less than a task that waits


def larger_page(limit: int) -> int:
    """Rows of the page behind one of ``limit`` rows, which held nothing to start."""
    return max(limit, min(limit * PAGE_GROWTH, LARGEST_PAGE))


def _unknown(name: str) -> TaskType:
    def refuse(_payload: object, _context: Context) -> None:
        raise UnknownTaskType(name)

    return TaskType(name=name, handler=refuse, max_attempts=1)


class UnknownTaskType(LifoqError):
    """No handler is registered for the task's type; redrive it once one is deployed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no handler is registered for task type {name!r}; deploy one and redrive")
