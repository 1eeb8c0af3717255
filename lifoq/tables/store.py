"""The queue's operations on a table: what producers, workers and the sweep may do to a task.

Each is one read or one conditional write (see ``transitions``). When the answer to a write is lost
and the caller repeats it, the item itself tells whether it was applied: the repeat recognises its
own ``claimId``, or its own id, and succeeds.
"""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lifoq.basics import jsontext
from lifoq.basics.host import microseconds
from lifoq.errors import (
    Cancelled,
    DamagedTask,
    InvalidInput,
    ItemTooLarge,
    LeaseLost,
    NotClaimed,
    QueueMisconfigured,
    TaskNotFound,
    WrongStatus,
)
from lifoq.items import transitions
from lifoq.items.change import (
    AtMost,
    Change,
    Condition,
    ConditionFailed,
    Exists,
    GreaterThan,
    Item,
    Not,
    StatusIs,
    TransactionRefused,
    UnfitAttribute,
    is_number,
)
from lifoq.items.packed import PARTS, Large
from lifoq.items.schema import (
    DUE_INDEX,
    MAX_PAYLOAD_AND_CHECKPOINT_BYTES,
    MAX_TYPE_BYTES,
    STATUS_CREATED_INDEX,
    Attribute,
    Status,
)
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskError
from lifoq.tables.again import Again, Outrun
from lifoq.tables.puts import Puts
from lifoq.tables.table import (
    LARGEST_PAGE,
    MAX_TRANSACTION,
    Count,
    Cursor,
    Page,
    Span,
)

log = logging.getLogger("lifoq.store")

BROWSE_PAGE = 100
"""Rows read at a time by whoever looks through a status."""
MAX_FOLLOW_UPS = MAX_TRANSACTION - 1
"""Follow-up tasks that one success can put, since all go into one transaction."""
Write = Callable[[str, Change], None]
"""Applies a change to the item of an id."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A row of the LIFO index: perhaps still PENDING. ``damage`` says why it cannot be a task."""

    task_id: str
    task_type: str
    created: int
    """Its place in the queue, ``taskCreated``."""
    expires_at: int
    """Epoch microseconds."""
    key: str | None = None
    head_start: int = 0
    """Microseconds of ``created`` by which it goes ahead."""
    suspect: bool = False
    """Whether the lease of its latest claim was lost: perhaps it kills the process it runs in."""
    damage: str | None = None

    @property
    def since(self) -> int:
        """Since when it waits, in epoch microseconds."""
        return self.created - self.head_start


@dataclass(frozen=True, kw_only=True)
class Candidates:
    rows: tuple[Candidate, ...]
    next: Cursor | None
    left_out: int = 0
    """Rows that were read as well, and not sent, as far as one can tell."""


