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
from typing import Any

from lifoq.basics import jsontext
from lifoq.basics.clock import TOLERANCE
from lifoq.basics.host import SYSTEM, Host, microseconds
from lifoq.errors import (
    DamagedTask,
    InvalidInput,
    ItemTooLarge,
    LeaseLost,
    NotClaimed,
    QueueMisconfigured,
    StoreUnavailable,
    TaskNotFound,
    WrongStatus,
)
from lifoq.items import transitions
from lifoq.items.change import (
    AtMost,
    Change,
    Condition,
    ConditionFailed,
    Equals,
    GreaterThan,
    Item,
    Not,
    StatusIs,
    TransactionRefused,
    UnfitAttribute,
)
from lifoq.items.schema import (
    DUE_INDEX,
    MAX_PAYLOAD_AND_CHECKPOINT_BYTES,
    MAX_TYPE_BYTES,
    STATUS_CREATED_INDEX,
    Attribute,
    Status,
)
from lifoq.items.task import Accepted, NewTask, Task, TaskError, accept
from lifoq.items.transitions import Lifetimes
from lifoq.tables.table import (
    LARGEST_PAGE,
    MAX_BATCH,
    MAX_TRANSACTION,
    Count,
    Cursor,
    Page,
    Span,
    Table,
)

log = logging.getLogger("lifoq.store")

BROWSE_PAGE = 100
"""Rows read at a time by whoever looks through a status."""
MAX_FOLLOW_UPS = MAX_TRANSACTION - 1
"""Follow-up tasks that one success can put, since all go into one transaction."""


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
    suspect: bool = False
    """Whether the lease of its latest claim was lost: perhaps it kills the process it runs in."""
    damage: str | None = None


@dataclass(frozen=True, kw_only=True)
class Candidates:
    rows: tuple[Candidate, ...]
    next: Cursor | None


@dataclass(frozen=True, kw_only=True)
class PutOutcome:
    """What became of one of several new tasks: the task (``created`` tells a new one from one that
    was there before), or the reason why it may not have been stored."""

    task: Task | None
    created: bool = False
    error: Exception | None = None
    """StoreUnavailable: nobody knows whether it was stored. DamagedTask: its id is in use by an
    item that is no task. Anything else ended the call: neither this task nor those behind it were
    confirmed."""


@dataclass(frozen=True, kw_only=True)
class _Step:
    """New items that are written at a time, each with its place among the tasks to be put."""

    items: Sequence[tuple[int, Item]]
    idempotent: bool


