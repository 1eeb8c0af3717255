"""The processor: claims the newest tasks, runs them, and settles each on its own.

One thread (the caller's) decides everything: it claims on free capacity, sends heartbeats, ends
what takes too long, and brings in due tasks. Handlers run in threads of their own, which settle
their task and report back through a mailbox.
"""

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from functools import partial
from typing import Final

from lifoq.backoff import Backoff
from lifoq.context import Context
from lifoq.errors import (
    DamagedTask,
    InvalidInput,
    ItemTooLarge,
    LeaseLost,
    LifoqError,
    NotClaimed,
    QueueMisconfigured,
    StoreUnavailable,
)
from lifoq.host import MICROSECONDS, SYSTEM, Host, Mailbox, microseconds
from lifoq.limits import Gate, TokenBucket
from lifoq.outcome import GiveUp, Outcome, Succeed, TryAgain, raised, returned
from lifoq.registry import Registry, TaskType
from lifoq.schema import Status
from lifoq.store import Candidate, Store
from lifoq.task import Task, TaskError

log = logging.getLogger("lifoq.processor")

PROMOTE_EVERY: Final = 1.0
"""Seconds between two looks at the due tasks."""
PROMOTE_AT_MOST: Final = 25
"""Due tasks that one look brings in, so that claims are not kept waiting."""
SHORTEST_POLL: Final = 0.05
LONGEST_POLL: Final = 0.5
"""Seconds between two looks at a queue that was empty, doubling from one to the other."""
TROUBLE_LIMIT: Final = 10.0
"""Seconds of a database that does not answer, after which a run gives up; the sweep starts one."""
LATER_PAGES: Final = 10
"""How much larger the pages are behind one that held nothing to start."""


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """Times in seconds."""

    window: float = 60.0
    """How long a run claims tasks."""
    task_timeout: float = 25.0
    """The longest an attempt may take; also the default of a task type."""
    lease: float = 30.0
    heartbeat: float = 10.0
    in_flight: int = 10
    page: int = 10
    max_attempts: int = 5
    backoff: Backoff = field(default_factory=Backoff)
    rate_limit: float | None = None
    """Starts per second, over all task types."""
    linger: float = 1.0
    """How long an empty queue is watched before it is believed: indexes are eventually
    consistent."""
    settle_time: float = 5.0
    """Kept at the end of a run, after the last timeout, for writing outcomes."""

    def __post_init__(self) -> None:
        if not 0 < self.heartbeat < self.lease:
            raise InvalidInput("heartbeat", self.heartbeat, f"must lie between 0 and {self.lease=}")
        for name in ("in_flight", "page", "max_attempts"):
            if getattr(self, name) < 1:
                raise InvalidInput(name, getattr(self, name), "must be 1 or more")
        for name in ("window", "task_timeout"):
            if not getattr(self, name) > 0:
                raise InvalidInput(name, getattr(self, name), "must be above 0 seconds")
        if self.rate_limit is not None and not self.rate_limit > 0:
            raise InvalidInput("rate_limit", self.rate_limit, "must be above 0, or left out")


@dataclass(kw_only=True)
class RunReport:
    """What a run did; durations in seconds."""

    claimed: int = 0
    succeeded: int = 0
    failed: int = 0
    retried: int = 0
    timed_out: int = 0
    leases_lost: int = 0
    unsettled: int = 0
    """Whose outcome could not be written; their leases run out, and they run again."""
    promoted: int = 0
    condemned: int = 0
    waits: list[float] = field(default_factory=list)
    """Of first claims: first claim − enqueued."""
    services: list[float] = field(default_factory=list)
    """Of successes: settled − claimed."""
    remaining: bool = False
    """Whether tasks still wait that could be claimed."""

    @property
    def needs_another_run(self) -> bool:
        """A tail call needs progress: without a claim, the next run would do no better, and a
        broken dependency would spin the loop."""
        return self.remaining and self.claimed > 0


