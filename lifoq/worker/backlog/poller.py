"""The poller: asks for pages of the backlog, and says which task is next."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from lifoq.basics.host import microseconds
from lifoq.items.schema import Status
from lifoq.store.candidate import Candidate, Candidates
from lifoq.store.table import LARGEST_PAGE, Cursor
from lifoq.worker.backlog.background_calls import BackgroundCalls, Poll, Shown, ShownBehind
from lifoq.worker.backlog.batches import Batches
from lifoq.worker.backlog.busy_keys import BusyKeys
from lifoq.worker.backlog.claim_order import ClaimOrder
from lifoq.worker.backlog.claimed_tasks import ClaimedTasks
from lifoq.worker.backlog.known_types import Types
from lifoq.worker.backlog.poll_timing import POLL_PATIENCE, PollTiming
from lifoq.worker.backlog.view import BacklogView, SchedulingClass
from lifoq.worker.limits.limits import Limits

PAGE_GROWTH: Final = 10
"""Factor by which each page behind the first is larger than the one before."""


class Poller:
    """Asks for pages, puts their rows into the backlog view, and takes the next row from it. All
    times are monotonic microseconds. Methods that ask for a page may raise OutOfThreads. Used by
    the thread of the run only."""

    def __init__(
        self,
        calls: BackgroundCalls,
        *,
        clock: Callable[[], int],
        first_page: int,
        limits: Limits,
        order: ClaimOrder,
        types: Types,
        claimed: ClaimedTasks[Any],
        keys: BusyKeys,
        timing: PollTiming,
        batches: Batches,
        now: int,
    ) -> None:
        """``clock``: the queue's time, in epoch microseconds. ``first_page``: rows of a poll's
        first page, enough to fill every slot. ``now``: when the run begins."""
        # Shared with the run: ``claimed``, ``keys`` and ``timing`` are written by both, in one
        # thread.
        self._clock = clock
        self._limits = limits
        self._order = order
        self._types = types
        self._calls = calls
        self._claimed = claimed
        self._keys = keys
        self._timing = timing
        self._batches = batches
        self._first_page = max(first_page, batches.largest)

        # The poller's own: what it has read, and what it waits for.
        self._view = self._new_view(now)
        self._page_behind = self._first_page
        """Rows of the last page that was asked for behind the first."""
        self._asked_behind: int | None = None
        """When the page was asked for that is on its way, behind the first; None if none is."""

        # What the index does not show yet: written when the run changes a task.
        self._came_back: dict[str, tuple[int, Candidate]] = {}
        """Tasks that the run itself returned to the queue, by their ids, and when. A page that was
        asked for before does not show them."""
        self._dead_lettered: set[str] = set()
        """Ids of damaged items that the run has dead-lettered. The index may show them for a
        while."""
        self._falling: Iterable[str] = ()
        """Ids of the expired tasks with a head start on the last first page. Their head start is
        being taken; the index may show them for a while."""

        # About the latest poll: written when a page comes.
        self._has_read_behind = False
        """True if this poll has read behind the first page, or waits for a page behind it. Only
        then is a task of a key beyond its fair share started while there is more to read."""
        self._left_free = False
        """True if the last poll left slots free."""

    # Asking

    def poll(self, now: int) -> None:
        """Ask for the first page, from the end of the queue that ``order`` chooses."""
        newest_first = not self._order.asks_for_oldest()
        poll = Poll(number=self._timing.sends(now), sent=now, newest_first=newest_first)
        self._calls.poll(poll, limit=self._first_page)

    def poll_behind(self, now: int) -> None:
        """Ask for the next page that was not read yet, unless it is on its way."""
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
        """Note that a page could not be had."""
        if isinstance(request, Poll):
            self._timing.failed(request.number, now)
        else:
            self._asked_behind = None

    # Seeing

    def shown(self, shown: Shown, now: int) -> bool:
        """Take in a first page. Return False if it changes nothing: a later poll was answered
        before, or the page only told the age of the oldest task."""
        poll = shown.poll
        if not self._timing.shows(poll.number):
            return False
        self._let_fall(shown.page.rows)
        self._order.decide(shown.page, of_newest=poll.newest_first, now=self._clock())
        if self._order.newest_first is not poll.newest_first:
            self._timing.poll_at_once(now)
            return False
        if self._view_is_stale(now):
            self._view = self._new_view(poll.sent)
            self._page_behind, self._asked_behind = self._first_page, None
        self._has_read_behind = self._asked_behind is not None
        self._view.front(shown.page, self._startable(shown.page.rows, now))
        if self._view.has_gap:  # behind it lies what is known
            self._page_behind = self._first_page
        self._remember_what_came_back(now, since=poll.sent)
        return True

    def shown_behind(self, shown: ShownBehind, now: int) -> None:
        """Take in a page behind the first."""
        self._asked_behind = None
        self._has_read_behind = True
        self._view.behind(shown.cursor, shown.page, self._startable(shown.page.rows, now))

    def came_back(self, row: Candidate, now: int) -> None:
        """Note that the run itself returned a task to the queue."""
        for startable in self._startable([row], now):
            self._came_back[row.task_id] = (now, row)
            self._view.came_back(startable)
            self._timing.one_came_back(now)

    def dead_letter(self, task_id: str, seen: tuple[Status, ...], reason: str) -> None:
        """Dead-letter a damaged item if its status is one of ``seen``. It is asked for once in a
        run."""
        if task_id not in self._dead_lettered:  # the index may show it for a while
            self._dead_lettered.add(task_id)
            self._calls.dead_letter(task_id, seen=seen, reason=reason)

    def _let_fall(self, rows: Sequence[Candidate]) -> None:
        """Take the head start from tasks that have expired. Else each poll to come would read them
        before the tasks that can still run."""
        now = self._clock()
        fallen = {r.task_id: r for r in rows if r.head_start and r.expires_at <= now}
        if new := [row for task_id, row in fallen.items() if task_id not in self._falling]:
            self._calls.let_fall(new)
        self._falling = fallen.keys()

    # Saying

    def next(self, may_start: Callable[[SchedulingClass], bool], now: int) -> Candidate | None:
        """Return the first task whose scheduling class may start, None if there is none. The row
        stays in the view until ``starts``."""
        while (row := self._first(may_start, now)) is not None:
            if self._startable([row], now):
                return row
            self._view.drop(row)  # it has expired, or was seen twice, in two places
        return None

    def next_of(self, scheduling_class: SchedulingClass, now: int) -> Candidate | None:
        """Return the first task of a class, whose type may start; as ``next``."""
        return self.next(scheduling_class.__eq__, now)

    def batch_wait(self, scheduling_class: SchedulingClass) -> float:
        """Return the seconds until a batch of a class may begin, by the rows that were read."""
        if self._batches.size(scheduling_class) == 1:
            return 0.0
        rows = self._view.rows(scheduling_class)
        return self._batches.wait(scheduling_class, rows, now=self._clock())

    def starts(self, row: Candidate) -> None:
        """Take the row out of the view: it is being claimed, and is not given again unless it comes
        back."""
        self._view.drop(row)

    def judge(self, now: int, *, page: Candidates, started: bool, promoting: bool) -> None:
        """Tell the poll timing what the pages so far say of the queue. ``page`` is the last of
        them. ``started``: at least one task was. ``promoting``: due tasks are on their way into the
        queue."""
        seen_all, waits = self._view.cursor is None, bool(self._view.types)
        if started:
            self._timing.found_some(now)
            if seen_all and waits:  # what is left must not start
                self._timing.found_blocked(now, wait=self._wait_for_what_waits(now))
        elif promoting or waits or self._shows_claimed(page, now):
            self._timing.found_blocked(now, wait=self._wait_for_what_waits(now))
        elif seen_all:
            self._timing.found_nothing(now, seen_at=self._view.began)
        else:
            self._timing.found_nothing_yet(now)

    def wants_more(self, *, started: bool, free: bool) -> bool:
        """Return True if the run should read on behind the first page. It should if slots are free,
        and this page gave nothing to start or the last one left slots free, too."""
        wants = free and (not started or self._left_free)
        self._left_free = free
        return wants

    # Inside

    def _first(self, may_start: Callable[[SchedulingClass], bool], now: int) -> Candidate | None:
        excess = self._keys.excess(self._view, now)
        full = partial(self._keys.full, now=now)
        return self._view.next(
            may_start, full=full, excess=excess, beyond_share=self._has_read_behind
        )

    def _new_view(self, now: int) -> BacklogView:
        newest_first = self._order.newest_first
        return BacklogView(newest_first=newest_first, now=now, key_of=self._keys.that_matters)

    def _view_is_stale(self, now: int) -> bool:
        """Return True if the view must be built anew from this first page.

        The run reads all of the queue once more before it believes the queue to be empty. It does
        not where that costs much (many rows of other workers, or expired ones) and nothing has
        changed.
        """
        about_to_end = self._view.empty() and self._claimed.nothing
        if self._view.is_costly and self._timing.knows_since(self._view.began):
            about_to_end = False
        reordered = self._view.newest_first is not self._order.newest_first
        return reordered or about_to_end or self._view.outdated(now)

    def _remember_what_came_back(self, now: int, *, since: int) -> None:
        """Put tasks into the view that the run returned to the queue after the page was asked for:
        the page cannot show them yet."""
        self._came_back = {i: (at, row) for i, (at, row) in self._came_back.items() if at >= since}
        for row in self._startable([row for _, row in self._came_back.values()], now):
            self._view.came_back(row)

    def _wait_for_what_waits(self, now: int) -> float:
        """Return the seconds until the limits let the first of the waiting tasks start, as far as
        one can know."""
        waits = [self._limits.wait(task_type) for task_type in self._view.types]
        waits += map(self.batch_wait, self._view.classes)
        waits.append(self._keys.wait(self._view.keyed, now))
        return min((wait for wait in waits if wait > 0), default=math.inf)

    def _shows_claimed(self, page: Candidates, now: int) -> bool:
        """Return True if the index still shows a task that this run has, or has just had."""
        return any(self._claimed.has(row.task_id, now) for row in page.rows)

    def _startable(self, rows: Sequence[Candidate], now: int) -> list[Candidate]:
        """Return the rows that can be started, by what the run knows of them. Dead-letter the
        damaged ones."""
        clock, startable = self._clock() if rows else 0, []
        for row in rows:
            if row.damage is not None:
                self.dead_letter(row.task_id, (Status.PENDING,), row.damage)
            elif not self._types.has(row.task_type):
                continue
            # The index lags, or the return of one that is held is not confirmed.
            elif row.expires_at > clock and not self._claimed.has(row.task_id, now):
                startable.append(row)
        return startable


def larger_page(limit: int) -> int:
    """Return the size of the page to read after one of ``limit`` rows that held nothing to start.
    Only a first page, which has a row for each slot, may be larger than LARGEST_PAGE."""
    return max(limit, min(limit * PAGE_GROWTH, LARGEST_PAGE))