class Store:
    def __init__(
        self, table: Table, *, lifetimes: Lifetimes | None = None, host: Host = SYSTEM
    ) -> None:
        self.table = table
        self.lifetimes = lifetimes or Lifetimes()
        self._host = host

    def now(self) -> int:
        """Epoch microseconds, by the database's clock where this machine's is off."""
        return self._host.now() - self.table.clock_ahead()

    # Producers

    def put(self, new: NewTask) -> Task:
        """Put one task; a second put of a caller's id returns the first task, until that is shed or
        its retention is over.

        Raises InvalidInput, and StoreUnavailable: then nobody knows whether it was stored.
        """
        ahead = self.table.clock_ahead()
        task, created = self._put_one(self._item(self._accept(new)))
        return self._timed_anew(new, task) if created and self._clock_was_off(ahead) else task

    def new_item(self, new: NewTask) -> Item:
        """The item of a new task, for a write of the caller's own. InvalidInput."""
        return self._item(self._accept(new))

    def put_many(
        self,
        tasks: Sequence[NewTask],
        on_progress: Callable[[int], None] = lambda _: None,
        *,
        new_id: Callable[[], str] | None = None,
    ) -> list[PutOutcome]:
        """Put many tasks, outcome by outcome in their order; the last of them is the newest.

        All are checked before the first is written. ``on_progress`` hears how many are done.
        Raises only what it says before anything is written: InvalidInput, QueueMisconfigured. Later
        errors are outcomes, so that what was put is never unknown to the caller.

        ``new_id`` draws an id that nobody else has, for each task that brings none, in their order.
        """
        ahead = self.table.clock_ahead()
        accepted = [self.accept_nth("tasks", index, new) for index, new in enumerate(tasks)]
        outcomes: dict[int, PutOutcome] = {}
        for step in self._steps(accepted, new_id or self._host.new_id):
            try:
                self._put_step(step, outcomes)
            except Exception as error:
                if not outcomes and isinstance(error, QueueMisconfigured):
                    raise
                lost = PutOutcome(task=None, error=error)
                return [outcomes.get(index, lost) for index in range(len(accepted))]
            on_progress(len(outcomes))
        if self._clock_was_off(ahead):
            for index, put in sorted(outcomes.items()):
                if put.task is not None and put.created:
                    outcomes[index] = self._outcome_timed_anew(tasks[index], put, put.task)
        return [outcomes[index] for index in range(len(accepted))]

    def get(self, task_id: str) -> Task | None:
        item = self.table.get(task_id)
        return None if item is None else Task.from_item(item)

    def cancel(self, task_id: str) -> Task:
        """PENDING or DELAYED → CANCELLED; a cancelled task stays so. WrongStatus, TaskNotFound,
        DamagedTask."""
        while True:
            task = self._existing(task_id)
            if task.status is Status.CANCELLED:
                return task
            if not task.waiting:
                raise WrongStatus(task_id, task.status, "PENDING or DELAYED")
            change = transitions.cancel(seen=task.status, now=self.now(), lifetimes=self.lifetimes)
            try:
                with _fits(task_id, "cancelled"):
                    return Task.from_item(self.table.update_and_get(task_id, change))
            except ConditionFailed:
                continue  # it moved in between: look again, which ends, as statuses do

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
        return task

    def run_now(self, task_id: str) -> Task:
        """DELAYED → PENDING, whenever it would be due. WrongStatus, TaskNotFound, DamagedTask."""
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
                continue  # it moved in between: look again

    def redrive(self, task_id: str) -> Task:
        """FAILURE → PENDING, as the newest task. WrongStatus, TaskNotFound, DamagedTask."""
        task = self._existing(task_id)
        if task.status is not Status.FAILURE:
            raise WrongStatus(task_id, task.status, "FAILURE")
        stamp = self._host.stamp(self.now())
        change = transitions.redrive(stamp=stamp, lifetimes=self.lifetimes)
        try:
            with _fits(task_id, "redriven"):
                return Task.from_item(self.table.update_and_get(task_id, change))
        except ConditionFailed as refused:
            now = Task.from_item(refused.item) if refused.item else None
            if now is None:
                raise TaskNotFound(task_id) from refused
            if now.task_created == stamp:  # our own, whose answer was lost
                return now
            raise WrongStatus(task_id, now.status, "FAILURE") from refused

    # Workers

    def candidates(
        self, *, limit: int, start: Cursor | None = None, newest_first: bool = True
    ) -> Candidates:
        """A page of PENDING tasks from either end. It leaves out those that are too old to be
        alive, so that a mountain of expired ones costs nothing; and where it goes on from
        ``start``, all that have expired, which are read, but not sent."""
        now = self.now()
        expired = AtMost(Attribute.EXPIRES_AT, now)
        where = () if start is None else (Not(expired),)  # what is damaged is to be seen
        span = self._alive(now, start=start, where=where)
        page = self.table.query(span, newest_first=newest_first, limit=limit, start=start)
        return Candidates(rows=tuple(_candidate(row) for row in page.rows), next=page.next)

    def claim(self, task_id: str, *, claim_id: str, lease: float) -> Task:
        """PENDING → TAKEN for ``lease`` seconds.

        Raises NotClaimed where somebody was faster or the task has expired, DamagedTask.
        """
        change = transitions.claim(now=self.now(), claim_id=claim_id, lease=microseconds(lease))
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

    def extend(self, task: Task, *, lease: float) -> None:
        """Heartbeat: the claim holds for another ``lease`` seconds from now, or as long as a later
        heartbeat said. LeaseLost."""
        self._under_claim(
            task,
            transitions.extend(task=task, lease_expires=self.now() + microseconds(lease)),
            Status.TAKEN,
        )

    def checkpoint(self, task: Task, value: Any, *, lease: float) -> None:
        """Keep ``value`` (JSON) for the next attempt, and extend. LeaseLost, InvalidInput."""
        text = jsontext.encode(value, "checkpoint")
        room = MAX_PAYLOAD_AND_CHECKPOINT_BYTES - task.payload_bytes
        if room < jsontext.size(text):
            raise InvalidInput(
                "checkpoint",
                text,
                f"is {jsontext.size(text):,} bytes of JSON, beside this payload there is room for "
                f"{room:,}; put it in S3 and keep its key",
            )
        now = self.now()
        change = transitions.checkpoint(task=task, now=now, value=text)
        if not self._applied(
            task.task_id, transitions.and_extend(change, now + microseconds(lease))
        ):
            self._under_claim(task, change, Status.TAKEN)

    def succeed(self, task: Task, result: str, follow_ups: Sequence[NewTask] = ()) -> None:
        """TAKEN → SUCCESS with the result (JSON text), and with it, all or nothing, the follow-up
        tasks. LeaseLost; InvalidInput for a follow-up, before anything is written."""
        change = transitions.succeed(
            task=task, now=self.now(), result=result, lifetimes=self.lifetimes
        )
        items = self._follow_up_items(task, follow_ups)
        if items:
            self._succeed_with(task, change, items)
        else:
            self._under_claim(task, change, Status.SUCCESS)

    def fail(self, task: Task, error: TaskError) -> None:
        """TAKEN → FAILURE. LeaseLost."""
        change = transitions.fail(task=task, now=self.now(), error=error, lifetimes=self.lifetimes)
        self._under_claim(task, change, Status.FAILURE)

    def retry(
        self, task: Task, error: TaskError, *, delay: float, counts: bool = True
    ) -> Candidate | None:
        """TAKEN → DELAYED for ``delay`` seconds, or straight → PENDING where it is 0: then the row
        as it now stands in the index. The attempt is taken back where it does not count.
        LeaseLost."""
        now = self.now()
        if delay > 0:
            becomes = Status.DELAYED
            due_at = now + microseconds(delay)
            change = transitions.delay(task=task, now=now, due_at=due_at, error=error)
        else:
            becomes = Status.PENDING
            change = transitions.give_back(
                task=task, now=now, error=error, lifetimes=self.lifetimes
            )
        if not counts:
            change = transitions.uncounted(change, task, now=now, error=error)
        self._under_claim(task, change, becomes)
        if becomes is Status.DELAYED:
            return None
        return Candidate(
            task_id=task.task_id,
            task_type=task.task_type,
            created=self.lifetimes.position(task),
            expires_at=task.expires_at,
            key=task.key,
        )

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
        """End a claim whose lease is over: → PENDING, or → FAILURE after the last attempt. Returns
        the new status; None where the worker was alive after all. DamagedTask."""
        now = self.now()
        error = TaskError(
            type="LeaseExpired",
            message=f"the worker of attempt {task.attempts} was lost: its lease ran out",
        )
        last = task.attempts >= max_attempts
        build = transitions.bury if last else transitions.reclaim
        change = build(task=task, now=now, error=error, lifetimes=self.lifetimes)
        with _fits(task.task_id, "brought back"):
            if not self._applied(task.task_id, change):
                return None
        return Status.FAILURE if last else Status.PENDING

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
        """Of ``limit`` index rows of a status, from ``start`` on and newest first, those for which
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

    def end_of_line(self, *, newest: bool) -> int | None:
        """``taskCreated`` of the newest or oldest live PENDING task; None where none waits."""
        now = self.now()
        span = self._alive(now, where=(_unexpired(now),))
        start: Cursor | None = None
        while True:
            page = self.table.query(span, newest_first=newest, limit=100, start=start)
            if page.rows:
                return int(page.rows[0][Attribute.TASK_CREATED])
            if page.next is None:
                return None
            start = page.next

    def count(self, status: Status, *, cap: int) -> Count:
        """How many tasks have this status; SUCCESS and CANCELLED are in no index, so 0."""
        index = DUE_INDEX if status is Status.DELAYED else STATUS_CREATED_INDEX
        return self.table.count(Span(index=index, status=status), cap=cap)

    def count_live(self, *, cap: int) -> Count:
        """How many PENDING tasks can still be claimed."""
        now = self.now()
        return self.table.count(self._alive(now, where=(_unexpired(now),)), cap=cap)

    # Inside

    def _accept(self, new: NewTask) -> Accepted:
        return accept(
            new,
            now=self.now(),
            longest_deadline=microseconds(self.lifetimes.deadline),
            task_tokens=self.lifetimes.task_tokens,
        )

    def accept_nth(self, name: str, index: int, new: NewTask) -> Accepted:
        """Check one of several tasks, without writing it; InvalidInput says which it is."""
        try:
            return self._accept(new)
        except InvalidInput as error:
            place = f"{name}[{index}]" + ("" if error.field == "task" else f".{error.field}")
            raise InvalidInput(place, error.value, error.problem) from None

    def _item(self, task: Accepted) -> Item:
        return transitions.new_item(
            task,
            task_id=task.task_id or self._host.new_id(),
            stamp=self._host.stamp(self.now()),
            lifetimes=self.lifetimes,
        )

    def _put_one(self, item: Item) -> tuple[Task, bool]:
        """The task, and whether it is new."""
        try:
            self.table.put(item, over=transitions.gone(self.now()))
        except ConditionFailed as refused:
            if refused.item is None:  # put by another, and deleted before we could see it
                return self._put_one(item)
            first = Task.from_item(refused.item)
            stamp = item[Attribute.TASK_UPDATED]  # ours, where only the answer was lost
            return first, stamp in (first.enqueued_at, first.task_updated)
        return Task.from_item(item), True

    def _clock_was_off(self, ahead: int) -> bool:
        """Whether answers have told since it was thought to be ``ahead`` that it is not so."""
        return abs(self.table.clock_ahead() - ahead) > microseconds(TOLERANCE)

    def _timed_anew(self, new: NewTask, put: Task) -> Task:
        """A process learns how far its clock is off from the answer to its first call. Where that
        was a put, the task's times are set right, unless it has moved on meanwhile."""
        try:
            item = self._item(self._accept(replace(new, task_id=put.task_id)))
        except InvalidInput as error:
            log.warning("task %s was put by a clock that was off: %s", put.task_id, error)
            return put
        same = Equals(Attribute.TASK_UPDATED, put.task_updated)
        try:
            self.table.replace(item, when=(StatusIs(put.status), same))
        except ConditionFailed as refused:
            return put if refused.item is None else Task.from_item(refused.item)
        return Task.from_item(item)

    def _outcome_timed_anew(self, new: NewTask, outcome: PutOutcome, put: Task) -> PutOutcome:
        try:
            return replace(outcome, task=self._timed_anew(new, put))
        except StoreUnavailable as error:
            log.warning("task %s was put by a clock that was off: %s", put.task_id, error)
            return outcome

    def _put_safely(self, item: Item) -> PutOutcome:
        try:
            task, created = self._put_one(item)
        except (StoreUnavailable, DamagedTask) as error:
            return PutOutcome(task=None, error=error)
        return PutOutcome(task=task, created=created)

    def _steps(self, accepted: Sequence[Accepted], new_id: Callable[[], str]) -> Iterator[_Step]:
        """What is written at a time, in the order of the tasks: those without ids in batches; one
        with an id alone, since it needs a condition, which a batch cannot carry."""
        batch: list[tuple[int, Item]] = []
        for index, task in enumerate(accepted):
            if task.task_id is not None:
                yield _Step(items=[(index, self._item(task))], idempotent=True)
                continue
            batch.append((index, self._item(replace(task, task_id=new_id()))))
            if len(batch) == MAX_BATCH:
                yield _Step(items=batch, idempotent=False)
                batch = []
        if batch:
            yield _Step(items=batch, idempotent=False)

    def _put_step(self, step: _Step, outcomes: dict[int, PutOutcome]) -> None:
        """Write a step, and note each outcome as soon as it is known. Whatever a batch leaves open
        is put again one by one, with the condition that keeps a task that was stored after all, and
        perhaps already runs, from being overwritten."""
        if step.idempotent:
            outcomes.update((index, self._put_safely(item)) for index, item in step.items)
            return
        try:
            left = self.table.put_batch([item for _, item in step.items])
        except StoreUnavailable:
            left = [item for _, item in step.items]
        open_ids = {item[Attribute.TASK_ID] for item in left}
        open_items = []
        for index, item in step.items:
            if item[Attribute.TASK_ID] in open_ids:
                open_items.append((index, item))
            else:
                outcomes[index] = PutOutcome(task=Task.from_item(item), created=True)
        for index, item in open_items:
            outcomes[index] = self._put_again(item)

    def _put_again(self, item: Item) -> PutOutcome:
        """Put an item of a batch. Its id is the queue's own, so whatever is stored under it by now,
        and may have moved on since, was put by us."""
        outcome = self._put_safely(item)
        return replace(outcome, created=outcome.task is not None)

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
            self._recognise(task, refused.item, becomes, refused)

    def _follow_up_items(self, task: Task, follow_ups: Sequence[NewTask]) -> list[Item]:
        """Put is idempotent: of several with one id the first counts, and ``task`` has its own.
        (A transaction that names an item twice would be refused.)"""
        items: dict[str, Item] = {}
        for index, new in enumerate(follow_ups):
            item = self._item(self.accept_nth("follow_ups", index, new))
            items.setdefault(str(item[Attribute.TASK_ID]), item)
        items.pop(task.task_id, None)
        return list(items.values())

    def _succeed_with(self, task: Task, change: Change, items: list[Item]) -> None:
        while True:
            try:
                self.table.update_and_put(
                    task.task_id, change, items, over=transitions.gone(self.now())
                )
            except TransactionRefused as refused:
                if refused.update_refused:
                    self._recognise(task, refused.current, Status.SUCCESS, refused)
                    return
                # Follow-ups with ids that are in use have been put before: put is idempotent.
                items = [i for i in items if i[Attribute.TASK_ID] not in refused.taken_ids]
            else:
                return

    @staticmethod
    def _recognise(task: Task, item: Item | None, becomes: Status, refused: Exception) -> None:
        # A short delay may be over by now, and the task be promoted: that keeps the claim's id.
        delayed = (Status.DELAYED, Status.PENDING)
        statuses = delayed if becomes is Status.DELAYED else (becomes,)
        if item is None or not any(
            _settled_as(item, s, transitions.claim_of(task)) for s in statuses
        ):
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
    return isinstance(value, int) and not isinstance(value, bool)


