"""The poller: asks for pages of the backlog, and says which task is next."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from lifoq.basics.host import microseconds
from lifoq.items.schema import Status
from lifoq.store.candidate import Candidate, Candidates
from lifoq.store.table_protocol import LARGEST_PAGE, Cursor
from lifoq.worker.backlog.background_calls import BackgroundCalls, Poll, Shown, ShownBehind
from lifoq.worker.backlog.newest_or_oldest_first import NewestOrOldestFirst
from lifoq.worker.backlog.tasks_of_this_run import TasksOfThisRun
from lifoq.worker.backlog.view import BacklogView, SchedulingClass
from lifoq.worker.backlog.when_to_poll_or_end import POLL_PATIENCE, Facts, Found, judge
from lifoq.worker.gates.gates import RunGates

MOST_KEYS_ASKED: Final = 200
"""Keys of a class that are asked when they may start: all of 20,000 would take long, and the next
poll is half a second away at the most."""
PAGE_GROWTH: Final = 10
"""Factor by which each page behind the first is larger than the one before."""


class Poller:
    """Asks for pages, puts their rows into the backlog view, and takes the next row from it. All
    times are monotonic microseconds. Methods that ask for a page may raise OutOfThreads. Used by
    the thread of the run only."""

    gates: RunGates
    """Set once by the run: the gates ask the poller's view, too."""

    def __init__(
        self,
        calls: BackgroundCalls,
        *,
        clock: Callable[[], int],
        first_page: int,
        order: NewestOrOldestFirst,
        claimed: TasksOfThisRun[Any],
        woken_at: Callable[[], int],
        now: int,
    ) -> None:
        """``clock``: the queue's time, in epoch microseconds. ``first_page``: rows of a poll's
        first page, enough to fill every slot. ``woken_at`` tells when the kick was sent that
        started the run. It is called only after a poll was answered: by then the process knows the
        server's clock. ``now``: when the run begins."""
        self._clock = clock
        self._order = order
        self._calls = calls
        self._claimed = claimed
        self._woken_at = woken_at
        self._first_page = first_page

        self.facts = Facts.of_start(now)
        """The events that say when to poll. Nobody else writes it: the run tells of its events by
        ``note``."""

        # The poller's own: what it has read, and what it waits for.
        self._view = self._new_view(now)
        self._page_behind = self._first_page
        """Rows of the last page that was asked for behind the first."""
        self._asked_behind: int | None = None
        """When the page was asked for that is on its way, behind the first; None if none is."""

        # What the index does not show yet: written when the run changes a task.
        self._returned: dict[str, tuple[int, Candidate]] = {}
        """Tasks that the run itself returned to the queue, by their ids, and when. A page that was
        asked for before does not show them."""
        self._dead_lettered: set[str] = set()
        """Ids of damaged items that the run has dead-lettered. The index may show them for a
        while."""
        self._falling: Mapping[str, Candidate] = {}
        """The expired tasks with a head start on the last first page, by their ids. Their head
        start is being taken; the index may show them for a while."""

        # About the latest poll: written when a page comes.
        self._has_read_behind = False
        """True if this poll has read behind the first page, or waits for a page behind it. Only
        then is a task of a key beyond its fair share started while there is more to read."""
        self._left_free = False
        """True if the last poll left slots free."""

    def note(self, event: Callable[[Facts, int], Facts], now: int) -> None:
        """Note an event of the run, such as ``Facts.after_settlement``."""
        self.facts = event(self.facts, now)

    # Asking

    def poll(self, now: int) -> None:
        """Ask for the first page, from the end of the queue that ``order`` chooses."""
        newest_first = not self._order.asks_for_oldest()
        self.facts = self.facts.after_poll_sent(now)
        poll = Poll(number=self.facts.last_poll_sent, sent=now, newest_first=newest_first)
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
            self.facts = self.facts.after_poll_failed(request.number, now)
        else:
            self._asked_behind = None

    # Seeing

    def shown(self, shown: Shown, now: int) -> bool:
        """Take in a first page. Return False if it changes nothing: a later poll was answered
        before, or the page only told the age of the oldest task."""
        poll, is_news = shown.poll, self.facts.is_news(shown.poll.number)
        self.facts = self.facts.after_poll_answered(poll.number)
        if not is_news:
            return False
        self._let_fall(shown.page.rows)
        self._order.decide(shown.page, of_newest=poll.newest_first, now=self._clock())
        if self._order.newest_first is not poll.newest_first:
            self.facts = self.facts.after_cause_to_poll(now)
            return False
        if self._view_is_stale(now):
            self._view = self._new_view(poll.sent)
            self._page_behind, self._asked_behind = self._first_page, None
        self._has_read_behind = self._asked_behind is not None
        rows = shown.page.rows
        self._view.front(shown.page, self._startable(rows, now), self._refused(rows, now))
        over = self._view.no_more_refused(lambda row: self._claimed.is_refused(row.task_id, now))
        for row in self._startable(over, now):
            self._view.put_back(row)
        if self._view.has_gap:  # behind it lies what is known
            self._page_behind = self._first_page
        self._remember_what_returned(now, since=poll.sent)
        return True

    def shown_behind(self, shown: ShownBehind, now: int) -> None:
        """Take in a page behind the first."""
        self._asked_behind = None
        self._has_read_behind = True
        rows, cursor = shown.page.rows, shown.cursor
        startable, refused = self._startable(rows, now), self._refused(rows, now)
        self._view.behind(cursor, shown.page, startable, refused)

    def task_returned(self, row: Candidate, now: int) -> None:
        """Note that the run itself returned a task to the queue."""
        for startable in self._startable([row], now):
            self._returned[row.task_id] = (now, row)
            self._view.put_back(startable)
            self.facts = self.facts.after_return(now)

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
        if new := [row for task_id, row in fallen.items() if self._falling.get(task_id) != row]:
            self._calls.let_fall(new)
        self._falling = fallen

    # Saying

    def choose_next(self, now: int, *, shut: Callable[[Candidate], bool]) -> Candidate | None:
        """Return the first task that the gates let start, but for those that are ``shut`` by the
        limits of their type; None if there is none. Where a heavy task of its type is waited for,
        return that one, or end the waiting if it cannot start. The row stays in the view until
        ``take_out``."""
        gates = self.gates
        row = self._next(lambda row: not shut(row) and gates.class_is_open(row, now), now)
        if row is None:
            return None
        awaited = self._take_awaited(row.task_type, now)
        return row if awaited is None else awaited

    def next_like(self, row: Candidate, now: int) -> Candidate | None:
        """Return the first task of the same class, whose type may start; as ``choose_next``."""
        scheduling_class = SchedulingClass.of(row)
        return self._next(lambda other: SchedulingClass.of(other) == scheduling_class, now)

    def rows_like(self, row: Candidate) -> Iterator[Candidate]:
        """Yield the rows of the same class that were read, key by key."""
        return self._view.rows_like(row)

    @property
    def heads(self) -> Iterator[tuple[Candidate, Iterator[Candidate]]]:
        """The first row that waits of each scheduling class, and of each of its keys."""
        return self._view.heads

    def take_out(self, row: Candidate) -> None:
        """Take the row out of the view: it is being claimed, and is not given again unless it comes
        back."""
        self._view.drop(row)

    def judge(self, now: int, *, page: Candidates, started: bool, promoting: bool) -> None:
        """Note what the pages so far say of the queue. ``page`` is the last of them. ``started``:
        at least one task was. ``promoting``: due tasks are on their way into the queue."""
        for found in judge(
            started=started,
            seen_all=self._view.cursor is None,
            waits=self._view.some_wait,
            promoting=promoting,
            shows_claimed=self._view.has_refused
            or any(self._claimed.has(row.task_id, now) for row in page.rows),
        ):
            self.facts = self.facts.after_pages_judged(
                found,
                now,
                seen_at=self._view.began,
                woken_at=self._woken_at(),
                opens_in=self._opens_in(now) if found is Found.BLOCKED else 0.0,
            )

    def wants_more(self, *, started: bool, free: bool) -> bool:
        """Return True if the run should read on behind the first page. It should if slots are free,
        and this page gave nothing to start or the last one left slots free, too."""
        wants = free and (not started or self._left_free)
        self._left_free = free
        return wants

    # Inside

    def _take_awaited(self, task_type: str, now: int) -> Candidate | None:
        """Return the task that starts before all others of its type, since it came first and had
        no room. Newer ones may stand before it by now, and the view may have been built anew."""
        row = self.gates.awaited(task_type)
        if row is None:
            return None
        self._view.put_back(row)
        # It is not there if a thousand rows of its key stand before it (MOST_REMEMBERED).
        may_start = self.gates.class_is_open(row, now) and self.gates.key_is_open(row, now)
        if may_start and self._view.has(row) and self._startable([row], now):
            return row
        self.gates.awaits_no_more(task_type)
        return None

    def _next(self, class_is_open: Callable[[Candidate], bool], now: int) -> Candidate | None:
        while (row := self._first(class_is_open, now)) is not None:
            if self._startable([row], now):
                return row
            self._view.drop(row)  # it has expired, or was seen twice, in two places
        return None

    def _first(self, class_is_open: Callable[[Candidate], bool], now: int) -> Candidate | None:
        key_is_open = partial(self.gates.key_is_open, now=now)
        share = self.gates.fair_share
        if share is None:
            return self._view.next(class_is_open, key_is_open)
        unread = self._view.cursor is not None
        share.look(self._view.keys, now, unread=unread, has_read_behind=self._has_read_behind)
        return self._view.next(class_is_open, key_is_open, excess=share.excess)

    def _new_view(self, now: int) -> BacklogView:
        newest_first = self._order.newest_first
        return BacklogView(newest_first=newest_first, now=now, key_of=self._key_that_matters)

    def _key_that_matters(self, row: Candidate) -> str | None:
        """Return the row's key if rows of other keys may have to start before it, else None: then
        only the place in the queue counts."""
        return row.key if self.gates.key_matters(row) else None

    def _view_is_stale(self, now: int) -> bool:
        """Return True if the view must be built anew from this first page.

        The run reads all of the queue once more before it believes the queue to be empty. It does
        not where that costs much (many rows of other workers, or expired ones) and nothing has
        changed.
        """
        about_to_end = self._view.nothing_waits() and self._claimed.nothing
        if self._view.is_costly and self.facts.unchanged_since(self._view.began):
            about_to_end = False
        reordered = self._view.newest_first is not self._order.newest_first
        return reordered or about_to_end or self._view.outdated(now)

    def _remember_what_returned(self, now: int, *, since: int) -> None:
        """Put tasks into the view that the run returned to the queue after the page was asked for:
        the page cannot show them yet."""
        self._returned = {i: (at, row) for i, (at, row) in self._returned.items() if at >= since}
        for row in self._startable([row for _, row in self._returned.values()], now):
            self._view.put_back(row)

    def _opens_in(self, now: int) -> float:
        """Return the seconds until the gates let the first of the waiting tasks start, as far as
        one can know. Of each class the first keys are asked."""
        waits = [
            max(of_class, self.gates.key_wait(row, now))
            for first, heads in self._view.heads
            if (of_class := self.gates.class_wait(first, now)) < math.inf
            for row in islice(heads, MOST_KEYS_ASKED)
        ]
        return min((wait for wait in waits if wait > 0), default=math.inf)

    def _startable(self, rows: Sequence[Candidate], now: int) -> list[Candidate]:
        """Return the rows that can be started, by what the run knows of them. Dead-letter the
        damaged ones."""
        startable = []
        for row in rows:
            if row.damage is not None:
                self.dead_letter(row.task_id, (Status.PENDING,), row.damage)
            elif self.gates.task_is_open(row, now):
                startable.append(row)
        return startable

    def _refused(self, rows: Sequence[Candidate], now: int) -> list[Candidate]:
        """Return the rows that wait although their claim was refused. The view keeps them apart:
        else a later page, which does not show them, would let the queue seem empty."""
        return [row for row in rows if self._claimed.is_refused(row.task_id, now)]


def larger_page(limit: int) -> int:
    """Return the size of the page to read after one of ``limit`` rows that held nothing to start.
    Only a first page, which has a row for each slot, may be larger than LARGEST_PAGE."""
    return max(limit, min(limit * PAGE_GROWTH, LARGEST_PAGE))
