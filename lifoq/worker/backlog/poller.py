"""What a run sees of the queue: it asks for pages, and says which task is the next."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from lifoq.basics.host import microseconds
from lifoq.items.schema import Status
from lifoq.store.candidate import Candidate, Candidates
from lifoq.store.table import LARGEST_PAGE, Cursor
from lifoq.worker.backlog.background_calls import BackgroundCalls, Poll, Shown, ShownBehind
from lifoq.worker.backlog.busy_keys import BusyKeys
from lifoq.worker.backlog.claim_order import ClaimOrder
from lifoq.worker.backlog.held_tasks import HeldTasks
from lifoq.worker.backlog.known_types import Types
from lifoq.worker.backlog.poll_timing import POLL_PATIENCE, PollTiming
from lifoq.worker.backlog.view import BacklogView, SchedulingClass
from lifoq.worker.limits.limits import Limits

PAGE_GROWTH: Final = 10
"""How much larger each page behind the first is than the one before."""


class Poller:
    """All times are monotonic microseconds. What asks for a page may raise OutOfThreads."""

    def __init__(
        self,
        calls: BackgroundCalls,
        *,
        clock: Callable[[], int],
        first_page: int,
        limits: Limits,
        order: ClaimOrder,
        types: Types,
        held: HeldTasks[Any],
        keys: BusyKeys,
        timing: PollTiming,
        now: int,
    ) -> None:
        """``clock``: the queue's time, in epoch microseconds. ``first_page``: rows of a poll's
        first page, enough to fill every slot. ``now``: when the run begins."""
        self._clock = clock
        self._limits = limits
        self._order = order
        self._types = types
        self._calls = calls
        self._held = held
        self._keys = keys
        self._timing = timing
        self._first_page = first_page
        self._view = self._new_view(now)
        self._page_behind = self._first_page
        self._asked_behind: int | None = None
        """Since when a page behind the first is on its way."""
        self._came_back: dict[str, tuple[int, Candidate]] = {}
        """Tasks that the run itself returned to the queue, and when, by their ids."""
        self._put_aside: set[str] = set()
        """Damaged items, by their ids."""
        self._falling: Iterable[str] = ()
        """Ids of those that the last poll saw to have expired ahead: the index is late."""
        self._settles = False
        """Whether this poll has read behind the first page, or waits for that."""
        self._left_free = False
        """Whether the last poll left slots free."""

    # Asking

    def poll(self, now: int) -> None:
        """Ask for the first page; or, where the order may change, for the oldest end's."""
        newest_first = not self._order.asks_for_oldest()
        poll = Poll(number=self._timing.sends(now), sent=now, newest_first=newest_first)
        self._calls.poll(poll, limit=self._first_page)

    def poll_behind(self, now: int) -> None:
        """Ask for the next page that was not seen yet, unless it is on its way."""
        cursor, since = self._view.cursor, self._asked_behind
        on_its_way = since is not None and now - since < microseconds(POLL_PATIENCE)
        if cursor is None or on_its_way:
            return
        self._asked_behind = now
        self._page_behind = larger_page(self._page_behind)
        self._calls.poll_behind(
            cursor, newest_first=self._view.newest_first, limit=self._page_behind
        )

    def failed(self, request: Poll | Cursor, now: int) -> None:
        """A page could not be had."""
        if isinstance(request, Poll):
            self._timing.failed(request.number, now)
        else:
            self._asked_behind = None

    # Seeing

    def shown(self, shown: Shown, now: int) -> bool:
        """A first page came; False where it is old news, or only told the age of the oldest."""
        poll = shown.poll
        if not self._timing.shows(poll.number):
            return False
        self._let_fall(shown.page.rows)
        self._order.decide(shown.page, of_newest=poll.newest_first, now=self._clock())
        if self._order.newest_first is not poll.newest_first:
            self._timing.poll_at_once(now)
            return False
        if self._view_is_of_no_use(now):
            self._view = self._new_view(poll.sent)
            self._page_behind, self._asked_behind = self._first_page, None
        self._settles = self._asked_behind is not None
        self._view.front(shown.page, self._wanted(shown.page.rows, now))
        if self._view.has_gap:  # behind it lies what is known
            self._page_behind = self._first_page
        self._remember_what_came_back(now, since=poll.sent)
        return True

    def shown_behind(self, shown: ShownBehind, now: int) -> None:
        """A page behind the first came."""
        self._asked_behind = None
        self._settles = True
        self._view.behind(shown.cursor, shown.page, self._wanted(shown.page.rows, now))

    def came_back(self, row: Candidate, now: int) -> None:
        """The run itself returned a task to the queue."""
        for wanted in self._wanted([row], now):
            self._came_back[row.task_id] = (now, row)
            self._view.came_back(wanted)
            self._timing.one_came_back(now)

    def put_aside(self, task_id: str, seen: tuple[Status, ...], reason: str) -> None:
        """Have a damaged item go to FAILURE, whichever of these statuses it has."""
        if task_id not in self._put_aside:  # the index may show it for a while
            self._put_aside.add(task_id)
            self._calls.dead_letter(task_id, seen=seen, reason=reason)

    def _let_fall(self, rows: Sequence[Candidate]) -> None:
        """What has expired and stands ahead of its time would be read before the living by each
        poll to come."""
        now = self._clock()
        fallen = {r.task_id: r for r in rows if r.head_start and r.expires_at <= now}
        if new := [row for task_id, row in fallen.items() if task_id not in self._falling]:
            self._calls.let_fall(new)
        self._falling = fallen.keys()

    # Saying

    def next(self, may_start: Callable[[SchedulingClass], bool], now: int) -> Candidate | None:
        """The first task whose scheduling class may start."""
        while (row := self._first(may_start, now)) is not None:
            if self._wanted([row], now):
                return row
            self._view.drop(row)  # it has expired, or was seen twice, in two places
        return None

    def starts(self, row: Candidate) -> None:
        """It is not given again, unless it comes back."""
        self._view.drop(row)

    def judge(self, now: int, *, page: Candidates, started: bool, promoting: bool) -> None:
        """Tell the pace what the pages so far say of the queue, ``page`` the last of them."""
        seen_all, waits = self._view.cursor is None, bool(self._view.types)
        if started:
            self._timing.found_some(now)
            if seen_all and waits:  # what is left must not start
                self._timing.found_blocked(now, wait=self._wait_for_what_waits())
        elif promoting or waits or self._shows_held(page, now):
            self._timing.found_blocked(now, wait=self._wait_for_what_waits())
        elif seen_all:
            self._timing.found_nothing(now, seen_at=self._view.began)
        else:
            self._timing.found_nothing_yet(now)

    def wants_more(self, *, started: bool, free: bool) -> bool:
        """Whether to read on behind the first page: where it left slots free, and gave nothing to
        start, or did not fill them twice in a row."""
        wants = free and (not started or self._left_free)
        self._left_free = free
        return wants

    # Inside

    def _first(self, may_start: Callable[[SchedulingClass], bool], now: int) -> Candidate | None:
        excess = self._keys.excess(self._view, now)
        full = partial(self._keys.full, now=now)
        return self._view.next(may_start, full=full, excess=excess, settle=self._settles)

    def _new_view(self, now: int) -> BacklogView:
        newest_first = self._order.newest_first
        return BacklogView(newest_first=newest_first, now=now, key_of=self._keys.that_matters)

    def _view_is_of_no_use(self, now: int) -> bool:
        """Before the queue is believed to be empty, all of it is read once more; but no more often
        than it is worth where that is much: rows of others, or expired ones."""
        about_to_end = self._view.empty() and self._held.nothing
        if self._view.is_costly and self._timing.knows_since(self._view.began):
            about_to_end = False
        reordered = self._view.newest_first is not self._order.newest_first
        return reordered or about_to_end or self._view.outdated(now)

    def _remember_what_came_back(self, now: int, *, since: int) -> None:
        """What a page cannot show yet that was asked for before."""
        self._came_back = {i: (at, row) for i, (at, row) in self._came_back.items() if at >= since}
        for row in self._wanted([row for _, row in self._came_back.values()], now):
            self._view.came_back(row)

    def _wait_for_what_waits(self) -> float:
        """Seconds until the first of the tasks that were seen may start, as far as one can know."""
        waits = [self._limits.wait(task_type) for task_type in self._view.types]
        return min((wait for wait in waits if wait > 0), default=math.inf)

    def _shows_held(self, page: Candidates, now: int) -> bool:
        """Whether the index still shows a task that this run has, or has just had."""
        return any(self._held.has(row.task_id, now) for row in page.rows)

    def _wanted(self, rows: Sequence[Candidate], now: int) -> list[Candidate]:
        """Those that can be started, by what the run knows of them; damaged ones are put aside."""
        clock, wanted = self._clock() if rows else 0, []
        for row in rows:
            if row.damage is not None:
                self.put_aside(row.task_id, (Status.PENDING,), row.damage)
            elif not self._types.has(row.task_type):
                continue
            # The index lags, or the return of one that is held is not confirmed.
            elif row.expires_at > clock and not self._held.has(row.task_id, now):
                wanted.append(row)
        return wanted


def larger_page(limit: int) -> int:
    """Rows of the page behind one of ``limit`` rows, which held nothing to start. Only a first
    page, which has a row for each slot, may be larger than LARGEST_PAGE."""
    return max(limit, min(limit * PAGE_GROWTH, LARGEST_PAGE))
