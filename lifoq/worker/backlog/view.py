"""The backlog view: what a run has read of the tasks that wait, and how far down.

A poll always begins with the first page. If nothing on it may start (its types are at their
limits), the run reads the pages behind it, once, and remembers their rows. A slot that gets free
makes a poll due. Once its first page is there, the remembered rows behind it can start, too, and
are not read again.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from lifoq.basics.host import microseconds
from lifoq.items.schema import Attribute
from lifoq.store.candidate import Candidate, Candidates
from lifoq.store.table_protocol import Cursor
from lifoq.worker.backlog.view_index import Key, Place, ViewIndex

ROWS_PER_SECOND: Final = 100
"""Rows that are read again behind the first page, on average: some 1.5 read units a second."""
SHORTEST_TRUST: Final = 2.0
"""Seconds for which a run relies on what it saw behind the first page, at the least."""


class SchedulingClass(NamedTuple):
    """Tasks that the same limits hold back: all of them may start, or none, apart from their
    keys."""

    task_type: str
    suspected_poison: bool
    """True for the suspected poison of the type, which is a class of its own."""
    alone: bool = False
    """True for those that share no call of the handler, which are a class of their own."""

    @classmethod
    def of(cls, row: Candidate) -> "SchedulingClass":
        """Return the class of a waiting row."""
        return cls(row.task_type, row.suspected_poison, row.alone)


OLDEST: Final[Place] = (float("-inf"), "")
NEWEST: Final[Place] = (float("inf"), "")


class BacklogView:
    """Keeps the rows that were read, by scheduling class. Used by the thread of the run only.

    Top to bottom, the queue as the view knows it:

        first page │ gap: not read, tasks came in since │ read before │ rest: not read yet
    """

    def __init__(
        self,
        *,
        newest_first: bool,
        now: int,
        key_of: Callable[[Candidate], Key] = lambda _row: None,
    ) -> None:
        """``now``: monotonic microseconds at which the poll was sent that this view begins with.
        ``key_of``: a row's key if rows of other keys may have to start before it, else None."""
        self._key_of = key_of
        self.newest_first = newest_first
        self._end = OLDEST if newest_first else NEWEST
        """The place behind the last row: no row lies there."""
        self.began = now
        self._read = 0
        """Rows that were read behind first pages."""
        self._classes: dict[SchedulingClass, ViewIndex] = {}
        self._first: Place = self._end
        """The place at which the latest first page begins."""
        self._gap: Cursor | None = None
        self._behind_gap: Place = self._end
        """The place from which on everything is known, down to ``_rest``."""
        self._rest: Cursor | None = None
        self._refused = ViewIndex(newest_first=newest_first)
        """Rows that wait, but whose claim was just refused. None of them is next."""

    def front(
        self, page: Candidates, startable: Sequence[Candidate], refused: Iterable[Candidate] = ()
    ) -> None:
        """Take in a first page. Its rows replace all that was remembered of the same stretch of the
        queue. ``startable``: those of its rows that can be started. ``refused``: those whose claim
        was just refused."""
        last = self._end if page.next is None else _place_of(page.next)
        known_from = self._behind_gap if self._gap is not None else self._first
        for rows in (*self._classes.values(), self._refused):
            rows.forget_until(last)
        self._first = _place(page.rows[0]) if page.rows else self._end
        if page.next is None:
            self._gap = self._rest = None
        elif known_from == self._end:
            self._gap, self._rest = None, page.next
        elif self._before(last, known_from):
            self._gap, self._behind_gap = page.next, known_from
        else:
            self._gap = None
            if self._rest is not None and self._before(_place_of(self._rest), last):
                self._rest = page.next  # it reached further than all pages before
        self._remember(reversed(startable) if self.newest_first else startable)
        self._remember_refused(refused)

    def behind(
        self,
        cursor: Cursor,
        page: Candidates,
        startable: Iterable[Candidate],
        refused: Iterable[Candidate] = (),
    ) -> None:
        """Take in the page after ``cursor``. It is dropped unless it is the next one to read: the
        view has changed since it was asked for."""
        if cursor != self.cursor:
            return
        self._read += len(page.rows) + page.left_out
        if self._gap is not None:
            reached = page.next is not None and _place_of(page.next)
            closed = not reached or not self._before(reached, self._behind_gap)
            self._gap = None if closed else page.next
        else:
            self._rest = page.next
        self._remember(startable)
        self._remember_refused(refused)

    def put_back(self, row: Candidate) -> None:
        """Remember a task that the run itself returned to the queue, perhaps to its old place."""
        self._remember([row])

    def has(self, row: Candidate) -> bool:
        """Return True if the row is remembered."""
        rows = self._classes.get(SchedulingClass.of(row))
        return rows is not None and rows.has(self._key_of(row), _place(row))

    def no_more_refused(self, still_refused: Callable[[Candidate], bool]) -> list[Candidate]:
        """Return the refused rows that may be tried again, and forget that they were refused."""
        over = [row for row in self._refused.rows() if not still_refused(row)]
        for row in over:
            self._refused.drop(None, _place(row))
        return over

    @property
    def has_refused(self) -> bool:
        """True if rows wait whose claim was just refused."""
        return bool(self._refused)

    def drop(self, row: Candidate) -> None:
        """Forget a row: it is being claimed, or can never start."""
        self._classes[SchedulingClass.of(row)].drop(self._key_of(row), _place(row))

    @property
    def has_gap(self) -> bool:
        """True if tasks came in between the first page and what was read before."""
        return self._gap is not None

    @property
    def cursor(self) -> Cursor | None:
        """The place to read on from; None once all of the queue was read."""
        return self._gap if self._gap is not None else self._rest

    def next(
        self,
        class_is_open: Callable[[Candidate], bool],
        key_is_open: Callable[[Candidate], bool] = lambda _row: True,
        *,
        excess: Mapping[Key, float] = MappingProxyType({}),
    ) -> Candidate | None:
        """Return the first row whose scheduling class and key are open. None if there is no such
        row, or if rows before it were not read yet. Both are asked of the first row of a class, or
        of a key, which stands for all of them.

        ``excess``: the keys beyond their fair share, and by how much. Rows of all other keys come
        before theirs, and the least excess comes first.
        """
        first, least = None, math.inf
        for row, beyond in self._first_of_keys(class_is_open, key_is_open, excess):
            sooner = first is None or self._before(_place(row), _place(first))
            if beyond < least or (beyond == least and sooner):
                first, least = row, beyond
        if first is None or self.cursor is None:
            return first
        return None if self._before(_place_of(self.cursor), _place(first)) else first

    def _first_of_keys(
        self,
        class_is_open: Callable[[Candidate], bool],
        key_is_open: Callable[[Candidate], bool],
        excess: Mapping[Key, float],
    ) -> Iterator[tuple[Candidate, float]]:
        """Return the first row of each key that may start, and by how much its key is beyond its
        fair share."""
        for rows in self._classes.values():
            for key, row in rows if rows and class_is_open(rows.first) else ():
                if key_is_open(row):
                    yield row, excess.get(key, 0.0)
                    if key not in excess:
                        break  # the others of this class come after it

    @property
    def some_wait(self) -> bool:
        """True if rows wait."""
        return any(self._classes.values())

    def rows_like(self, row: Candidate) -> Iterator[Candidate]:
        """Yield the rows that wait of the same scheduling class, key by key."""
        yield from self._classes[SchedulingClass.of(row)].rows()

    @property
    def heads(self) -> Iterator[tuple[Candidate, Iterator[Candidate]]]:
        """The first row of each scheduling class, and the first row of each of its keys."""
        for rows in self._classes.values():
            if rows:
                yield rows.first, (row for _, row in rows)

    @property
    def keys(self) -> Collection[Key]:
        """The keys of which rows wait."""
        return set().union(*(rows.keys for rows in self._classes.values()))

    def nothing_waits(self) -> bool:
        """Return True if all of the queue was read, and nothing waits in it."""
        return self.cursor is None and not any(self._classes.values())

    @property
    def is_costly(self) -> bool:
        """True if so many rows were read behind first pages that they are not to be read again
        soon."""
        return self._read > SHORTEST_TRUST * ROWS_PER_SECOND

    def outdated(self, now: int) -> bool:
        """Return True if the view is too old to rely on, or lacks rows that were too many to
        remember. A row can appear in the middle of the queue: its index entry was late, or the
        sweep brought it back."""
        trust = max(SHORTEST_TRUST, self._read / ROWS_PER_SECOND)
        return now - self.began >= microseconds(trust) or any(
            rows.lacks_some for rows in self._classes.values()
        )

    def _remember(self, rows: Iterable[Candidate]) -> None:
        for row in rows:
            scheduling_class = SchedulingClass.of(row)
            if scheduling_class not in self._classes:
                self._classes[scheduling_class] = ViewIndex(newest_first=self.newest_first)
            self._classes[scheduling_class].remember(self._key_of(row), _place(row), row)

    def _remember_refused(self, rows: Iterable[Candidate]) -> None:
        for row in rows:
            self._refused.remember(None, _place(row), row)

    def _before(self, one: Place, other: Place) -> bool:
        """Return True if ``one`` is nearer to the front of the queue."""
        return one > other if self.newest_first else one < other


def _place(row: Candidate) -> Place:
    return row.created, row.task_id


def _place_of(cursor: Cursor) -> Place:
    return float(cursor[Attribute.TASK_CREATED]), str(cursor[Attribute.TASK_ID])
