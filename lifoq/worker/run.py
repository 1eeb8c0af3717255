"""A run of the processor: it decides what is claimed, and watches over it until it is settled.

The thread that calls ``execute`` decides, and makes no call itself: attempts (``attempt``) and
errands (``errands``) run beside it, each in a thread of its own, and report to its mailbox. So a
call that is answered late keeps only its own task waiting. What is decided by whom:

- ``limits``: what is free;
- ``pace``: when to look at the queue next, and when it is believed to be empty;
- ``sight``: what the looks have shown, and which task is the next;
- ``trouble``: whether the run can go on.
"""

import math
import random
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from lifoq.basics.host import MICROSECONDS, Host, Mailbox, OutOfThreads, microseconds
from lifoq.errors import DamagedTask, LifoqError, NotClaimed, ProcessUnusable
from lifoq.items.schema import Status
from lifoq.tables.store import Candidate, Candidates, Store
from lifoq.worker.attempt import (
    Attempt,
    AttemptMessage,
    Attempts,
    NotRenewed,
    NotStarted,
    Settled,
    Started,
)
from lifoq.worker.context import Context
from lifoq.worker.errands import (
    Condemned,
    ErrandMessage,
    Errands,
    Failed,
    Look,
    Promoted,
    PromotedAll,
    Remaining,
    Shown,
    ShownBehind,
)
from lifoq.worker.limits import Limits
from lifoq.worker.order import Order
from lifoq.worker.pace import LOOK_PATIENCE, Pace
from lifoq.worker.registry import Registry, TaskType
from lifoq.worker.settings import RunReport, WorkerSettings
from lifoq.worker.sight import Lane, Sight
from lifoq.worker.tally import Tally
from lifoq.worker.trouble import Trouble

PROMOTE_EVERY: Final = 1.0
"""Seconds between two looks at the due tasks."""
PROMOTE_PATIENCE: Final = 5.0
"""Seconds after which due tasks are looked for again, though the last time was not answered."""
RENEW_AGAIN: Final = 1.0
"""Seconds until a heartbeat that was not confirmed is sent again."""
CLAIM_PATIENCE: Final = 0.1
"""Seconds for which the next look waits for the answers to claims: before, it would be shown the
same rows again."""
REFUSED_FOR: Final = 0.5
"""Seconds for which a task whose claim was refused is not tried again: the index lags."""
REMAINING_PATIENCE: Final = 2.0
"""Seconds for which the end of a run waits to hear whether tasks remain."""
CROWD: Final = 1.5
"""Tasks claimed and not settled, at the most, for each slot. More would take the processor and the
connections from one another."""
PAGE_GROWTH: Final = 10
"""How much larger each page behind the first is than the one before."""
LARGEST_PAGE: Final = 1_000
"""Rows; only a first page may be larger, which has one for each slot."""


class SlotFree:
    """A handler has returned: one of this run, or of an earlier one."""


Message = AttemptMessage | ErrandMessage | SlotFree


