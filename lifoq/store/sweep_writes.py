"""Keep the queue moving: promote due tasks, reclaim lost leases, shed, put damaged items aside.

The sweep does this once a minute; a worker does some of it to rows that it comes across.
"""

import logging

from lifoq.errors import ItemTooLarge
from lifoq.items import transitions
from lifoq.items.change import AtMost, Change, ConditionFailed, Item, Not, StatusIs
from lifoq.items.put_terms import is_name
from lifoq.items.schema import DUE_INDEX, MAX_TYPE_BYTES, STATUS_CREATED_INDEX, Attribute, Status
from lifoq.items.task import Task
from lifoq.items.task_error import TaskError
from lifoq.store.apply_end import apply_end, fits, tells_of_cancellation
from lifoq.store.base import StoreBase, reaching
from lifoq.store.candidate import Candidate, candidate_of
from lifoq.store.repeat_refused_write import Outrun
from lifoq.store.table_protocol import Cursor, Span

log = logging.getLogger("lifoq.store")


class SweepWrites(StoreBase):
    """The operations of the sweep. A write that comes too late changes nothing, and says so."""

    def due(self, *, limit: int, start: Cursor | None = None) -> tuple[list[str], Cursor | None]:
        """Return ids of DELAYED tasks that are due, the longest overdue first, and where to go
        on."""
        return self._overdue(Status.DELAYED, limit=limit, start=start)

    def past_deadline(
        self, *, limit: int, start: Cursor | None = None
    ) -> tuple[list[str], Cursor | None]:
        """Return ids of PENDING tasks past their deadline whose shedding somebody waits to hear of,
        the longest overdue first, and where to go on."""
        return self._overdue(Status.PENDING, limit=limit, start=start)

    def shed(self, task_id: str) -> bool:
        """Delete a waiting task that is past its deadline. Return False if it no longer waits, or
        is not past its deadline."""
        try:
            self.table.delete(task_id, when=transitions.shed(self.now()))
        except ConditionFailed:
            return False
        return True

    def promote(self, task_id: str) -> Candidate | None:
        """Bring a due task from DELAYED to PENDING, and return its new row. Return None if somebody
        else did it, or the task is not due. Raises DamagedTask."""
        item = self.table.get(task_id)
        if item is None or item.get(Attribute.TASK_STATUS) != Status.DELAYED:
            return None
        task = Task.from_item(item)
        change = transitions.promote(task=task, now=self.now(), lifetimes=self.lifetimes)
        with fits(task_id, "promoted"):
            if not self._applied(task_id, change):
                return None
        return candidate_of({**item, **{str(name): value for name, value in change.set.items()}})

    def let_fall(self, row: Candidate) -> bool:
        """Take the head start from an expired task, so that it no longer lies ahead of living ones.
        Return False if it no longer waits, or has changed since the index showed it so."""
        change = transitions.fall(created=row.created, preview=row.preview, now=self.now())
        return self._applied(row.task_id, change)

    def taken(self, *, limit: int, start: Cursor | None) -> tuple[list[Item], Cursor | None]:
        """Return TAKEN items, whole and by consistent reads, and where to go on."""
        span = Span(index=STATUS_CREATED_INDEX, status=Status.TAKEN)
        page = self.table.query(span, newest_first=False, limit=limit, start=start)
        items = self.table.get_many([str(row[Attribute.TASK_ID]) for row in page.rows])
        return [i for i in items if i.get(Attribute.TASK_STATUS) == Status.TAKEN], page.next

    def reclaim(self, task: Task, *, max_attempts: int) -> Status | None:
        """End a claim whose lease is over, and return the task's new status.

        The task goes to PENDING; to FAILURE after its last attempt; to CANCELLED if that was asked;
        and a newer put that is parked behind it takes its place, PENDING or DELAYED. Returns None
        if the worker was alive after all, or the item is written to so often that it cannot be left
        alone. Raises DamagedTask.
        """
        try:
            return self._reclaimed(task, max_attempts)
        except Outrun as error:
            log.warning("task %s was not reclaimed: %s", task.task_id, error)
            return None

    def _reclaimed(self, task: Task, max_attempts: int) -> Status | None:
        retries = self._write_retries(task.task_id)
        while True:
            change = self._reclaiming(task, max_attempts)
            try:
                with fits(task.task_id, "brought back"):
                    ended = apply_end(task, change, self.table.update, retries)
            except ConditionFailed as refused:
                if refused.item is None or not tells_of_cancellation(task, change, refused.item):
                    return None
                task = Task.from_item(refused.item)
                retries.after_refusal()
            else:
                return Status(str(ended.set[Attribute.TASK_STATUS]))

    def _reclaiming(self, task: Task, max_attempts: int) -> Change:
        error = TaskError(
            type="LeaseExpired",
            message=f"the worker of attempt {task.attempts} was lost: its lease ran out",
        )
        build = transitions.reclaim
        if task.cancel_asked is not None:
            build = transitions.bury_cancelled
        elif task.attempts >= max_attempts:
            build = transitions.bury
        return build(task=task, now=self.now(), error=error, lifetimes=self.lifetimes)

    def dead_letter(self, task_id: str, *, seen: Status, reason: str) -> bool:
        """Dead-letter a damaged item: FAILURE with the reason. Return False if its status is no
        longer ``seen``."""
        error, now = TaskError(type="DamagedTask", message=reason), self.now()
        change = transitions.dead_letter(seen=seen, now=now, error=error, lifetimes=self.lifetimes)
        try:
            return self._applied(task_id, change)
        except ItemTooLarge:
            return self._bury_under(task_id, seen, now=now, error=error)

    def _bury_under(self, task_id: str, seen: Status, *, now: int, error: TaskError) -> bool:
        """Replace an item that is too full for an error message by a tombstone that has room."""
        item = self.table.get(task_id)
        named = item and item.get(Attribute.TASK_TYPE)
        tombstone = transitions.tombstone(
            task_id,
            task_type=named if is_name(named, MAX_TYPE_BYTES) else "",
            now=now,
            error=error,
            lifetimes=self.lifetimes,
        )
        try:
            self.table.replace(tombstone, when=(StatusIs(seen),))
        except ConditionFailed:
            return False
        return True

    def out_of_reach(self, *, limit: int, start: Cursor | None) -> tuple[list[str], Cursor | None]:
        """Return ids of PENDING items that have not expired and yet lie below the range that
        workers read, and where to go on. The library writes none such: they are damaged."""
        now = self.now()
        span = Span(
            index=STATUS_CREATED_INDEX,
            status=Status.PENDING,
            last=reaching(self.lifetimes.oldest_alive(now) - 1, start, Attribute.TASK_CREATED),
            where=(Not(AtMost(Attribute.EXPIRES_AT, now)),),  # what is damaged is to be seen
        )
        page = self.table.query(span, newest_first=True, limit=limit, start=start)
        return [str(row[Attribute.TASK_ID]) for row in page.rows], page.next

    def _overdue(
        self, status: Status, *, limit: int, start: Cursor | None
    ) -> tuple[list[str], Cursor | None]:
        last = reaching(self.now(), start, Attribute.DUE_AT)
        span = Span(index=DUE_INDEX, status=status, last=last)
        page = self.table.query(span, newest_first=False, limit=limit, start=start)
        return [str(row[Attribute.TASK_ID]) for row in page.rows], page.next
