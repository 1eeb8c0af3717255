"""The sweep: once a minute it brings back tasks that no run will.

It ends claims whose lease is over, promotes due tasks, sheds tasks at the deadline where somebody
waits to be told, dead-letters damaged items, measures the queue, and tells if a processor is
needed. So a task never waits longer than one sweep interval for a processor, whatever kick was
lost.
"""

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from lifoq.basics.clock import CLOCK_TOLERANCE
from lifoq.basics.host import MICROSECONDS, SYSTEM, Host, microseconds
from lifoq.errors import DamagedTask, QueueMisconfigured, StoreUnavailable
from lifoq.health import sweep_note as notes
from lifoq.health.statistics import CAP, QueueStats, measure
from lifoq.health.sweep_note import Note
from lifoq.items.change import Item
from lifoq.items.lifetimes import LONGEST_LEASE
from lifoq.items.schema import Attribute, Status
from lifoq.items.task import Task
from lifoq.store.store import Store
from lifoq.store.table_protocol import Cursor
from lifoq.worker.handlers.attempts_and_timeout_of_task import attempts_of
from lifoq.worker.handlers.registry import Registry
from lifoq.worker.known_types import ALL_TYPES, Types
from lifoq.worker.sweep.stalled_queue import StallWatch

log = logging.getLogger("lifoq.sweep")

PAGE: Final = 100
"""Items of one query."""
REACH_PAGES: Final = 5
"""Pages that one sweep reads of tasks that are out of the workers' reach."""
OUT_OF_REACH: Final = (
    "taskCreated lies further back than the queue's deadline reaches, though the task has not "
    "expired; was it put with a longer deadline than the queue's?"
)


@dataclass(kw_only=True)
class SweepReport:
    """Counts of what a sweep did.

    Examples:
        >>> report = Sweeper(queue.store, REGISTRY, max_attempts=5).run()
        >>> report.promoted, report.shed, report.finished
        (0, 0, True)
    """

    leases_expired: int = 0
    """Tasks whose lease was over."""
    failed: int = 0
    """Tasks whose lease was over, and which had no attempt left."""
    cancelled: int = 0
    """Tasks whose lease was over, and which somebody had cancelled."""
    promoted: int = 0
    """DELAYED tasks whose time had come."""
    dead_lettered: int = 0
    """Damaged items that were put into FAILURE."""
    shed: int = 0
    """Tasks that were shed, and whose end somebody waits to be told."""
    finished: bool = True
    """False if the time was up first. The next sweep goes on there."""
    stats: QueueStats = field(init=False)
    """The numbers of the queue after the sweep has done its work. It is set last."""
    runnable: bool = True
    """True if a task waits of a type that the processor runs, as far as was measured."""
    unknown: Counter[str] = field(default_factory=Counter)
    """The number of waiting tasks for each type that no worker is known to have."""

    @property
    def needs_processor(self) -> bool:
        """True if a processor has to be started."""
        # The index, which is measured, may not yet show what this sweep has made claimable itself.
        revived = self.promoted + self.leases_expired - self.failed - self.cancelled
        return revived > 0 or self.runnable