class Store(Puts):
    # Operators

    def get(self, task_id: str) -> Task | None:
        item = self.table.get(task_id)
        return None if item is None else Task.from_item(item)

    def cancel(self, task_id: str, *, running: bool = True) -> Task:
        """PENDING or DELAYED → CANCELLED; a cancelled task stays so. One that is TAKEN stays TAKEN,
        ``cancel_asked``, until its worker has learned of it; unless not even that is wanted where
        it is ``running``: then only the newer put is withdrawn that waits for the end of its
        attempt. WrongStatus, TaskNotFound, DamagedTask."""
        again = self._again(task_id)
        while True:
            task = self._existing(task_id)
            change = self._cancelling(task, running=running)
            if change is None:
                return task
            try:
                with _fits(task_id, "cancelled"):
                    return Task.from_item(self.table.update_and_get(task_id, change))
            except ConditionFailed:
                again.after_refusal()  # it moved in between: look again

    def _cancelling(self, task: Task, *, running: bool) -> Change | None:
        """None where it is done. WrongStatus."""
        now = self.now()
        if task.status is Status.CANCELLED:
            return None
        if task.waiting:
            return transitions.cancel(seen=task.status, now=now, lifetimes=self.lifetimes)
        if task.status is Status.TAKEN and running:
            told = task.cancel_asked is not None and task.parked is None
            return None if told else transitions.ask_to_cancel(now=now)
        if task.status is Status.TAKEN and task.parked is not None:
            from lifoq.items import replacing  # noqa: PLC0415 - a cold start less to import

            return replacing.withdraw(task, now=now)
        needed = "PENDING, DELAYED or TAKEN" if running else "PENDING or DELAYED"
        raise WrongStatus(task.task_id, task.status, needed)

    def delete(self, task_id: str) -> Task:
        """SUCCESS, FAILURE or CANCELLED → –; the task as it was. WrongStatus, TaskNotFound,
        DamagedTask."""
        task = self._existing(task_id)
        try:
            self.table.delete(task_id, when=transitions.erase())
        except ConditionFailed as refused:
            if refused.item is None:  # by another, or by us, and the answer was lost
                return task
            now = Task.from_item(refused.item)
            raise WrongStatus(task_id, now.status, "SUCCESS, FAILURE or CANCELLED") from refused
        if self.large is not None:
            self.large.forget(task)
        return task

    def run_now(self, task_id: str) -> Task:
        """DELAYED → PENDING, whenever it would be due. WrongStatus, TaskNotFound, DamagedTask."""
        again = self._again(task_id)
        while True:
            task = self._existing(task_id)
            if task.status is not Status.DELAYED:
                raise WrongStatus(task_id, task.status, "DELAYED")
            stamp = self._host.stamp(self.now())
            change = transitions.hurry(task=task, stamp=stamp, lifetimes=self.lifetimes)
            try:
                with _fits(task_id, "brought in"):
                    return Task.from_item(self.table.update_and_get(task_id, change))
            except ConditionFailed:
                again.after_refusal()  # it moved in between: look again

    def redrive(self, task_id: str) -> Task:
        """FAILURE → PENDING, as the newest task. WrongStatus, TaskNotFound, DamagedTask."""
        task = self._existing(task_id)
        if task.status is not Status.FAILURE:
            raise WrongStatus(task_id, task.status, "FAILURE")
        if self.large is not None:
            self.large.renew(task)
        stamp = self._host.stamp(self.now())
        change = transitions.redrive(task=task, stamp=stamp, lifetimes=self.lifetimes)
        try:
            with _fits(task_id, "redriven"):
                return Task.from_item(self.table.update_and_get(task_id, change))
        except ConditionFailed as refused:
            now = Task.from_item(refused.item) if refused.item else None
            if now is None:
                raise TaskNotFound(task_id) from refused
            if (
                now.task_created == change.set[Attribute.TASK_CREATED]
            ):  # our own, whose answer was lost
                return now
            raise WrongStatus(task_id, now.status, "FAILURE") from refused

    # Workers

    def candidates(
        self,
        *,
        limit: int,
        start: Cursor | None = None,
        newest_first: bool = True,
        where: tuple[Condition, ...] = (),
    ) -> Candidates:
        """A page of PENDING tasks from either end. It leaves out those that are too old to be
        alive, so that a mountain of expired ones costs nothing; and where it goes on from
        ``start``, all that have expired, and all for which ``where`` does not hold: these are
        read, but not sent."""
        now = self.now()
        expired = AtMost(Attribute.EXPIRES_AT, now)
        # What is damaged is to be seen.
        where = () if start is None else (Not(expired), *where)
        span = self._alive(now, start=start, where=where)
        page = self.table.query(span, newest_first=newest_first, limit=limit, start=start)
        rows = tuple(_candidate(row) for row in page.rows)
        left_out = 0 if page.next is None else limit - len(rows)
        return Candidates(rows=rows, next=page.next, left_out=left_out)

    def waiting(self, *, where: tuple[Condition, ...], cap: int) -> Iterator[Candidate]:
        """Those of the newest ``cap`` PENDING tasks, or some more, that have not expired, and for
        which ``where`` holds. What is damaged is to be seen."""
        now = self.now()
        span = self._alive(now, where=(Not(AtMost(Attribute.EXPIRES_AT, now)), *where))
        start: Cursor | None = None
        for _ in range(0, cap, LARGEST_PAGE):
            page = self.table.query(span, newest_first=True, limit=LARGEST_PAGE, start=start)
            yield from map(_candidate, page.rows)
            start = page.next
            if start is None:
                return

    def let_fall(self, row: Candidate) -> bool:
        """Take its head start from a task that has expired; False where it waits no more."""
        change = transitions.fall(created=row.created, head_start=row.head_start, now=self.now())
        return self._applied(row.task_id, change)

    def claim(
        self, task_id: str, *, claim_id: str, lease: float, when: tuple[Condition, ...] = ()
    ) -> Task:
        """PENDING → TAKEN for ``lease`` seconds, if all of ``when`` holds as well.

        Raises NotClaimed where somebody was faster or the task has expired, DamagedTask.
        """
        change = transitions.claim(now=self.now(), claim_id=claim_id, lease=microseconds(lease))
        change = replace(change, when=(*change.when, *when)) if when else change
        try:
            with _fits(task_id, "claimed"):
                return Task.from_item(self.table.update_and_get(task_id, change))
        except UnfitAttribute as unfit:
            raise DamagedTask(task_id, f"attempts cannot be raised ({unfit})") from unfit
        except ConditionFailed as refused:
            item = refused.item
            if item is None:
                raise NotClaimed(task_id) from refused
            if _settled_as(item, Status.TAKEN, claim_id):  # our own, whose answer was lost
                return Task.from_item(item)
            if item.get(Attribute.TASK_STATUS) == Status.PENDING:
                Task.from_item(item)  # says what is damaged, if anything is
            raise NotClaimed(task_id) from refused

    def extend(self, task: Task, *, lease: float, cancelled: bool = False) -> None:
        """Heartbeat: the claim holds for another ``lease`` seconds from now, or as long as a later
        heartbeat said. LeaseLost; Cancelled, where the claim holds as well, unless it is known that
        the task is ``cancelled``."""

        def extend(*, cancelled: bool) -> None:
            until = self.now() + microseconds(lease)
            change = transitions.extend(task=task, lease_expires=until, cancelled=cancelled)
            self._under_claim(task, change, Status.TAKEN)

        try:
            extend(cancelled=cancelled)
        except Cancelled:  # it may take time to stop
            extend(cancelled=True)
            raise

    def checkpoint(self, task: Task, value: Any, *, lease: float) -> None:
        """Keep ``value`` (JSON) for the next attempt, and extend. LeaseLost, InvalidInput;
        Cancelled, since there will be none."""
        text = jsontext.encode(value, "checkpoint")
        change = transitions.checkpoint(task=task, now=self.now(), value=text)
        change = self._apart(change, Attribute.CHECKPOINT)
        room = MAX_PAYLOAD_AND_CHECKPOINT_BYTES - task.payload_bytes
        if room < jsontext.size(text) and not isinstance(change.set[Attribute.CHECKPOINT], dict):
            raise InvalidInput(
                "checkpoint",
                text,
                f"is {jsontext.size(text):,} bytes of JSON, beside this payload there is room for "
                f"{room:,}; put it in S3 and keep its key",
            )
        now = self.now()
        if not self._applied(
            task.task_id, transitions.and_extend(change, now + microseconds(lease))
        ):
            self._under_claim(task, change, Status.TAKEN)

    # What ends an attempt returns the row as which the task now waits in the index again, if it
    # does: after a retry without delay, and where a newer put was parked, which takes its place
    # whatever the outcome was (see ``replacing``).

    def succeed(
        self, task: Task, result: str, follow_ups: Sequence[NewTask] = ()
    ) -> Candidate | None:
        """TAKEN → SUCCESS with the result (JSON text), and with it, all or nothing, the follow-up
        tasks. LeaseLost; InvalidInput for a follow-up, before anything is written."""
        change = transitions.succeed(
            task=task, now=self.now(), result=result, lifetimes=self.lifetimes
        )
        items = self._follow_up_items(task, follow_ups)
        if task.task_token is None:  # else who answers with the result has to find it in the item
            change = self._apart(change, Attribute.RESULT)
        items = [
            self._with_large_apart(item) for item in items if not self._there_before_large(item)
        ]
        write = self.table.update
        if items:
            write = partial(self._write_with, items)
        return self._end(task, change, Status.SUCCESS, write)

    def fail(self, task: Task, error: TaskError) -> Candidate | None:
        """TAKEN → FAILURE. LeaseLost; Cancelled, where it is to ``end_cancelled``."""
        change = transitions.fail(task=task, now=self.now(), error=error, lifetimes=self.lifetimes)
        return self._end(task, change, Status.FAILURE)

    def retry(
        self, task: Task, error: TaskError, *, delay: float, counts: bool = True
    ) -> Candidate | None:
        """TAKEN → DELAYED for ``delay`` seconds, or straight → PENDING where it is 0. The attempt
        is taken back where it does not count. LeaseLost; Cancelled, where it is to
        ``end_cancelled``."""
        now = self.now()
        if delay > 0:
            becomes = Status.DELAYED
            due_at = now + microseconds(delay)
            change = transitions.delay(task=task, now=now, due_at=due_at, error=error)
        else:
            becomes = Status.PENDING
            change = transitions.hand_back(
                task=task, now=now, error=error, lifetimes=self.lifetimes
            )
        if not counts:
            change = transitions.uncounted(change, task, now=now, error=error)
        return self._end(task, change, becomes)

    def end_cancelled(self, task: Task, error: TaskError | None = None) -> Candidate | None:
        """TAKEN → CANCELLED, of a task that somebody has cancelled; with what its handler raised,
        if that was something else than Cancelled. LeaseLost."""
        change = transitions.end_cancelled(
            task=task, now=self.now(), error=error, lifetimes=self.lifetimes
        )
        return self._end(task, change, Status.CANCELLED)

    # The sweep, and workers that find something

    def due(self, *, limit: int, start: Cursor | None = None) -> tuple[list[str], Cursor | None]:
        """Ids of DELAYED tasks whose time has come, the longest overdue first; where to go on."""
        return self._overdue(Status.DELAYED, limit=limit, start=start)

    def past_deadline(
        self, *, limit: int, start: Cursor | None = None
    ) -> tuple[list[str], Cursor | None]:
        """Ids of PENDING tasks past their deadline, of those whose shedding somebody waits to be
        told of, the longest overdue first; where to go on."""
        return self._overdue(Status.PENDING, limit=limit, start=start)

    def shed(self, task_id: str) -> bool:
        """PENDING or DELAYED → –: delete a task at its deadline; False where it does not wait any
        more, or not for so long."""
        try:
            self.table.delete(task_id, when=transitions.shed(self.now()))
        except ConditionFailed:
            return False
        return True

    def promote(self, task_id: str) -> Candidate | None:
        """DELAYED → PENDING: the row as it now stands in the index; None where somebody else did
        it, or it is not due. DamagedTask."""
        item = self.table.get(task_id)
        if item is None or item.get(Attribute.TASK_STATUS) != Status.DELAYED:
            return None
        task = Task.from_item(item)
        change = transitions.promote(task=task, now=self.now(), lifetimes=self.lifetimes)
        with _fits(task_id, "promoted"):
            if not self._applied(task_id, change):
                return None
        return _candidate({**item, **{str(name): value for name, value in change.set.items()}})

    def taken(self, *, limit: int, start: Cursor | None) -> tuple[list[Item], Cursor | None]:
        """Items that are TAKEN, whole and strongly consistent, and where to go on."""
        span = Span(index=STATUS_CREATED_INDEX, status=Status.TAKEN)
        page = self.table.query(span, newest_first=False, limit=limit, start=start)
        items = self.table.get_many([str(row[Attribute.TASK_ID]) for row in page.rows])
        return [i for i in items if i.get(Attribute.TASK_STATUS) == Status.TAKEN], page.next

    def reclaim(self, task: Task, *, max_attempts: int) -> Status | None:
        """End a claim whose lease is over: → PENDING, or → FAILURE after the last attempt, or →
        CANCELLED where somebody has cancelled it; with a newer put that is parked, → PENDING or
        DELAYED. Returns the new status; None where the worker was alive after all, or others write
        to it all the time, as to no task that is left alone. DamagedTask."""
        try:
            return self._reclaimed(task, max_attempts)
        except Outrun as error:
            log.warning("task %s was not reclaimed: %s", task.task_id, error)
            return None

    def _reclaimed(self, task: Task, max_attempts: int) -> Status | None:
        again = self._again(task.task_id)
        while True:
            change = self._reclaiming(task, max_attempts)
            try:
                with _fits(task.task_id, "brought back"):
                    ended = self._ended(task, change, self.table.update, again)
            except ConditionFailed as refused:
                if refused.item is None or not _is_news(task, change, refused.item):
                    return None
                task = Task.from_item(refused.item)
                again.after_refusal()
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

    def condemn(self, task_id: str, *, seen: Status, reason: str) -> bool:
        """A damaged item → FAILURE with the reason; False where it is no longer as ``seen``."""
        error, now = TaskError(type="DamagedTask", message=reason), self.now()
        change = transitions.condemn(seen=seen, now=now, error=error, lifetimes=self.lifetimes)
        try:
            return self._applied(task_id, change)
        except ItemTooLarge:
            return self._bury_under(task_id, seen, now=now, error=error)

    def out_of_reach(self, *, limit: int, start: Cursor | None) -> tuple[list[str], Cursor | None]:
        """Ids of PENDING items that have not expired and yet lie below the range that workers look
        through: no task of ours can. And where to go on."""
        now = self.now()
        span = Span(
            index=STATUS_CREATED_INDEX,
            status=Status.PENDING,
            last=_reaching(self.lifetimes.oldest_alive(now) - 1, start, Attribute.TASK_CREATED),
            where=(Not(AtMost(Attribute.EXPIRES_AT, now)),),  # what is damaged is to be seen
        )
        page = self.table.query(span, newest_first=True, limit=limit, start=start)
        return [str(row[Attribute.TASK_ID]) for row in page.rows], page.next

    # Looking

    def browse(
        self, status: Status, *, live: bool = False, page: int = BROWSE_PAGE
    ) -> Iterator[tuple[str, Item]]:
        """Ids and index rows of a status, newest first (DELAYED: latest due first). ``live``: of
        those that are PENDING, what can still be claimed. The first ``page`` is the smallest."""
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
        """Those of ``limit`` index rows of a status, from ``start`` on and newest first, for which
        ``where`` holds. ``first`` and ``last`` bound ``taskCreated`` (DELAYED: ``dueAt``).
        ``live``: of those that are PENDING, what can still be claimed."""
        delayed = status is Status.DELAYED
        sort_key = Attribute.DUE_AT if delayed else Attribute.TASK_CREATED
        if live and status is Status.PENDING:
            now = self.now()
            where = (*where, _unexpired(now))
            first = max(first or 0, self.lifetimes.oldest_alive(now))
        if start is not None and first is not None:
            # The bound moves up during a walk, and DynamoDB refuses a cursor from below it.
            first = min(first, math.floor(start[sort_key]))
        span = Span(
            index=DUE_INDEX if delayed else STATUS_CREATED_INDEX,
            status=status,
            first=first,
            last=None if last is None else _reaching(last, start, sort_key),
            where=where,
        )
        return self.table.query(span, newest_first=True, limit=limit, start=start)

    def read(self, task_ids: Sequence[str]) -> list[Task]:
        """Those of the tasks that there are and can be read, in this order."""
        found = self.read_each(task_ids)
        return [task for task in found.values() if isinstance(task, Task)]

    def read_each(self, task_ids: Sequence[str]) -> dict[str, Task | DamagedTask]:
        """Those of the tasks that there are, by their ids and in this order."""
        items = {str(item[Attribute.TASK_ID]): item for item in self.table.get_many(task_ids)}
        return {
            task_id: _task_or_damage(items[task_id]) for task_id in task_ids if task_id in items
        }

    def waits_since(
        self,
        *,
        newest: bool,
        where: tuple[Condition, ...] = (),
        cap: int = 0,
        reach: float = math.inf,
    ) -> int | None:
        """Since when the newest or the oldest live PENDING task waits for which ``where`` holds;
        None where none does, within ``reach`` rows. ``cap``: rows that are read behind the page
        that shows the first of them, where one with a head start may be newer or older than it."""
        now, limit, left = self.now(), BROWSE_PAGE, reach
        where = (_unexpired(now), *where)
        since: int | None = None
        start: Cursor | None = None
        while True:
            # One that came before the oldest end's can only stand behind it with a head start.
            ahead = () if newest or since is None else (Exists(Attribute.HEAD_START),)
            span = self._alive(now, start=start, where=(*where, *ahead))
            page = self.table.query(span, newest_first=newest, limit=limit, start=start)
            for row in map(_candidate, page.rows):
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
        """How many tasks have this status; SUCCESS and CANCELLED are in no index, so 0."""
        index = DUE_INDEX if status is Status.DELAYED else STATUS_CREATED_INDEX
        return self.table.count(Span(index=index, status=status), cap=cap)

    def count_live(self, *, cap: int) -> Count:
        """How many PENDING tasks can still be claimed."""
        now = self.now()
        return self.table.count(self._alive(now, where=(_unexpired(now),)), cap=cap)

    def whole(self, task: Task, *parts: str) -> Task:
        """The task with what lies in the queue's bucket; ``parts``: with so much of it, such as
        ``result``, or with all. DamagedTask where an object is gone, or another than was written.
        """
        asked = [part for part in parts or PARTS if isinstance(getattr(task, part), Large)]
        if not asked:
            return task
        if self.large is None:
            raise QueueMisconfigured(
                f"the {asked[0]} of task {task.task_id!r} lies in the queue's bucket, which this "
                "client was not told: connect by the queue's name, or give bucket"
            )
        found = {p: self.large.value(task.task_id, p, getattr(task, p)) for p in asked}
        return replace(task, **found)

    # Inside

    def _apart(self, change: Change, name: Attribute) -> Change:
        """This change; what it sets of this name, where it is large, in the queue's bucket."""
        if self.large is None:
            return change
        return replace(change, set=self.large.moved(change.set, name))

    def _existing(self, task_id: str) -> Task:
        task = self.get(task_id)
        if task is None:
            raise TaskNotFound(task_id)
        return task

    def _alive(
        self, now: int, *, start: Cursor | None = None, where: tuple[Condition, ...] = ()
    ) -> Span:
        first = self.lifetimes.oldest_alive(now)
        if start is not None:
            # The bound moves up during a walk, and DynamoDB refuses a cursor from below it.
            first = min(first, math.floor(start[Attribute.TASK_CREATED]))
        return Span(index=STATUS_CREATED_INDEX, status=Status.PENDING, first=first, where=where)

    def _applied(self, task_id: str, change: Change) -> bool:
        try:
            self.table.update(task_id, change)
        except ConditionFailed:
            return False
        return True

    def _bury_under(self, task_id: str, seen: Status, *, now: int, error: TaskError) -> bool:
        item = self.table.get(task_id)
        named = item and item.get(Attribute.TASK_TYPE)
        fits = isinstance(named, str) and jsontext.size(named) <= MAX_TYPE_BYTES
        tombstone = transitions.tombstone(
            task_id,
            task_type=named if fits and isinstance(named, str) else "",
            now=now,
            error=error,
            lifetimes=self.lifetimes,
        )
        try:
            self.table.replace(tombstone, when=(StatusIs(seen),))
        except ConditionFailed:
            return False
        return True

    def _overdue(
        self, status: Status, *, limit: int, start: Cursor | None
    ) -> tuple[list[str], Cursor | None]:
        last = _reaching(self.now(), start, Attribute.DUE_AT)
        span = Span(index=DUE_INDEX, status=status, last=last)
        page = self.table.query(span, newest_first=False, limit=limit, start=start)
        return [str(row[Attribute.TASK_ID]) for row in page.rows], page.next

    def _under_claim(self, task: Task, change: Change, becomes: Status) -> None:
        try:
            self.table.update(task.task_id, change)
        except ConditionFailed as refused:
            self._recognise(task, refused.item, becomes, refused, change)

    def _end(
        self, task: Task, change: Change, becomes: Status, write: Write | None = None
    ) -> Candidate | None:
        """End an attempt, unless that was done before and only the answer lost: the row as which
        the task waits again, if it does. LeaseLost, Cancelled."""
        try:
            again, write = self._again(task.task_id), write or self.table.update
            item = _changed(task, self._ended(task, change, write, again))
        except ConditionFailed as refused:
            self._recognise(task, refused.item, becomes, refused, change)
            item = refused.item or {}
        except DamagedTask as damage:  # what is parked is; the sweep puts it aside
            raise LeaseLost(task.task_id) from damage
        return _candidate(item) if item.get(Attribute.TASK_STATUS) == Status.PENDING else None

    @staticmethod
    def _ended(task: Task, change: Change, write: Write, again: Again) -> Change:
        """Apply a change that ends an attempt; where a newer put is parked, which the refusal
        tells, bring that back instead. What was applied. ConditionFailed, DamagedTask."""
        applied = change
        while True:
            try:
                write(task.task_id, applied)
            except ConditionFailed as refused:
                from lifoq.items import replacing  # noqa: PLC0415 - a cold start less to import

                instead = replacing.with_parked(change, refused.item, task)
                if instead is None:
                    raise
                applied = instead
                again.after_refusal()
            else:
                return applied

    def _follow_up_items(self, task: Task, follow_ups: Sequence[NewTask]) -> list[Item]:
        """In the trace of ``task``, unless they name another. Put is idempotent: of several with
        one id the first counts, and ``task`` has its own. (A transaction that names an item twice
        would be refused.)"""
        items: dict[str, Item] = {}
        for index, new in enumerate(follow_ups):
            accepted = self.accept_nth("follow_ups", index, new)
            if accepted.replaces:
                problem = "is for puts of their own, a follow-up is kept where its id is in use"
                raise InvalidInput(f"follow_ups[{index}].if_exists", new.if_exists, problem)
            trace = accepted.traceparent or task.traceparent
            item = self._item(replace(accepted, traceparent=trace))
            items.setdefault(str(item[Attribute.TASK_ID]), item)
        items.pop(task.task_id, None)
        return list(items.values())

    def _write_with(self, items: Sequence[Item], task_id: str, change: Change) -> None:
        """Apply the change, and with it put the items. ConditionFailed, of the change."""
        again = self._again(task_id)
        while True:
            over = transitions.gone(self.now())
            try:
                self.table.update_and_put(task_id, change, items, over=over)
            except TransactionRefused as refused:
                if refused.update_refused:
                    raise ConditionFailed(refused.current) from refused
                # Follow-ups with ids that are in use have been put before: put is idempotent.
                items = [i for i in items if i[Attribute.TASK_ID] not in refused.taken_ids]
                again.after_refusal()
            else:
                return

    @staticmethod
    def _recognise(
        task: Task, item: Item | None, becomes: Status, refused: Exception, change: Change
    ) -> None:
        if item is not None and _is_news(task, change, item):
            raise Cancelled(task.task_id) from refused
        # A short delay may be over by now, and the task be promoted: that keeps the claim's id.
        delayed = (Status.DELAYED, Status.PENDING)
        statuses = delayed if becomes is Status.DELAYED else (becomes,)
        claim_id = transitions.claim_of(task)
        if item is not None and any(_settled_as(item, status, claim_id) for status in statuses):
            return
        from lifoq.items import replacing  # noqa: PLC0415 - a cold start less to import

        if item is None or not replacing.is_with_parked(item, task):
            raise LeaseLost(task.task_id) from refused


