"""What a run has seen of the tasks that wait, and how far down it has looked.

A look at the queue always begins with its first page. Where that page holds nothing that may start
(its types are at their limits), the run reads on behind it, once; what it saw there it remembers,
so that the next slot is filled from memory instead of reading the same rows again.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from lifoq.basics.host import microseconds
from lifoq.items.schema import Attribute
from lifoq.tables.store import Candidate, Candidates
from lifoq.tables.table import Cursor

ROWS_PER_SECOND: Final = 1_000
"""Rows that are read again behind the first page, on average: some 15 read units a second."""
SHORTEST_TRUST: Final = 2.0
"""Seconds for which a run relies on what it saw behind the first page, at the least."""
MOST_REMEMBERED: Final = 1_000
"""Rows of a lane. Those behind them are read again when these have been started."""

Place = tuple[float, str]
"""Where a row stands in the index: its ``taskCreated`` and its id."""


class Lane(NamedTuple):
    """Rows of which all may start, or none."""

    task_type: str
    suspects: bool
    """Whether these are the type's suspects."""
    key: str | None = None
    """Where it matters."""


OLDEST: Final[Place] = (float("-inf"), "")
NEWEST: Final[Place] = (float("inf"), "")


class Sight:
    """Knows the rows by lane; behind the first page there may be a gap that was not read, since
    tasks came in faster than the run looked, and behind all that it knows the rest of the queue."""

    def __init__(
        self,
        *,
        newest_first: bool,
        now: int,
        key_of: Callable[[Candidate], str | None] = lambda _row: None,
    ) -> None:
        """``now``: monotonic microseconds, when the look was sent with which it begins.
        ``key_of``: a row's key, where it matters."""
        self._key_of = key_of
        self.newest_first = newest_first
        self._end = OLDEST if newest_first else NEWEST
        self.began = now
        self._read = 0
        """Rows that were read behind first pages."""
        self._lanes: dict[Lane, list[tuple[Place, Candidate]]] = {}
        self._forgotten: dict[Lane, Place] = {}
        """The first row of a lane that was not remembered."""
        self._first: Place = self._end
        """Of the latest first page."""
        self._gap: Cursor | None = None
        self._behind_gap: Place = self._end
        """From here on everything is known, down to ``_rest``."""
        self._rest: Cursor | None = None

    def front(self, page: Candidates, wanted: Sequence[Candidate]) -> None:
        """A first page came, and some of its rows may be started. What was remembered of its
        stretch, it tells anew."""
        last = self._end if page.next is None else _place_of(page.next)
        known_from = self._behind_gap if self._gap is not None else self._first
        self._forget_until(last)
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
        self._read += len(page.rows)
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
        name = self._lane_of(row)
        lane = self._lanes[name]
        del lane[bisect_left(lane, _place(row), key=_at)]
        if not lane:
            del self._lanes[name]

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
        may_start: Callable[[Lane], bool],
        *,
        excess: Mapping[str | None, float] | None = None,
        settle: bool = True,
    ) -> Candidate | None:
        """The first row whose lane may start. None also where rows before it were not read yet.

        ``excess``: by how much keys have had more than their share; those with the least come
        first. ``settle``: whether to take one that has had more while there is more to read.
        """
        head = -1 if self.newest_first else 0
        lanes = [lane for lane, rows in self._lanes.items() if rows and may_start(lane)]
        if lanes and excess is not None:
            least = min(excess[lane.key] for lane in lanes)
            if least > 0 and self.cursor is not None and not settle:
                return None
            lanes = [lane for lane in lanes if excess[lane.key] == least]
        if not lanes:
            return None
        heads = [self._lanes[lane][head] for lane in lanes]
        place, row = max(heads, key=_at) if self.newest_first else min(heads, key=_at)
        unread = self.cursor is not None and self._before(_place_of(self.cursor), place)
        return None if unread else row

    def lanes(self) -> Collection[Lane]:
        """Those in which rows wait."""
        return [lane for lane, rows in self._lanes.items() if rows]

    def empty(self) -> bool:
        """Whether all of the queue was seen, and nothing waits in it."""
        return self.cursor is None and not self.lanes()

    def outdated(self, now: int) -> bool:
        """Whether to begin anew with the next first page: rows can come up in the middle, when an
        index was late or the sweep brought a task back. Also where rows are needed that were too
        many to be remembered."""
        trust = max(SHORTEST_TRUST, self._read / ROWS_PER_SECOND)
        return now - self.began >= microseconds(trust) or any(
            not self._lanes.get(lane) for lane in self._forgotten
        )

    def _remember(self, rows: Iterable[Candidate]) -> None:
        for row in rows:
            place, name = _place(row), self._lane_of(row)
            lane = self._lanes.setdefault(name, [])
            newest = lane and lane[-1][0] < place
            at = len(lane) if newest else bisect_left(lane, place, key=_at)
            if at < len(lane) and lane[at][0] == place:
                lane[at] = (place, row)
            elif name not in self._forgotten or self._before(place, self._forgotten[name]):
                lane.insert(at, (place, row))
                if len(lane) > MOST_REMEMBERED:
                    self._forgotten[name], _ = lane.pop(0 if self.newest_first else -1)

    def _forget_until(self, last: Place) -> None:
        for rows in self._lanes.values():
            if self.newest_first:
                del rows[bisect_left(rows, last, key=_at) :]
            else:
                del rows[: bisect_right(rows, last, key=_at)]

    def _before(self, one: Place, other: Place) -> bool:
        """Whether it is sooner its turn."""
        return one > other if self.newest_first else one < other

    def _lane_of(self, row: Candidate) -> Lane:
        return Lane(row.task_type, row.suspect, self._key_of(row))


def _at(entry: tuple[Place, Candidate]) -> Place:
    return entry[0]


def _place(row: Candidate) -> Place:
    return row.created, row.task_id


def _place_of(cursor: Cursor) -> Place:
    return float(cursor[Attribute.TASK_CREATED]), str(cursor[Attribute.TASK_ID])
