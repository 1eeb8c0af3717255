"""Newest first: what a processor was shown, against what it then claimed.

A look goes through the LIFO index from its newest row on, page by page.
"""

from bisect import bisect
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from typing import Any

from lifoq.change import Change, Item
from lifoq.host import MICROSECONDS
from lifoq.memory import MemoryTable
from lifoq.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.table import Cursor, Page, Span
from tests.simulation.history import Violation
from tests.simulation.machine import Machine


@dataclass
class Look:
    faults: int
    """Of the machine, when it began."""
    rows: list[Item] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    """Rows that the index still shows, of tasks that the processor has in flight."""
    claimed: bool = False
    complete: bool = False
    """Whether its last page was the index's last."""

    def passed_over(self, clock: int, until: str | None = None) -> list[Item]:
        """Live rows, newer than the task ``until``, that were not tried."""
        found = []
        for row in self.rows:
            if row[Attribute.TASK_ID] == until:
                break
            live = row[Attribute.EXPIRES_AT] > clock // MICROSECONDS
            if live and row[Attribute.TASK_ID] not in self.tried | self.held:
                found.append(row)
        return found

    def last_tried(self) -> str | None:
        tried = [
            row[Attribute.TASK_ID] for row in self.rows if row[Attribute.TASK_ID] in self.tried
        ]
        return str(tried[-1]) if tried else None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One that was sent."""

    task_type: str
    sent: int
    """By the worker's clock; of one that was repeated, the last time."""
    faults: int
    """Of the machine, when it was sent first."""