def _unexpired(now: int) -> Condition:
    return GreaterThan(Attribute.EXPIRES_AT, now)


def _reaching(last: int, start: Cursor | None, sort_key: Attribute) -> int:
    """The end of a span from ``start`` on. Where the clock was set back, it lies before the cursor,
    which DynamoDB refuses."""
    return last if start is None else max(last, math.ceil(start[sort_key]))


def _task_or_damage(item: Item) -> Task | DamagedTask:
    try:
        return Task.from_item(item)
    except DamagedTask as damage:
        return damage


def _whole(value: object) -> bool:
    return type(value) is int  # a bool is an instance of it, too


@contextmanager
def _fits(task_id: str, action: str) -> Iterator[None]:
    """A write that makes an item at DynamoDB's limit a few bytes larger."""
    try:
        yield
    except ItemTooLarge as error:
        raise DamagedTask(task_id, f"it is too large to be {action} ({error})") from error


def _changed(task: Task, change: Change) -> Item:
    """What the index shows of a task after a change."""
    before = {
        Attribute.TASK_ID: task.task_id,
        Attribute.TASK_TYPE: task.task_type,
        Attribute.EXPIRES_AT: task.expires_at,
        **({} if task.key is None else {Attribute.TASK_KEY: task.key}),
        **({Attribute.HEAD_START: task.head_start} if task.head_start else {}),
    }
    left = {name: value for name, value in before.items() if name not in change.remove}
    return {str(name): value for name, value in {**left, **change.set}.items()}