class Processor:
    """Runs the registry's tasks. One at a time may run; state that outlives a run is the rate."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        settings: WorkerSettings,
        *,
        host: Host = SYSTEM,
        draw: random.Random | None = None,
    ) -> None:
        """Raises InvalidInput for a task type that could never start."""
        self.store = store
        self.registry = registry
        self.settings = settings
        self.host = host
        self.draw = draw or random.Random()
        self.buckets = {
            kind.name: TokenBucket(kind.rate_limit, host)
            for kind in registry
            if kind.rate_limit is not None
        }
        rate = settings.rate_limit
        self.bucket = None if rate is None else TokenBucket(rate, host)
        for kind in registry:
            if kind.timeout is not None and kind.timeout > settings.task_timeout:
                raise InvalidInput(
                    f"{kind.name}.timeout",
                    kind.timeout,
                    f"is beyond the worker's task_timeout of {settings.task_timeout:g} s; "
                    "raise task_timeout_seconds of the stage, or shorten the task",
                )

    def run(self, *, time_limit: float | None = None) -> RunReport:
        """Work until the queue is empty or the window is over, and every task is settled.

        ``time_limit``: seconds after which the caller is killed; the run is over before.
        Raises StoreUnavailable or QueueMisconfigured where that kept it from claiming anything,
        once whatever was in flight is settled.
        """
        return _Run(self, time_limit).execute()


class _End(Enum):
    """How a flight ended."""

    SUCCEEDED = auto()
    FAILED = auto()
    RETRIED = auto()
    LEASE_LOST = auto()
    UNSETTLED = auto()


_ENDS: Final[dict[type[Outcome], _End]] = {
    Succeed: _End.SUCCEEDED,
    GiveUp: _End.FAILED,
    TryAgain: _End.RETRIED,
}


class _Flight:
    """A claimed task on its way through a handler."""

    def __init__(
        self, *, task: Task, kind: TaskType, context: Context, renew_at: int, times_out_at: int
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
class _Settled:
    flight: _Flight
    end: _End
    unexpected: Exception | None = None


@dataclass(frozen=True)
class _Returned:
    """A handler's thread is free again."""

    flight: _Flight


class _Found(IntEnum):
    """What a look at the queue found, the more telling the greater."""

    NOTHING = 0
    BLOCKED = 1
    """Tasks that must not start now."""
    CLAIMED = 2