class Sweeper:
    """Brings back tasks that no run will: ends leases that are over, lets due tasks in, sheds at
    the deadline, and measures the queue. It keeps its place between sweeps, so that the next goes
    on where one was out of time.

    Examples:
        >>> from lifoq import REGISTRY, Sweeper
        >>> Sweeper(queue.store, REGISTRY, max_attempts=5).run().needs_processor
        False
    """

    def __init__(
        self,
        store: Store,
        registry: Registry,
        *,
        max_attempts: int,
        types: Types = ALL_TYPES,
        stall: StallWatch | None = None,
        time_budget: float = 45.0,
        host: Host = SYSTEM,
    ) -> None:
        """Make a sweep of one queue.

        Args:
            store: The operations on the queue's table: ``queue.store``.
            registry: The task types, for their own numbers of attempts.
            max_attempts: The claims until FAILURE, of task types that do not say.
            types: The task types that the processor handles.
            stall: The watch that tells if the queue stands still; None for none.
            time_budget: The seconds that one sweep may take.
            host: The clock.
        """
        self._stall = stall
        self._types = types
        self._store = store
        self._registry = registry
        self._max_attempts = max_attempts
        self._time_budget = time_budget
        self._host = host
        self._taken_at: Cursor | None = None
        self._out_of_reach_at: Cursor | None = None
        self._shed: tuple[tuple[int, int], ...] = ()
        """Sheddings that no note tells of yet: when, and how many tasks."""

    def run(self) -> SweepReport:
        """Sweep once. However it ends, the number of tasks that were shed is noted, by the next
        sweep if need be.

        Raises:
            StoreUnavailable: The database did not answer; the next sweep goes on.
            QueueMisconfigured: The table cannot be worked on.

        Examples:
            >>> Sweeper(queue.store, REGISTRY, max_attempts=5).run().finished
            True
        """
        report = SweepReport()
        until = self._host.monotonic() + microseconds(self._time_budget)
        steps: tuple[Callable[[SweepReport, int], None], ...] = (
            self._end_expired_leases,
            self._promote_due,
            self._shed_at_deadline,
            self._find_out_of_reach,
        )
        try:
            for step in steps:
                step(report, until)
            report.stats = self._measured(report, until)
        except BaseException:
            self._note_shed()
            raise
        return report

    def _measured(self, report: SweepReport, until: int) -> QueueStats:
        """Measure the queue, count waiting tasks that the processor passes over, and note both."""
        now, before = self._store.now(), notes.read(self._store)
        shed = self._shed_lately(before, now)
        stats = measure(self._store, now=now, note=replace(before, shed=shed))
        some = stats.live.value or stats.pending.value > stats.expired_present.value
        others = self._passed_over(report, until) if some and not self._types.are_all else Counter()
        report.runnable = stats.live.value > 0 and (
            stats.live.capped or not others or self._some_are_own()
        )
        report.unknown = Counter({n: others[n] for n in others if not self._types.knows(n)})
        note = Note(
            unknown_types=tuple(sorted(report.unknown)[: notes.MOST_NAMED]),
            unknown_waiting=report.unknown.total(),
            stalled=self._stall is not None and self._stall.stalled(),
            shed=shed,
            known_types=self._known_types(),
        )
        self._note(note, before)
        return replace(
            stats,
            unknown_types=note.unknown_types,
            unknown_waiting=note.unknown_waiting,
            stalled=note.stalled,
        )

    def _known_types(self) -> tuple[str, ...]:
        """Return the types that a person is told who puts a task of an unknown one; empty if too
        many."""
        known = (
            frozenset() if self._types.only is None else self._types.only | self._types.elsewhere
        )
        return tuple(sorted(known)) if len(known) <= notes.MOST_KNOWN else ()

    def _note_shed(self) -> None:
        """Note what was shed, although the sweep fails. If this fails too, the next sweep does
        it."""
        if not self._shed:
            return
        with suppress(StoreUnavailable, QueueMisconfigured):
            before = notes.read(self._store)
            shed = self._shed_lately(before, self._store.now())
            self._note(replace(before, shed=shed), before)

    def _shed_lately(self, before: Note, now: int) -> tuple[tuple[int, int], ...]:
        """Return the recent sheddings, noted before or not. Each is in it once, also if a note was
        written and its answer was lost."""
        told = Note(shed=tuple(sorted({*before.shed, *self._shed})))
        return told.shed_since(notes.lately(now))

    def _note(self, note: Note, before: Note) -> None:
        if note != before:
            notes.write(self._store, note)
        self._shed = ()

    def _end_expired_leases(self, report: SweepReport, until: int) -> None:
        """End expired leases from where the last sweep stopped to the end of the index; then from
        its beginning."""
        if self._taken_at is not None:
            self._end_expired_leases_from_here(report, until)
        if not self._out_of_time(report, until):
            self._end_expired_leases_from_here(report, until)

    def _end_expired_leases_from_here(self, report: SweepReport, until: int) -> None:
        while True:
            start, self._taken_at = self._taken_at, None
            try:
                items, self._taken_at = self._store.taken(limit=PAGE, start=start)
            except StoreUnavailable:
                self._taken_at = start
                raise
            for item in items:
                self._end_if_expired(str(item[Attribute.TASK_ID]), item, report)
            if self._taken_at is None:
                return
            if self._out_of_time(report, until):
                return

    def _end_if_expired(self, task_id: str, item: Item, report: SweepReport) -> None:
        try:
            task = Task.from_item(item)
        except DamagedTask as damage:
            self._dead_letter(task_id, Status.TAKEN, damage.reason, report)
            return
        if task.lease_expires is None or task.claim_id is None:
            reason = "it is TAKEN without leaseExpires or claimId"
            self._dead_letter(task_id, Status.TAKEN, reason, report)
            return
        now = self._store.now()
        if task.lease_expires > now + microseconds(LONGEST_LEASE + CLOCK_TOLERANCE):
            ahead = (task.lease_expires - now) / MICROSECONDS
            reason = f"leaseExpires lies {ahead:.0f} s ahead, further than any worker's lease"
            self._dead_letter(task_id, Status.TAKEN, reason, report)
            return
        if task.lease_expires >= now:
            return
        kind = self._registry.get(task.task_type)
        max_attempts = attempts_of(task, kind, by_default=self._max_attempts)
        try:
            became = self._store.reclaim(task, max_attempts=max_attempts)
        except DamagedTask as damage:
            self._dead_letter(task_id, Status.TAKEN, damage.reason, report)
            return
        if became is not None:
            report.leases_expired += 1
            report.failed += became is Status.FAILURE
            report.cancelled += became is Status.CANCELLED
            log.warning("task %s lost its worker and is %s", task_id, became)

    def _promote_due(self, report: SweepReport, until: int) -> None:
        """Promote all tasks that were due when the sweep read the index. The longest overdue come
        first, so the next sweep needs no place to go on from."""
        start: Cursor | None = None
        while not self._out_of_time(report, until):
            due, start = self._store.due(limit=PAGE, start=start)
            for task_id in due:
                self._promote(task_id, report)
            if start is None:
                return

    def _promote(self, task_id: str, report: SweepReport) -> None:
        try:
            report.promoted += self._store.promote(task_id) is not None
        except DamagedTask as damage:
            self._dead_letter(task_id, Status.DELAYED, damage.reason, report)

    def _shed_at_deadline(self, report: SweepReport, until: int) -> None:
        """Shed tasks past their deadline where somebody waits to be told: DynamoDB's TTL may take
        days. The longest overdue come first, so the next sweep needs no place to go on from."""
        try:
            self._shed_overdue(report, until)
        finally:
            if report.shed:
                self._shed = (*self._shed, (self._store.now(), report.shed))

    def _shed_overdue(self, report: SweepReport, until: int) -> None:
        start: Cursor | None = None
        while self._store.lifetimes.sweep_sheds and not self._out_of_time(report, until):
            overdue, start = self._store.past_deadline(limit=PAGE, start=start)
            for task_id in overdue:
                report.shed += self._store.shed(task_id)
            if start is None:
                return

    def _find_out_of_reach(self, report: SweepReport, until: int) -> None:
        """Dead-letter tasks that no worker can reach. A sweep reads a few pages only: behind them
        there can be a mountain of expired tasks."""
        for _ in range(REACH_PAGES):
            if self._out_of_time(report, until):
                return
            start, self._out_of_reach_at = self._out_of_reach_at, None
            ids, self._out_of_reach_at = self._store.out_of_reach(limit=10 * PAGE, start=start)
            for task_id in ids:
                self._dead_letter(task_id, Status.PENDING, OUT_OF_REACH, report)
            if self._out_of_reach_at is None:
                return

    def _some_are_own(self) -> bool:
        """Return True if a task waits that the processor handles. Counts cannot tell: tasks come in
        between one count and the next."""
        return self._store.waits_since(newest=True, where=self._types.where) is not None

    def _passed_over(self, report: SweepReport, until: int) -> Counter[str]:
        """Count waiting tasks that the processor passes over, by type. Dead-letter those whose type
        is damaged: nobody else comes across them. Those for which there is no time are left to the
        next sweep."""
        found: Counter[str] = Counter()
        for row in self._store.waiting(where=self._types.where_not, cap=CAP):
            if row.damage is not None:
                if self._host.monotonic() < until:
                    self._dead_letter(row.task_id, Status.PENDING, row.damage, report)
            elif not self._types.has(row.task_type):
                found[row.task_type] += 1
        return found

    def _dead_letter(self, task_id: str, seen: Status, reason: str, report: SweepReport) -> None:
        dead_lettered = self._store.dead_letter(task_id, seen=seen, reason=reason)
        report.dead_lettered += dead_lettered
        if dead_lettered:
            log.error("task %s is damaged and went to FAILURE: %s", task_id, reason)

    def _out_of_time(self, report: SweepReport, until: int) -> bool:
        if self._host.monotonic() >= until:
            report.finished = False
        return not report.finished