def _settled_as(item: Item, status: Status, claim_id: str) -> bool:
    """Whether the item shows that our own write, whose answer was lost, was applied after all."""
    return item.get(Attribute.TASK_STATUS) == status and item.get(Attribute.CLAIM_ID) == claim_id


def _is_news(task: Task, change: Change, item: Item) -> bool:
    """Whether a change was refused under a valid claim because the task has been cancelled."""
    unaware = transitions.NOT_CANCELLED in change.when and Attribute.CANCEL_ASKED in item
    return unaware and _settled_as(item, Status.TAKEN, transitions.claim_of(task))


def _candidate(row: Item) -> Candidate:
    expires_at, task_type = row.get(Attribute.EXPIRES_AT), row.get(Attribute.TASK_TYPE)
    key, leases_lost = row.get(Attribute.TASK_KEY), row.get(Attribute.LEASES_LOST, 0)
    created, head_start = row.get(Attribute.TASK_CREATED), row.get(Attribute.HEAD_START, 0)
    damage = None
    if not _whole(created):
        damage = "taskCreated is not a whole number"
    elif not _whole(expires_at):
        damage = "expiresAt is missing or not a whole number"
    elif not isinstance(task_type, str):
        damage = "taskType is missing or not a string"
    elif Attribute.TASK_KEY in row and not isinstance(key, str):
        damage = "taskKey is not a string"
    elif not _whole(leases_lost):
        damage = "leasesLost is not a whole number"
    elif not _whole(head_start):
        damage = "headStart is not a whole number"
    return Candidate(
        task_id=str(row[Attribute.TASK_ID]),
        task_type=task_type if isinstance(task_type, str) else "",
        created=int(created) if is_number(created) else 0,
        expires_at=expires_at if isinstance(expires_at, int) else 0,
        key=key if isinstance(key, str) else None,
        head_start=head_start if damage is None else 0,
        suspect=damage is None and leases_lost > 0,
        damage=damage,
    )