class Run:
    """One run of the processor, in the thread that calls ``execute``."""

    def __init__(
        self,
        *,
        store: Store,
        registry: Registry,
        settings: WorkerSettings,
        limits: Limits,
        order: Order,
        host: Host,
        draw: random.Random,
        time_limit: float | None,
        woken_at: int | None,
        on_progress: Callable[[RunReport], None],
    ) -> None:
        self._registry = registry
        self._settings = settings
        self._limits = limits
        self._order = order
        self._host = host
        self._store = store
        now = host.monotonic()
        self._claim_until = now + microseconds(settings.window)
        self._ends_at = self._claim_until + microseconds(
            settings.task_timeout + settings.settle_time
        )
        if time_limit is not None:
            self._ends_at = min(self._ends_at, now + microseconds(time_limit))
        self._mailbox: Mailbox[Message] = host.mailbox()
        self._attempts = Attempts(
            store=store,
            host=host,
            limits=limits,
            mailbox=self._mailbox,
            settings=settings,
            draw=draw,
            ends_at=self._ends_at,
        )
        limits.on_free = partial(self._mailbox.put, SlotFree())
        self._errands = Errands(store=store, host=host, mailbox=self._mailbox)
        ago = 0 if woken_at is None else max(0, host.now() - woken_at)
        self._pace = Pace(now=now, woken_at=now - ago, linger=settings.linger)
        self._sight = Sight(newest_first=order.newest_first, now=now)
        self._trouble = Trouble()
        self._tally = Tally(on_progress, now)
        self._asked: dict[str, int] = {}
        """Claims that are not answered yet, by the task's id, and when they were sent."""
        self._in_flight: dict[str, Attempt] = {}
        """By the task's id: claimed, and not settled."""
        self._suspect: str | None = None
        """The one task, asked for or in flight, whose last worker was lost."""
        self._refused: dict[str, int] = {}
        """Tasks whose claim was refused, and until when that is remembered."""
        self._back: dict[str, tuple[int, Candidate]] = {}
        """Tasks that the run itself returned to the queue, and when, by their ids."""
        self._put_aside: set[str] = set()
        """Damaged items."""
        self._read_on_from: int | None = None
        """Since when a page behind the first is on its way."""
        self._left_free = False
        """Whether the last look left slots free."""
        self._page_behind = self._first_page
        self._promote_at = now
        self._promoting_since: int | None = None
        """Since when due tasks are being brought in, if they are."""
        self._tend_at = self._ends_at
        self._out_of_threads = False
        self._remaining: bool | None = None

    def execute(self) -> RunReport:
        while not self._over():
            self._try(self._do_what_is_due)
            self._take_in_all(self._nap())
        self._conclude()
        return self._tally.report

    # When

    def _over(self) -> bool:
        now = self._host.monotonic()
        if now >= self._ends_at:
            return True
        if self._in_flight or self._asked:
            return False
        return not self._claiming(now) or self._pace.believed_empty(now)

    def _claiming(self, now: int) -> bool:
        return (
            now < self._claim_until
            and not self._trouble.hopeless
            and not self._out_of_threads
            and not self._limits.full_of_hung
        )

    def _crowded(self) -> bool:
        """Outcomes are written beside the handlers, but not ever more of them."""
        return len(self._asked) + len(self._in_flight) >= CROWD * self._settings.in_flight

    def _look_at(self) -> int:
        """When the next look is due, if there is a slot by then."""
        answers = max(self._asked.values(), default=0) + microseconds(CLAIM_PATIENCE)
        return max(self._pace.look_at, answers) if self._asked else self._pace.look_at

    def _nap(self) -> float:
        """Seconds until something is to be done, unless a message comes first."""
        now = self._host.monotonic()
        if self._over():
            return 0.0
        moments = [self._tend_at, self._tally.tell_at]
        if self._claiming(now):
            moments += [self._claim_until, self._promote_at]
            wait = math.inf if self._crowded() else self._limits.shortest_wait()
            if wait < math.inf:
                moments.append(max(self._look_at(), now + microseconds(wait)))
            believed = self._pace.believed_at
            if believed is not None and not self._in_flight and not self._asked:
                moments.append(believed)
        return max(0.0, (min(moments) - now) / MICROSECONDS)

    def _do_what_is_due(self) -> None:
        now = self._host.monotonic()
        if now >= self._tend_at:
            self._tend_attempts(now)
        if now >= self._tally.tell_at:
            self._tally.tell(now)
        if not self._claiming(now):
            return
        if now >= self._promote_at:
            self._promote_due(now)
        if now >= self._look_at() and self._slot_free():
            self._look(now)

    def _slot_free(self) -> bool:
        return not self._crowded() and self._limits.shortest_wait() == 0

    def _try(self, step: Callable[[], None]) -> None:
        try:
            step()
        except OutOfThreads:
            self._out_of_threads = True

    # Messages

    def _take_in_all(self, nap: float) -> None:
        """Sleep until there is something to do or to take in; take in all there is."""
        message = self._mailbox.take(nap)
        while message is not None:
            self._try(partial(self._take_in, message))
            message = self._mailbox.take(0)

    def _take_in(self, message: Message) -> None:
        now = self._host.monotonic()
        if isinstance(message, AttemptMessage):
            self._of_an_attempt(message, now)
        elif isinstance(message, SlotFree):
            self._pace.look_at_once(now)
        else:
            self._of_an_errand(message, now)

    def _of_an_attempt(self, message: AttemptMessage, now: int) -> None:
        match message:
            case NotStarted():
                self._not_started(message, now)
            case Started(attempt):
                self._started(attempt)
            case Settled():
                self._settled(message, now)
            case NotRenewed(attempt):
                attempt.renew_at = min(attempt.renew_at, now + microseconds(RENEW_AGAIN))
                self._tend_at = min(self._tend_at, attempt.renew_at)

    def _of_an_errand(self, message: ErrandMessage, now: int) -> None:
        match message:
            case Shown():
                self._shown(message, now)
            case ShownBehind():
                self._shown_behind(message, now)
            case Promoted(row):
                self._trouble.passes()
                self._tally.of_now.promoted += 1
                self._pace.changed()
                self._came_back(row, now)
            case PromotedAll():
                self._trouble.passes()
                self._promoted_all(now)
            case Condemned():
                self._tally.of_now.condemned += 1
            case Remaining(some):
                self._remaining = some
            case Failed():
                self._failed(message, now)

    def _not_started(self, answer: NotStarted, now: int) -> None:
        task_id = answer.row.task_id
        del self._asked[task_id]
        self._suspect_is_over(task_id)
        self._pace.look_at_once(now)
        if isinstance(answer.error, NotClaimed):
            self._refused[task_id] = now + microseconds(REFUSED_FOR)
        elif isinstance(answer.error, DamagedTask):  # the claim may have come before
            self._condemn(task_id, (Status.PENDING, Status.TAKEN), answer.error.reason)
        else:
            self._came_back(answer.row, now)
            self._trouble.met(answer.error, now)
            self._pace.claim_failed(now)

    def _started(self, attempt: Attempt) -> None:
        task = attempt.task
        del self._asked[task.task_id]
        self._trouble.passes()
        self._in_flight[task.task_id] = attempt
        self._tend_at = min(self._tend_at, attempt.renew_at, attempt.times_out_at)
        self._pace.changed()
        self._tally.claimed(task)

    def _settled(self, settled: Settled, now: int) -> None:
        task_id = settled.attempt.task.task_id
        del self._in_flight[task_id]
        self._suspect_is_over(task_id)
        self._tally.ended(settled, seconds=(now - settled.attempt.began) / MICROSECONDS)
        if settled.unexpected is not None:
            self._trouble.ends_the_run(settled.unexpected)
        self._pace.more_may_have_come(now)
        if settled.row is not None:
            self._came_back(settled.row, now)

    def _suspect_is_over(self, task_id: str) -> None:
        if self._suspect == task_id:
            self._suspect = None

    def _came_back(self, row: Candidate, now: int) -> None:
        for wanted in self._wanted([row]):
            self._back[row.task_id] = (now, row)
            self._sight.came_back(wanted)
            self._pace.one_came_back(now)

    def _remember_what_came_back(self, *, since: int) -> None:
        """What a page cannot show yet that was asked for before."""
        self._back = {i: (at, row) for i, (at, row) in self._back.items() if at >= since}
        for row in self._wanted(row for _, row in self._back.values()):
            self._sight.came_back(row)

    def _promote_due(self, now: int) -> None:
        """Bring in due tasks; the next time once that is done, or has taken unusually long."""
        self._promoting_since = now
        self._promote_at = now + microseconds(PROMOTE_PATIENCE)
        self._errands.promote(but=frozenset(self._in_flight))

    def _promoted_all(self, now: int) -> None:
        if self._promoting_since is not None:
            self._promote_at = max(now, self._promoting_since + microseconds(PROMOTE_EVERY))
        self._promoting_since = None

    def _failed(self, failed: Failed, now: int) -> None:
        if isinstance(failed.errand, Look):
            self._pace.failed(failed.errand.number, now)
        elif isinstance(failed.errand, PromotedAll):
            self._promoted_all(now)
        elif failed.errand is not None:
            self._read_on_from = None
        self._trouble.met(failed.error, now)

    # Attempts

    def _tend_attempts(self, now: int) -> None:
        for attempt in self._in_flight.values():
            if now >= attempt.times_out_at:
                attempt.times_out_at = self._ends_at  # dealt with; nothing to wake up for
                self._tally.of_now.timed_out += self._attempts.time_out(attempt)
            if now >= attempt.renew_at:
                attempt.renew_at = now + microseconds(self._settings.heartbeat)
                self._attempts.renew(attempt)
        moments = [
            min(attempt.renew_at, attempt.times_out_at) for attempt in self._in_flight.values()
        ]
        self._tend_at = min(moments, default=self._ends_at)

    # Looking

    @property
    def _first_page(self) -> int:
        """Rows: enough to fill every slot."""
        return max(self._settings.page, self._settings.in_flight)

    def _look(self, now: int) -> None:
        """Ask for the first page; or, where the order may change, for the oldest end's."""
        newest_first = not self._order.asks_for_oldest()
        look = Look(number=self._pace.sends(now), sent=now, newest_first=newest_first)
        self._errands.look(look, limit=self._first_page)

    def _shown(self, shown: Shown, now: int) -> None:
        if not self._pace.shows(shown.look.number):
            return
        self._trouble.passes()
        if not shown.look.newest_first:
            self._order.decide(shown.page, now=self._store.now())
        if self._order.newest_first is not shown.look.newest_first:
            self._pace.look_at_once(now)  # it only told the age of the oldest
            return
        if self._sight_is_of_no_use(now):
            self._sight = Sight(newest_first=self._order.newest_first, now=shown.look.sent)
            self._page_behind, self._read_on_from = self._first_page, None
        self._sight.front(shown.page, self._wanted(shown.page.rows))
        self._remember_what_came_back(since=shown.look.sent)
        started = self._start_what_may(now)
        self._judge(now, started=started, ours=self._ours(shown.page))
        free = self._slot_free()
        if free and (not started or self._left_free):
            self._read_on(now)
        self._left_free = free

    def _sight_is_of_no_use(self, now: int) -> bool:
        """Before the queue is believed to be empty, all of it is read once more."""
        about_to_end = self._sight.empty() and not self._in_flight and not self._asked
        turned = self._sight.newest_first is not self._order.newest_first
        return turned or about_to_end or self._sight.outdated(now)

    def _shown_behind(self, shown: ShownBehind, now: int) -> None:
        self._read_on_from = None
        self._sight.behind(shown.cursor, shown.page, self._wanted(shown.page.rows))
        started = self._start_what_may(now)
        self._judge(now, started=started, ours=False)
        if self._slot_free() and not started:
            self._read_on(now)

    def _judge(self, now: int, *, started: bool, ours: bool) -> None:
        """What the pages so far say of the queue; ``ours``: it still shows a task that this run
        has, or has just had."""
        if started:
            self._pace.found_some(now)
        elif self._sight.lanes() or ours or self._promoting_since is not None:
            self._pace.found_blocked(now, wait=self._wait_for_what_waits())
        elif self._sight.cursor is None:
            self._pace.found_nothing(now, seen_at=self._sight.began)
        else:
            self._pace.found_nothing_yet(now)

    def _wait_for_what_waits(self) -> float:
        """Seconds until the first of the tasks that were seen may start, as far as one can know."""
        waits = [self._limits.wait(task_type) for task_type, _ in self._sight.lanes()]
        return min((wait for wait in waits if wait > 0), default=math.inf)

    def _ours(self, page: Candidates) -> bool:
        """Whether the index still shows a task that this run has, or has just had."""
        return any(
            row.task_id in held
            for row in page.rows
            for held in (self._asked, self._in_flight, self._refused)
        )

    def _read_on(self, now: int) -> None:
        """Ask for the next page that was not seen yet."""
        cursor = self._sight.cursor
        waits = self._read_on_from is not None and (
            now - self._read_on_from < microseconds(LOOK_PATIENCE)
        )
        if cursor is None or waits or not self._claiming(now):
            return
        self._read_on_from = now
        self._page_behind = larger_page(self._page_behind)
        self._errands.look_behind(
            cursor, newest_first=self._sight.newest_first, limit=self._page_behind
        )

    def _wanted(self, rows: Iterable[Candidate]) -> list[Candidate]:
        """Those that can be started, by what the run knows of them; damaged ones are put aside."""
        now, moment = self._store.now(), self._host.monotonic()
        self._refused = {i: until for i, until in self._refused.items() if until > moment}
        wanted = []
        for row in rows:
            if row.damage is not None:
                self._condemn(row.task_id, (Status.PENDING,), row.damage)
            elif row.expires_at > now and not (
                row.task_id in self._in_flight  # the index lags, or its return is unconfirmed
                or row.task_id in self._asked
                or row.task_id in self._refused
            ):
                wanted.append(row)
        return wanted

    def _condemn(self, task_id: str, seen: tuple[Status, ...], reason: str) -> None:
        if task_id not in self._put_aside:  # the index may show it for a while
            self._put_aside.add(task_id)
            self._errands.condemn(task_id, seen=seen, reason=reason)

    # Claiming

    def _start_what_may(self, now: int) -> bool:
        """Have tasks claimed, in their order, as long as there is room; whether any was."""
        started = False
        may_start = partial(self._may_start, now=now)
        while self._claiming(now) and not self._crowded():
            row = self._sight.next(may_start)
            if row is None:
                break
            if not self._wanted([row]):  # expired since; or seen twice, in two places
                self._sight.drop(row)
            elif self._limits.enter(row.task_type):
                self._sight.drop(row)
                self._start(row, now)
                started = True
        return started

    def _may_start(self, lane: Lane, *, now: int) -> bool:
        task_type, suspects = lane
        if suspects and self._suspect is not None:
            return False
        in_time = now <= self._attempts.latest_start(self._kind(task_type))
        return in_time and self._limits.wait(task_type) == 0

    def _start(self, row: Candidate, now: int) -> None:
        self._attempts.start(row, self._kind(row.task_type))
        self._asked[row.task_id] = now
        if row.suspect:
            self._suspect = row.task_id

    def _kind(self, task_type: str) -> TaskType:
        return self._registry.get(task_type) or _unknown(task_type)

    # The end

    def _conclude(self) -> None:
        self._tally.of_now.unsettled += len(self._in_flight)
        now = self._host.monotonic()
        report = self._tally.conclude(now)
        reason = self._unusable()
        if self._trouble.unexpected is not None:
            raise self._trouble.unexpected
        if self._trouble.error is not None and report.claimed == 0:
            raise self._trouble.error
        if not self._pace.believed_empty(now):
            report.remaining = self._tasks_wait(now)
        if reason is not None:
            raise ProcessUnusable(reason, report)

    def _tasks_wait(self, now: int) -> bool:
        self._try(self._errands.ask_whether_tasks_wait)
        until = now + microseconds(REMAINING_PATIENCE)
        while self._remaining is None and self._host.monotonic() < until:
            if self._out_of_threads:
                return True
            message = self._mailbox.take((until - self._host.monotonic()) / MICROSECONDS)
            if isinstance(message, Remaining):
                self._remaining = message.some
        return self._remaining is not False

    def _unusable(self) -> str | None:
        if self._out_of_threads:
            return "no thread can be started"
        if self._limits.full_of_hung:
            return "all slots are taken by handlers that hang"
        if types := self._limits.hung_types:
            return f"all slots of task type {', '.join(types)} are taken by handlers that hang"
        return None


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
