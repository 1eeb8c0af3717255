"""What a run has seen of the tasks that wait, and how far down it has looked.

A poll of the queue always begins with its first page. Where that page holds nothing that may start
(its types are at their limits), the run reads on behind it, once; what it saw there it remembers,
so that the next slot is filled from memory instead of reading the same rows again.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from lifoq.basics.host import microseconds
from lifoq.items.schema import Attribute
from lifoq.store.candidate import Candidate, Candidates
from lifoq.store.table import Cursor
from lifoq.worker.backlog.view_index import Key, Place, ViewIndex

ROWS_PER_SECOND: Final = 100
"""Rows that are read again behind the first page, on average: some 1.5 read units a second."""
SHORTEST_TRUST: Final = 2.0
"""Seconds for which a run relies on what it saw behind the first page, at the least."""


class SchedulingClass(NamedTuple):
    """Rows of which all may start, or none, but for their keys."""

    task_type: str
    suspects: bool
    """Whether these are the type's suspected poison."""


OLDEST: Final[Place] = (float("-inf"), "")
NEWEST: Final[Place] = (float("inf"), "")


class BacklogView:
    """Knows the rows by scheduling class; behind the first page there may be a gap that was not
    read, since tasks came in faster than the run looked, and behind all that it knows the rest of
    the queue."""

    def __init__(
        self,
        *,
        newest_first: bool,
        now: int,
        key_of: Callable[[Candidate], Key] = lambda _row: None,
    ) -> None:
        """``now``: monotonic microseconds, when the poll was sent with which it begins.
        ``key_of``: a row's key, where it matters."""
        self._key_of = key_of
        self.newest_first = newest_first
        self._end = OLDEST if newest_first else NEWEST
        self.began = now
        self._read = 0
        """Rows that were read behind first pages."""
        self._classes: dict[SchedulingClass, ViewIndex] = {}
        self._first: Place = self._end
        """Where the latest first page begins."""
        self._gap: Cursor | None = None
        self._behind_gap: Place = self._end
        """From here on everything is known, down to ``_rest``."""
        self._rest: Cursor | None = None

    def front(self, page: Candidates, wanted: Sequence[Candidate]) -> None:
        """A first page came, and some of its rows may be started. What was remembered of its
        stretch, it tells anew."""
        last = self._end if page.next is None else _place_of(page.next)
        known_from = self._behind_gap if self._gap is not None else self._first
        for rows in self._classes.values():
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
        self._remember(reversed(wanted) if self.newest_first else wanted)

    def behind(self, cursor: Cursor, page: Candidates, wanted: Iterable[Candidate]) -> None:
        """The page after ``cursor`` came; of no use any more unless it is the next to be read."""
        if cursor != self.cursor:
            return
        self._read += len(page.rows) + page.left_out
        if self._gap is not None:
            reached = page.next is not None and _place_of(page.next)
            closed = not reached or not self._before(reached, self._behind_gap)
            self._gap = None if closed else page.next
        else:
            self._rest = page.next
        self._remember(wanted)

    def came_back(self, row: Candidate) -> None:
        """A task that the run itself returned to the queue, to its old place perhaps."""
        self._remember([row])

    def drop(self, row: Candidate) -> None:
        """The run has done with a row: it was chosen, or can never start."""
        self._classes[_class_of(row)].drop(self._key_of(row), _place(row))

    @property
    def has_gap(self) -> bool:
        """Whether tasks came in between the first page and what was read before."""
        return self._gap is not None

    @property
    def cursor(self) -> Cursor | None:
        """Where to read on; None once all of the queue was seen."""
        return self._gap if self._gap is not None else self._rest

    def next(
        self,
        may_start: Callable[[SchedulingClass], bool],
        *,
        full: Callable[[str, Key], bool] = lambda _task_type, _key: False,
        excess: Mapping[Key, float] = MappingProxyType({}),
        settle: bool = True,
    ) -> Candidate | None:
        """The first row whose class may start, and whose type is not ``full`` of its key. None
        also where rows before it were not read yet.

        ``excess``: keys that have had more than their share, and by how much; those with the least
        come first, and before them all others. ``settle``: whether to take one that has had more
        while there is more to read.
        """
        first, least = None, math.inf
        for row, beyond in self._heads(may_start, full, excess):
            sooner = first is None or self._before(_place(row), _place(first))
            if beyond < least or (beyond == least and sooner):
                first, least = row, beyond
        if first is None or self.cursor is None:
            return first
        unread = self._before(_place_of(self.cursor), _place(first))
        return None if unread or (least > 0 and not settle) else first

    def _heads(
        self,
        may_start: Callable[[SchedulingClass], bool],
        full: Callable[[str, Key], bool],
        excess: Mapping[Key, float],
    ) -> Iterator[tuple[Candidate, float]]:
        """The first row of each key that may start, and by how much its key has had more than its
        share."""
        for scheduling_class, rows in self._classes.items():
            for key, row in rows if rows and may_start(scheduling_class) else ():
                if not full(scheduling_class.task_type, key):
                    yield row, excess.get(key, 0.0)
                    if key not in excess:
                        break  # the others of this class come after it

    @property
    def types(self) -> Collection[str]:
        """Those of which rows wait."""
        return {
            scheduling_class.task_type for scheduling_class, rows in self._classes.items() if rows
        }

    @property
    def keys(self) -> Collection[Key]:
        """Those of which rows wait."""
        return set().union(*(rows.keys for rows in self._classes.values()))

    def empty(self) -> bool:
        """Whether all of the queue was seen, and nothing waits in it."""
        return self.cursor is None and not any(self._classes.values())

    @property
    def is_costly(self) -> bool:
        """Whether so much was read behind first pages that it is not to be read again soon."""
        return self._read > SHORTEST_TRUST * ROWS_PER_SECOND

    def outdated(self, now: int) -> bool:
        """Whether to begin anew with the next first page: rows can come up in the middle, when an
        index was late or the sweep brought a task back. Also where rows are needed that were too
        many to be remembered."""
        trust = max(SHORTEST_TRUST, self._read / ROWS_PER_SECOND)
        return now - self.began >= microseconds(trust) or any(
            rows.lacks_some for rows in self._classes.values()
        )

    def _remember(self, rows: Iterable[Candidate]) -> None:
        for row in rows:
            scheduling_class = _class_of(row)
            if scheduling_class not in self._classes:
                self._classes[scheduling_class] = ViewIndex(newest_first=self.newest_first)
            self._classes[scheduling_class].remember(self._key_of(row), _place(row), row)

    def _before(self, one: Place, other: Place) -> bool:
        """Whether ``one`` is nearer to the front."""
        return one > other if self.newest_first else one < other


def _class_of(row: Candidate) -> SchedulingClass:
    return SchedulingClass(row.task_type, row.suspect)


def _place(row: Candidate) -> Place:
    return row.created, row.task_id


def _place_of(cursor: Cursor) -> Place:
    return float(cursor[Attribute.TASK_CREATED]), str(cursor[Attribute.TASK_ID])