class _Run:
    def __init__(self, processor: Processor, time_limit: float | None) -> None:
        self._store = processor.store
        self._registry = processor.registry
        self._settings = processor.settings
        self._host = processor.host
        self._draw = processor.draw
        self._mailbox: Mailbox[_Settled | _Returned] = self._host.mailbox()
        self._gate = Gate(in_flight=self._settings.in_flight, bucket=processor.bucket)
        self._gates = {
            kind.name: Gate(in_flight=kind.in_flight, bucket=processor.buckets.get(kind.name))
            for kind in self._registry
        }
        self._report = RunReport()
        self._flights: list[_Flight] = []
        """The oldest first."""
        self._running: set[_Flight] = set()
        """Whose handler's thread has not come back; it may outlive the flight, after a timeout."""
        now = self._host.now()
        self._claim_until = now + microseconds(self._settings.window)
        self._ends_at = self._claim_until + microseconds(
            self._settings.task_timeout + self._settings.settle_time
        )
        if time_limit is not None:
            self._ends_at = min(self._ends_at, now + microseconds(time_limit))
        self._promote_at = now
        self._poll = SHORTEST_POLL
        self._next_look = now
        self._empty_since: int | None = None
        self._trouble_since: int | None = None
        self._trouble: LifoqError | None = None
        self._hopeless = False
        self._unexpected: Exception | None = None

    def execute(self) -> RunReport:
        while not self._over():
            self._tend_flights()
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
        if self._flights:
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
        return self._claiming(now) and now >= self._next_look and self._gate.wait() == 0

    def _nap(self) -> float:
        """Seconds until something is to be done, unless a message comes first."""
        if self._over():
            return 0.0
        now = self._host.now()
        moments = [self._ends_at]
        moments += [min(f.renew_at, f.times_out_at) for f in self._flights]
        if self._claiming(now):
            wait = self._gate.wait()
            if wait < self._settings.window:
                moments.append(max(self._next_look, now + microseconds(wait)))
            moments.append(self._claim_until)
        return max(0.0, (min(moments) - now) / MICROSECONDS)

    # Messages

    def _collect(self) -> None:
        """Take in what the handlers' threads report; sleep until there is something to do."""
        message = self._mailbox.take(self._nap())
        while message is not None:
            self._take_in(message)
            message = self._mailbox.take(0)

    def _take_in(self, message: _Settled | _Returned) -> None:
        flight = message.flight
        if isinstance(message, _Returned):
            self._running.discard(flight)
        else:
            self._flights.remove(flight)
            self._count(message)
        if flight not in self._running and flight not in self._flights:
            # A handler that hangs keeps its slot: it may still be at the downstream.
            self._gate.leave()
            self._gates[flight.kind.name].leave()
            self._next_look = self._host.now()

    def _count(self, settled: _Settled) -> None:
        report, task = self._report, settled.flight.task
        match settled.end:
            case _End.SUCCEEDED:
                report.succeeded += 1
                report.services.append(self._seconds_since(task.taken_at))
            case _End.FAILED:
                report.failed += 1
            case _End.RETRIED:
                report.retried += 1
            case _End.LEASE_LOST:
                report.leases_lost += 1
            case _End.UNSETTLED:
                report.unsettled += 1
        self._unexpected = self._unexpected or settled.unexpected

    def _seconds_since(self, moment: int | None) -> float:
        return 0.0 if moment is None else (self._host.now() - moment) / MICROSECONDS

    # Flights

    def _tend_flights(self) -> None:
        now = self._host.now()
        for flight in list(self._flights):
            if now >= flight.times_out_at:
                flight.times_out_at = self._ends_at  # dealt with; nothing to wake up for
                if flight.begin_settling():
                    self._report.timed_out += 1
                    timeout = TimeoutError(f"attempt {flight.task.attempts} took too long")
                    self._spawn_settle(flight, self._after_error(flight, timeout))
            if now >= flight.renew_at:
                self._guarded(partial(self._renew, flight))

    def _renew(self, flight: _Flight) -> None:
        flight.renew_at = self._host.now() + microseconds(self._settings.heartbeat)
        if flight.context.lease_lost:
            return
        try:
            flight.context.heartbeat()
        except LeaseLost:
            # Also where the flight has just been settled, which its own message tells.
            log.debug("the lease on task %s is gone", flight.task.task_id)
        except StoreUnavailable as error:
            flight.renew_at = self._host.now() + microseconds(1)
            log.warning("heartbeat of task %s not confirmed: %s", flight.task.task_id, error)

    def _after_error(self, flight: _Flight, error: BaseException) -> Outcome:
        return raised(
            error,
            attempt=flight.task.attempts,
            max_attempts=flight.context.max_attempts,
            backoff=flight.kind.backoff or self._settings.backoff,
            draw=self._draw,
        )

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
        for task_id in self._store.due(limit=PROMOTE_AT_MOST):
            self._promote(task_id)

    def _promote(self, task_id: str) -> None:
        try:
            self._report.promoted += self._store.promote(task_id)
        except DamagedTask as damage:
            self._condemn(task_id, Status.DELAYED, damage.reason)

    def _look(self) -> None:
        """Go through the queue from the newest task on, and claim what can start."""
        found = self._claim_newest()
        self._trouble = self._trouble_since = None
        now = self._host.now()
        if found is _Found.CLAIMED:
            self._poll = SHORTEST_POLL
            self._next_look = now
        else:
            self._next_look = now + microseconds(self._poll)
            self._poll = min(LONGEST_POLL, self._poll * 2)
        if found is _Found.NOTHING:
            self._empty_since = now if self._empty_since is None else self._empty_since
        else:
            self._empty_since = None

    def _claim_newest(self) -> _Found:
        """Claim from the first page that holds something to start; then the next look begins at
        the newest task again. A page without is no barrier: the look goes on behind it."""
        found, start, limit = _Found.NOTHING, None, self._settings.page
        while True:
            page = self._store.candidates(limit=limit, start=start)
            for row in page.rows:
                if row.expires_at <= self._host.now() // MICROSECONDS and row.damage is None:
                    continue
                found = max(found, self._try(row))
                if self._gate.wait() > 0:
                    return found
            if found is _Found.CLAIMED or page.next is None:
                return found
            start, limit = page.next, self._settings.page * LATER_PAGES
            self._tend_flights()  # a long way must not cost the others their leases
            if not self._claiming(self._host.now()):
                return found

    def _try(self, row: Candidate) -> _Found:
        if row.damage is not None:
            self._condemn(row.task_id, Status.PENDING, row.damage)
            return _Found.NOTHING
        kind = self._registry.get(row.task_type) or _unknown(row.task_type)
        gate = self._gates.setdefault(kind.name, Gate(in_flight=None, bucket=None))
        now = self._host.now()
        latest = self._ends_at - microseconds(self._settings.settle_time + self._timeout(kind))
        if now > latest or not self._claiming(now):
            return _Found.BLOCKED  # it could not finish in this run, or the window is over
        if not gate.enter():
            return _Found.BLOCKED
        if not self._gate.enter():
            gate.turn_back()
            return _Found.BLOCKED
        task = None
        try:
            task = self._claim(row)
        finally:
            if task is None:
                gate.turn_back()
                self._gate.turn_back()
        if task is None:
            return _Found.NOTHING
        self._start(task, kind)
        return _Found.CLAIMED

    def _claim(self, row: Candidate) -> Task | None:
        claim_id = self._host.new_id()
        try:
            return self._confirmed_claim(row.task_id, claim_id)
        except NotClaimed:
            return None
        except DamagedTask as damage:
            for seen in (Status.PENDING, Status.TAKEN):  # the claim may have come before the look
                self._condemn(row.task_id, seen, damage.reason)
            return None

    def _confirmed_claim(self, task_id: str, claim_id: str) -> Task:
        """Claim; an unconfirmed claim is asked for once more, under the same id, and so
        recognised. After that it is left to its lease."""
        try:
            return self._store.claim(task_id, claim_id=claim_id, lease=self._settings.lease)
        except StoreUnavailable as error:
            log.warning("claim of task %s not confirmed: %s", task_id, error)
            return self._store.claim(task_id, claim_id=claim_id, lease=self._settings.lease)

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
        self._next_look = now + microseconds(self._poll)
        self._poll = min(LONGEST_POLL, self._poll * 2)
        log.warning("%s", error)

    # Running

    def _timeout(self, kind: TaskType) -> float:
        return self._settings.task_timeout if kind.timeout is None else kind.timeout

    def _start(self, task: Task, kind: TaskType) -> None:
        self._report.claimed += 1
        if task.taken_at is not None and task.taken_at == task.first_taken_at:
            self._report.waits.append((task.taken_at - task.enqueued_at) / MICROSECONDS)
        now = self._host.now()
        times_out_at = now + microseconds(self._timeout(kind))
        context = Context(
            task=task,
            store=self._store,
            host=self._host,
            lease=self._settings.lease,
            max_attempts=kind.max_attempts or self._settings.max_attempts,
            ends_at=times_out_at,
        )
        flight = _Flight(
            task=task,
            kind=kind,
            context=context,
            renew_at=now + microseconds(self._settings.heartbeat),
            times_out_at=times_out_at,
        )
        self._flights.append(flight)
        self._running.add(flight)
        self._host.spawn(lambda: self._work(flight), name=f"{kind.name} {task.task_id}")

    def _work(self, flight: _Flight) -> None:
        """Runs in a thread of its own: the handler, then the settle."""
        try:
            value = flight.kind.handler(flight.task.payload, flight.context)
            outcome = returned(value)
        except BaseException as error:  # noqa: BLE001  (whatever task code raises is its outcome)
            outcome = self._after_error(flight, error)
        if flight.begin_settling():
            self._settle(flight, outcome)
        self._mailbox.put(_Returned(flight))

    def _spawn_settle(self, flight: _Flight, outcome: Outcome) -> None:
        self._host.spawn(
            lambda: self._settle(flight, outcome), name=f"settle {flight.task.task_id}"
        )

    def _settle(self, flight: _Flight, outcome: Outcome) -> None:
        unexpected = None
        try:
            end = self._write(flight, outcome)
        except Exception as error:
            log.exception("task %s could not be settled", flight.task.task_id)
            end, unexpected = _End.UNSETTLED, error
        self._mailbox.put(_Settled(flight=flight, end=end, unexpected=unexpected))

    def _write(self, flight: _Flight, outcome: Outcome) -> _End:
        """Write the outcome, again and again until it is confirmed or the run must end."""
        pause = SHORTEST_POLL
        while True:
            try:
                outcome.write(self._store, flight.task)
            except LeaseLost:
                return _End.LEASE_LOST
            except (ItemTooLarge, InvalidInput) as error:
                # The outcome itself cannot be written: the next attempt's could not be, either.
                if isinstance(outcome, GiveUp):
                    log.exception("task %s has no room for its error", flight.task.task_id)
                    return _End.UNSETTLED  # the sweep puts it aside
                outcome = GiveUp(error=TaskError.of(error))
            except StoreUnavailable as error:
                log.warning("outcome of task %s not confirmed: %s", flight.task.task_id, error)
                if self._host.now() + microseconds(pause) >= self._ends_at:
                    return _End.UNSETTLED
                self._host.sleep(pause)
                pause = min(LONGEST_POLL, pause * 2)
            else:
                return _ENDS[type(outcome)]

    # The end

    def _conclude(self) -> None:
        self._report.unsettled += len(self._flights)
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


def _unknown(name: str) -> TaskType:
    def refuse(_payload: object, _context: Context) -> None:
        raise UnknownTaskType(name)

    return TaskType(name=name, handler=refuse, max_attempts=1)


class UnknownTaskType(LifoqError):
    """No handler is registered for the task's type; redrive it once one is deployed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no handler is registered for task type {name!r}; deploy one and redrive")
