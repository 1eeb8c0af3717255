"""Read a queue: single tasks, and the rows and counts of its indexes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from lifoq.errors import DamagedTask
from lifoq.items.change import AtMost, Condition, Exists, Item, Not, is_number
from lifoq.items.schema import DUE_INDEX, STATUS_CREATED_INDEX, Attribute, Preview, Status
from lifoq.items.task import Task
from lifoq.store.base import StoreBase, reaching, unexpired
from lifoq.store.candidate import Candidate, Candidates, candidate_of
from lifoq.store.table_protocol import LARGEST_PAGE, Count, Cursor, Page, Span

BROWSE_PAGE = 100
"""Rows read at a time by whoever looks through a status."""


TELL_AN_END: Final = (Attribute.TASK_ID, Attribute.TASK_STATUS, Attribute.EXPIRES_AT)
"""The attributes that tell if a task has ended."""


class Reads(StoreBase):
    """The operations that only read."""

    def get(self, task_id: str) -> Task | None:
        """Return a task, by a consistent read; None if there is none. Raises DamagedTask."""
        item = self.table.get(task_id)
        return None if item is None else Task.from_item(item)

    def read(self, task_ids: Sequence[str]) -> list[Task]:
        """Return the tasks with these ids, in this order; missing and damaged ones are left out."""
        found = self.read_each(task_ids)
        return [task for task in found.values() if isinstance(task, Task)]

    def read_each(self, task_ids: Sequence[str]) -> dict[str, Task | DamagedTask]:
        """Return tasks by id, in this order; missing ones are left out, damaged ones are values."""
        items = {str(item[Attribute.TASK_ID]): item for item in self.table.get_many(task_ids)}
        return {
            task_id: _task_or_damage(items[task_id]) for task_id in task_ids if task_id in items
        }

    def unended(self, task_ids: Sequence[str], *, lately: bool = False) -> set[str]:
        """Return the ids of those tasks that have certainly not ended: they are at work, or wait
        and have not expired. Reads no payload; what is missing or damaged is left out. ``lately``:
        True if it is enough that they had not ended a moment ago, for half the read units."""
        items, now = self.table.get_many(task_ids, only=TELL_AN_END, lately=lately), self.now()
        return {str(item[Attribute.TASK_ID]) for item in items if _has_not_ended(item, now)}

    def has_not_ended(self, task_id: str) -> bool:
        """Return True if a task has certainly not ended, as ``unended`` does, by one GetItem."""
        item = self.table.get(task_id, only=TELL_AN_END)
        return item is not None and _has_not_ended(item, self.now())

    def candidates(
        self,
        *,
        limit: int,
        start: Cursor | None = None,
        newest_first: bool = True,
        where: tuple[Condition, ...] = (),
    ) -> Candidates:
        """Return a page of PENDING rows, from the newest or the oldest end.

        Rows too old to be alive are not read, so a mountain of expired ones costs nothing. Behind
        the first page (``start``), DynamoDB also filters out expired rows and those for which
        ``where`` does not hold: these are read, but not sent.
        """
        now = self.now()
        expired = AtMost(Attribute.EXPIRES_AT, now)
        # Not(expired), so that a row whose deadline is damaged is shown, and can be put aside.
        where = () if start is None else (Not(expired), *where)
        span = self._alive(now, start=start, where=where)
        page = self.table.query(span, newest_first=newest_first, limit=limit, start=start)
        rows = tuple(candidate_of(row) for row in page.rows)
        left_out = 0 if page.next is None else limit - len(rows)
        return Candidates(rows=rows, next=page.next, left_out=left_out)

    def waiting(self, *, where: tuple[Condition, ...], cap: int) -> Iterator[Candidate]:
        """Yield unexpired PENDING rows for which ``where`` holds, newest first, damaged ones among
        them. Reads about ``cap`` rows."""
        now = self.now()
        span = self._alive(now, where=(Not(AtMost(Attribute.EXPIRES_AT, now)), *where))
        start: Cursor | None = None
        for _ in range(0, cap, LARGEST_PAGE):
            page = self.table.query(span, newest_first=True, limit=LARGEST_PAGE, start=start)
            yield from map(candidate_of, page.rows)
            start = page.next
            if start is None:
                return

    def browse(
        self, status: Status, *, live: bool = False, page: int = BROWSE_PAGE
    ) -> Iterator[tuple[str, Item]]:
        """Yield ids and index rows of a status, newest first (DELAYED: latest due first). ``live``:
        of PENDING tasks, only those that can still be claimed. ``page``: rows of the first page;
        each further page is ten times as large."""
        start: Cursor | None = None
        while True:
            page = min(page, LARGEST_PAGE)
            found = self.rows(status, live=live, limit=page, start=start)
            for row in found.rows:
                yield str(row[Attribute.TASK_ID]), row
            start, page = found.next, 10 * page
            if start is None:
                return

    def rows(
        self,
        status: Status,
        *,
        live: bool = False,
        first: int | None = None,
        last: int | None = None,
        where: tuple[Condition, ...] = (),
        limit: int,
        start: Cursor | None = None,
    ) -> Page:
        """Read ``limit`` index rows of a status from ``start`` on, newest first, and return those
        for which ``where`` holds. ``first`` and ``last`` bound ``taskCreated`` (DELAYED:
        ``dueAt``). ``live``: of PENDING tasks, only those that can still be claimed."""
        delayed = status is Status.DELAYED
        sort_key = Attribute.DUE_AT if delayed else Attribute.TASK_CREATED
        if live and status is Status.PENDING:
            now = self.now()
            where = (*where, unexpired(now))
            first = max(first or 0, self.lifetimes.oldest_alive(now))
        if start is not None and first is not None:
            # The bound moves up during a walk, and DynamoDB refuses a cursor from below it.
            first = min(first, math.floor(start[sort_key]))
        span = Span(
            index=DUE_INDEX if delayed else STATUS_CREATED_INDEX,
            status=status,
            first=first,
            last=None if last is None else reaching(last, start, sort_key),
            where=where,
        )
        return self.table.query(span, newest_first=True, limit=limit, start=start)

    def waits_since(
        self,
        *,
        newest: bool,
        where: tuple[Condition, ...] = (),
        cap: int = 0,
        reach: float = math.inf,
    ) -> int | None:
        """Return when the newest or the oldest live PENDING task for which ``where`` holds began to
        wait (epoch microseconds); None if there is none within ``reach`` rows.

        A task with a head start stands elsewhere than its age says: ``cap`` rows are read behind
        the page that shows the first match, in search of a newer or older one.
        """
        now, limit, left = self.now(), BROWSE_PAGE, reach
        where = (unexpired(now), *where)
        since: int | None = None
        start: Cursor | None = None
        while True:
            # One that came before the oldest end's can only stand behind it with a head start.
            ahead = () if newest or since is None else (Exists(Preview.HEAD_START),)
            span = self._alive(now, start=start, where=(*where, *ahead))
            page = self.table.query(span, newest_first=newest, limit=limit, start=start)
            for row in map(candidate_of, page.rows):
                if since is None:
                    since, left = row.since, min(left, limit + cap)
                since = max(since, row.since) if newest else min(since, row.since)
                if newest and row.created <= since:
                    return since  # nor are those behind it newer
            left -= limit
            if page.next is None or left <= 0:
                return since
            start, limit = page.next, LARGEST_PAGE

    def count(self, status: Status, *, cap: int) -> Count:
        """Count tasks of a status, up to ``cap``. SUCCESS and CANCELLED are in no index, so 0."""
        index = DUE_INDEX if status is Status.DELAYED else STATUS_CREATED_INDEX
        return self.table.count(Span(index=index, status=status), cap=cap)

    def count_live(self, *, cap: int, where: tuple[Condition, ...] = ()) -> Count:
        """Count PENDING tasks that can still be claimed, and for which ``where`` holds; reads
        ``cap`` rows at the most."""
        now = self.now()
        return self.table.count(self._alive(now, where=(unexpired(now), *where)), cap=cap)

    def count_newer(self, task: Task, *, cap: int) -> Count:
        """Count the live PENDING tasks that stand before a task where the newest come first; reads
        ``cap`` rows at the most."""
        now = self.now()
        span = self._alive(now, where=(unexpired(now),))
        first = max(span.first or 0, (task.task_created or 0) + 1)
        return self.table.count(replace(span, first=first), cap=cap)


def _has_not_ended(item: Item, now: int) -> bool:
    status, expires_at = item.get(Attribute.TASK_STATUS), item.get(Attribute.EXPIRES_AT)
    if status in (Status.PENDING, Status.DELAYED):
        return is_number(expires_at) and expires_at > now
    return status == Status.TAKEN


def _task_or_damage(item: Item) -> Task | DamagedTask:
    try:
        return Task.from_item(item)
    except DamagedTask as damage:
        return damage