@contextmanager
def _fits(task_id: str, action: str) -> Iterator[None]:
    """A write that makes an item at DynamoDB's limit a few bytes larger."""
    try:
        yield
    except ItemTooLarge as error:
        raise DamagedTask(task_id, f"it is too large to be {action} ({error})") from error


def _settled_as(item: Item, status: Status, claim_id: str) -> bool:
    """Whether the item shows that our own write, whose answer was lost, was applied after all."""
    return item.get(Attribute.TASK_STATUS) == status and item.get(Attribute.CLAIM_ID) == claim_id


def _candidate(row: Item) -> Candidate:
    expires_at, task_type = row.get(Attribute.EXPIRES_AT), row.get(Attribute.TASK_TYPE)
    key, leases_lost = row.get(Attribute.TASK_KEY), row.get(Attribute.LEASES_LOST, 0)
    damage = None
    if not _whole(row[Attribute.TASK_CREATED]):
        damage = "taskCreated is not a whole number"
    elif not _whole(expires_at):
        damage = "expiresAt is missing or not a whole number"
    elif not isinstance(task_type, str):
        damage = "taskType is missing or not a string"
    elif key is not None and not isinstance(key, str):
        damage = "taskKey is not a string"
    elif not _whole(leases_lost):
        damage = "leasesLost is not a whole number"
    return Candidate(
        task_id=str(row[Attribute.TASK_ID]),
        task_type=task_type if isinstance(task_type, str) else "",
        created=int(row[Attribute.TASK_CREATED]),
        expires_at=expires_at if isinstance(expires_at, int) else 0,
        key=key if isinstance(key, str) else None,
        suspect=damage is None and leases_lost > 0,
        damage=damage,
    )