class Looks:
    """Watches one processor."""

    def __init__(
        self, free_types: Collection[str], rates: Mapping[str, float], machine: Machine
    ) -> None:
        """``free_types``: those that may start whenever the processor has a slot.
        ``rates``: starts per second, of those types that are limited to less than one."""
        self._rates = rates
        self._starts: dict[str, list[Claim]] = {}
        """Of each such type, the claims that were granted, in the order in which they were sent."""
        self._free_types = free_types
        self._machine = machine
        self.last: Look | None = None
        self.recognisable: dict[str, str] = {}
        """Claims of which the worker was told, when it repeated one, that they are its own, and the
        types of their tasks."""
        self._trying: dict[str, Claim] = {}
        self._held: set[str] = set()
        """Tasks that were claimed, and whose outcome is not confirmed."""
        self.last_claim = 0
        """By the worker's clock, when it last got one."""

    def begin(self) -> None:
        """A run begins."""
        self.last = None
        self._held.clear()
        self._machine.runs += 1

    def shown(self, span: Span, start: Cursor | None, page: Page) -> None:
        if not _looks_for_tasks(span):
            return
        if start is None:
            self._assert_no_barrier()
            self._assert_order()
            self.last = Look(faults=self._machine.faults)
        assert self.last is not None
        if self.last.claimed:
            raise Violation("the look went on behind a page that gave a claim")
        self.last.rows.extend(page.rows)
        self.last.held.update(self._held)
        self.last.complete = page.next is None

    def _assert_no_barrier(self) -> None:
        """A look that claimed nothing, though it could, went through the whole queue."""
        look = self.last
        if look is None or look.claimed or look.faults != self._machine.faults:
            return
        left = look.passed_over(self._machine.now())
        free = [row for row in left if row[Attribute.TASK_TYPE] in self._free_types]
        if free:
            task_id = str(free[0][Attribute.TASK_ID])
            raise Violation("was passed over by a look that claimed nothing", task_id)
        if not look.complete:
            raise Violation("a look that claimed nothing stopped half-way")

    def _assert_order(self) -> None:
        """The claims of a look go out together: they are its newest tasks that could start."""
        look = self.last
        last = None if look is None else look.last_tried()
        if look is None or last is None:
            return
        for row in look.passed_over(self._machine.now(), until=last):
            if row[Attribute.TASK_TYPE] in self._free_types:
                passed_over = row[Attribute.TASK_ID]
                raise Violation(f"was claimed, but {passed_over} is newer, and could", last)

    def before_update(self, task_id: str, change: Change, clock: int) -> None:
        if change.set.get(Attribute.TASK_STATUS) != Status.TAKEN:
            return
        claim = str(change.set[Attribute.CLAIM_ID])
        if claim in self._trying:  # it repeats one whose answer was lost
            self._trying[claim] = replace(self._trying[claim], sent=clock)
            return
        look = self.last
        if look is None or all(row[Attribute.TASK_ID] != task_id for row in look.rows):
            raise Violation("was claimed, but no page showed it", task_id)
        look.tried.add(task_id)
        self._trying[claim] = Claim(
            task_type=str(_type(look, task_id)), sent=clock, faults=self._machine.faults
        )

    def refused_update(self, task_id: str, change: Change, item: Item | None) -> None:
        """A write was refused, and the worker was shown the item."""
        claim, there = change.set.get(Attribute.CLAIM_ID), item or {}
        own = claim is not None and there.get(Attribute.CLAIM_ID) == claim
        if own and there[Attribute.TASK_STATUS] == Status.TAKEN:
            self.recognisable[str(claim)] = self._trying[str(claim)].task_type
            self._held.add(task_id)
        elif claim is None and Attribute.TASK_STATUS in change.set:
            self._held.discard(task_id)

    def after_update(self, task_id: str, change: Change, clock: int) -> None:
        status = change.set.get(Attribute.TASK_STATUS)
        if status == Status.TAKEN and self.last is not None:
            self._held.add(task_id)
            self.last.claimed = True
            self.last_claim = clock
            self._assert_rate(self._trying[str(change.set[Attribute.CLAIM_ID])])
        elif status is not None:
            self._held.discard(task_id)

    def _assert_rate(self, claim: Claim) -> None:
        """Claims are answered in any order, so each is compared with those sent before and after
        it; but for a fault between, which may have lost the answer of one."""
        rate = self._rates.get(claim.task_type)
        if rate is None:
            return
        starts = self._starts.setdefault(claim.task_type, [])
        place = bisect(starts, claim.sent, key=attrgetter("sent"))
        starts.insert(place, claim)
        for first, second in pairwise(starts[max(0, place - 1) : place + 2]):
            apart = (second.sent - first.sent) / MICROSECONDS
            if first.faults == second.faults and apart * rate < 0.999:
                kind = claim.task_type
                raise Violation(f"two tasks of type {kind} began only {apart:.2f} s apart")

    def assert_empty(self, clock: int) -> None:
        """The run believes the queue empty: then its last look saw the whole of it."""
        if self.last is None or not self.last.complete:
            raise Violation("the run ended as if the queue were empty, but did not look to its end")
        self._assert_order()
        left = self.last.passed_over(clock)
        if left:
            raise Violation(
                "the run ended as if the queue were empty, but passed it over",
                str(left[0][Attribute.TASK_ID]),
            )


def assert_reach(
    span: Span, start: Cursor | None, page: Page, index: MemoryTable, clock: int
) -> None:
    """A look leaves out nothing that is alive, and begins with the newest."""
    if not _looks_for_tasks(span):
        return
    everything = Span(index=span.index, status=span.status)
    rows = index.query(everything, newest_first=True, limit=1_000_000).rows
    if start is None and rows[: len(page.rows)] != page.rows:
        raise Violation("a look did not begin with the newest tasks")
    for row in rows:
        live = row[Attribute.EXPIRES_AT] > clock // MICROSECONDS
        if live and not _inside(span, row[Attribute.TASK_CREATED]):
            raise Violation("is alive, and out of the workers' sight", str(row[Attribute.TASK_ID]))


def _looks_for_tasks(span: Span) -> bool:
    """Not one that measures the queue."""
    return span.index == STATUS_CREATED_INDEX and span.status is Status.PENDING and not span.where


def _type(look: Look, task_id: str) -> Any:
    return next(row[Attribute.TASK_TYPE] for row in look.rows if row[Attribute.TASK_ID] == task_id)


def _inside(span: Span, created: int) -> bool:
    return (span.first is None or created >= span.first) and (
        span.last is None or created <= span.last
    )
