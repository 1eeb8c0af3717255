"""The base of all operations on a queue: its table, its clock, and how long its tasks live."""

import math
from collections.abc import Callable
from dataclasses import replace

from lifoq.basics.host import SYSTEM, Host
from lifoq.errors import QueueMisconfigured
from lifoq.items.change import Change, Condition, ConditionFailed, GreaterThan
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.packed import PARTS, Large
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.items.task import Task
from lifoq.store.large_values import LargeValues
from lifoq.store.repeat_refused_write import WriteRetries
from lifoq.store.table_protocol import Cursor, Span, Table

Write = Callable[[str, Change], None]
"""Applies a change to the item of an id."""


class StoreBase:
    """One queue's table, for the operations on it. Each group of operations inherits from this
    base: ``Puts`` (producers), ``AttemptWrites`` (workers), ``SweepWrites`` (the sweep),
    ``OperatorWrites`` (clients and operators), ``Reads`` (whoever looks). ``Store`` is all of them
    together.

    An operation is one read or one conditional write (see ``lifoq.items.transitions``). When the
    answer to a write is lost and the caller repeats it, the item itself tells whether the first one
    was applied: the repeat recognises its own ``claimId``, or its own id, and succeeds.
    """

    def __init__(
        self,
        table: Table,
        *,
        lifetimes: Lifetimes | None = None,
        host: Host = SYSTEM,
        large: LargeValues | None = None,
    ) -> None:
        """``large``: the queue's bucket for large values; None where it has none."""
        self.table = table
        self.large = large
        self.lifetimes = lifetimes or Lifetimes()
        self._host = host

    def now(self) -> int:
        """Return the time in epoch microseconds, by the database's clock where this machine's
        clock is off."""
        return self._host.now() - self.table.clock_ahead()

    def whole(self, task: Task, *parts: str) -> Task:
        """Return the task with those values that lie in the queue's bucket. ``parts`` names the
        values to fetch, such as ``"result"``; without any, all are fetched.

        Raises DamagedTask where an object is gone or is not the one that was written, and
        QueueMisconfigured where this client does not know the bucket.
        """
        asked = [part for part in parts or PARTS if isinstance(getattr(task, part), Large)]
        if not asked:
            return task
        if self.large is None:
            raise QueueMisconfigured(
                f"the {asked[0]} of task {task.task_id!r} lies in the queue's bucket for large "
                "payloads, which this client does not know: switch large_payloads on again if they "
                "are off, and connect by the queue's name, or give bucket"
            )
        found = {p: self.large.value(task.task_id, p, getattr(task, p)) for p in asked}
        return replace(task, **found)

    # Shared by the groups of operations

    def _write_retries(self, task_id: str) -> WriteRetries:
        return WriteRetries(self._host, f"task {task_id!r}")

    def _applied(self, task_id: str, change: Change) -> bool:
        """Apply a change; return False where its condition did not hold, so nothing was written."""
        try:
            self.table.update(task_id, change)
        except ConditionFailed:
            return False
        return True

    def _apart(self, change: Change, name: Attribute) -> Change:
        """Move the value that the change sets for ``name`` into the queue's bucket, if it is large,
        and return the change that names the object instead."""
        if self.large is None:
            return change
        return replace(
            change, set=self.large.moved(change.set, name, prefix=self.lifetimes.object_prefix)
        )

    def _alive(
        self, now: int, *, start: Cursor | None = None, where: tuple[Condition, ...] = ()
    ) -> Span:
        """The span of PENDING tasks that can still be alive: it ends at the oldest possible one, so
        expired tasks cost nothing, however many there are."""
        first = self.lifetimes.oldest_alive(now)
        if start is not None:
            # The bound moves up during a walk, and DynamoDB refuses a cursor from below it.
            first = min(first, math.floor(start[Attribute.TASK_CREATED]))
        return Span(index=STATUS_CREATED_INDEX, status=Status.PENDING, first=first, where=where)


def unexpired(now: int) -> Condition:
    """The condition that a task's deadline lies after ``now`` (epoch microseconds)."""
    return GreaterThan(Attribute.EXPIRES_AT, now)


def reaching(last: int, start: Cursor | None, sort_key: Attribute) -> int:
    """The end of a span that is read on from ``start``. If the clock was set back, ``last`` may lie
    before the cursor, which DynamoDB refuses: then the span ends at the cursor."""
    return last if start is None else max(last, math.ceil(start[sort_key]))
