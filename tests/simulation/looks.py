"""The order of the tasks: what a processor was shown, against what it then claimed.

A look goes through the LIFO index page by page, from its newest row on; or from its oldest, where
the adaptive order says so.
"""

from bisect import bisect
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final

from lifoq.change import Change, GreaterThan, Item
from lifoq.host import MICROSECONDS
from lifoq.memory import MemoryTable
from lifoq.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.table import Cursor, Page, Span
from tests.simulation.history import Violation
from tests.simulation.machine import Machine
from tests.simulation.order import OrderRule
from tests.simulation.rooms import Rooms

LONGEST_GAP: Final = 2.0
"""Seconds between two looks of a worker that has a free slot: due tasks are brought in, and leases
renewed, in between."""


@dataclass
class Look:
    faults: int
    """Of the machine, when it began."""
    newest_first: bool
    began: int
    """By the worker's clock: it had its first page, and had read its mailbox."""
    read: bool = False
    """Whether it has read its mailbox."""
    rows: list[Item] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    """Rows that the index still shows, of tasks that the processor has in flight."""
    claimed: bool = False
    complete: bool = False
    """Whether its last page was the index's last."""

    def passed_over(self, clock: int, until: str | None = None) -> list[Item]:
        """Live rows, shown before the task ``until``, that were not tried."""
        found = []
        for row in self.rows:
            if row[Attribute.TASK_ID] == until:
                break
            live = row[Attribute.EXPIRES_AT] > clock
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
    repeated: bool = False
    """Its first answer was lost."""


class Looks:
    """Watches one processor."""

    def __init__(
        self,
        machine: Machine,
        *,
        free_types: Collection[str],
        unregistered: str,
        rates: Mapping[str, float],
        rooms: Rooms,
        order: OrderRule,
    ) -> None:
        """``free_types``: those that may start whenever the processor has a slot, and room.
        ``unregistered``: the type that no task code runs.
        ``rates``: starts per second, of those types that are limited to less than one."""
        self._rates = rates
        self._unregistered = unregistered
        self._rooms = rooms
        self._order = order
        machine.on_mailbox_read = self._mailbox_read
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
        self._looked_at = 0
        self._looked_with = 0
        """By the worker's clock, when it last looked, and the machine's faults then."""

    def begin(self) -> None:
        """A run begins."""
        self.last = None
        self._held.clear()
        self._rooms.begin()
        self._machine.runs += 1
        self._looks_now()

    def shown(
        self, span: Span, start: Cursor | None, page: Page, *, newest_first: bool, sent: int
    ) -> None:
        """A page came; ``sent``: by the worker's clock, when it asked for it."""
        if not _looks_for_tasks(span):
            return
        now = self._machine.now()
        if start is None:
            self._assert_no_barrier()
            self._assert_order()
            self.assert_watchful(now)
            self._looks_now()
            self.last = None
            if not self._order.begins(page, newest_first=newest_first, sent=sent, now=now):
                return
            self.last = Look(faults=self._machine.faults, newest_first=newest_first, began=now)
        if self.last is None:
            raise Violation("a look went on from the oldest, where the newest come first")
        if self.last.newest_first is not newest_first:
            raise Violation("a look turned round half-way")
        if self.last.claimed:
            raise Violation("the look went on behind a page that gave a claim")
        self.last.rows.extend(page.rows)
        self.last.held.update(self._held)
        self.last.complete = page.next is None

    def _looks_now(self) -> None:
        self._looked_at, self._looked_with = self._machine.now(), self._machine.faults

    def _mailbox_read(self) -> None:
        self._rooms.take_in()
        if self.last is not None and not self.last.read:
            self.last.began, self.last.read = self._machine.now(), True

    def assert_watchful(self, clock: int) -> None:
        """Up to now by this clock, no slot was free for long without a look."""
        if self._looked_with != self._machine.faults:
            return
        gap = (clock - max(self._looked_at, self._rooms.free_since())) / MICROSECONDS
        if gap > LONGEST_GAP:
            raise Violation(f"{self._machine.name} had a free slot, and did not look for {gap:g} s")

    def _could_start(self, row: Item, look: Look) -> bool:
        """Whether nothing has held it back since the look began."""
        task_type = row[Attribute.TASK_TYPE]
        free = task_type in self._free_types
        return free and not self._rooms.held_since(task_type, look.began)

    def _assert_no_barrier(self) -> None:
        """A look that claimed nothing, though it could, went through the whole queue."""
        look = self.last
        if look is None or look.claimed or look.faults != self._machine.faults:
            return
        if self._rooms.closed_since(look.began):
            return
        left = look.passed_over(self._machine.now())
        free = [row for row in left if self._could_start(row, look)]
        if free:
            task_id = str(free[0][Attribute.TASK_ID])
            raise Violation("was passed over by a look that claimed nothing", task_id)
        if not look.complete:
            raise Violation("a look that claimed nothing stopped half-way")

    def _assert_order(self) -> None:
        """The claims of a look go out together: they are its first tasks that could start."""
        look = self.last
        last = None if look is None else look.last_tried()
        if look is None or last is None:
            return
        for row in look.passed_over(self._machine.now(), until=last):
            if self._could_start(row, look):
                passed_over = row[Attribute.TASK_ID]
                kind = "newer" if look.newest_first else "older"
                raise Violation(f"was claimed, but {passed_over} is {kind}, and could", last)

    def before_update(self, task_id: str, change: Change, clock: int) -> None:
        if not _claims(change):
            return
        claim = str(change.set[Attribute.CLAIM_ID])
        if claim in self._trying:  # it repeats one whose answer was lost
            self._trying[claim] = replace(self._trying[claim], sent=clock, repeated=True)
            return
        look = self.last
        if look is None or all(row[Attribute.TASK_ID] != task_id for row in look.rows):
            raise Violation("was claimed, but no page of the look showed it", task_id)
        look.tried.add(task_id)
        task_type = str(_type(look, task_id))
        self._rooms.enter(claim, task_type)
        self._trying[claim] = Claim(task_type=task_type, sent=clock, faults=self._machine.faults)

    def refused_update(self, task_id: str, change: Change, item: Item | None) -> None:
        """A write was refused, and the worker was shown the item."""
        claim, there = change.set.get(Attribute.CLAIM_ID), item or {}
        own = claim is not None and there.get(Attribute.CLAIM_ID) == claim
        if own and there[Attribute.TASK_STATUS] == Status.TAKEN:
            self.recognisable[str(claim)] = self._trying[str(claim)].task_type
            self._held.add(task_id)
            self._granted(str(claim))
        elif claim is not None and str(claim) in self._trying and _claims(change):
            self._rooms.end(str(claim), started=False)
        elif claim is None and Attribute.TASK_STATUS in change.set:
            self._held.discard(task_id)

    def lost_update(self, change: Change) -> None:
        """Nobody knows what became of a write. A claim is repeated once."""
        claim = str(change.set.get(Attribute.CLAIM_ID))
        if _claims(change) and self._trying[claim].repeated:
            self._rooms.end(claim, started=False)

    def _granted(self, claim: str) -> None:
        if self._trying[claim].task_type == self._unregistered:  # has no task code to come back
            self._rooms.end(claim, started=True)

    def after_update(self, task_id: str, change: Change, clock: int) -> None:
        status = change.set.get(Attribute.TASK_STATUS)
        if status == Status.TAKEN and self.last is not None:
            self._held.add(task_id)
            self.last.claimed = True
            self.last_claim = clock
            claim = str(change.set[Attribute.CLAIM_ID])
            self._granted(claim)
            self._assert_rate(self._trying[claim])
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
    span: Span,
    start: Cursor | None,
    page: Page,
    index: MemoryTable,
    clock: int,
    *,
    newest_first: bool,
) -> None:
    """A look leaves out nothing that is alive, and begins at the end that it asks for."""
    if not _looks_for_tasks(span):
        return
    everything = Span(index=span.index, status=span.status)
    rows = index.query(everything, newest_first=newest_first, limit=1_000_000).rows
    # At the oldest end lie those that are out of sight, since they cannot be alive.
    seen = [row for row in rows if newest_first or _inside(span, row[Attribute.TASK_CREATED])]
    if start is None and seen[: len(page.rows)] != list(page.rows):
        raise Violation("a look did not begin with the first tasks")
    for row in rows:
        live = row[Attribute.EXPIRES_AT] > clock
        shown = all(condition.holds(row) for condition in span.where)
        if live and not (shown and _inside(span, row[Attribute.TASK_CREATED])):
            raise Violation("is alive, and out of the workers' sight", str(row[Attribute.TASK_ID]))


def _looks_for_tasks(span: Span) -> bool:
    """Not one that measures the queue, or looks for what is out of sight."""
    measures = any(isinstance(condition, GreaterThan) for condition in span.where)
    return span.index == STATUS_CREATED_INDEX and span.status is Status.PENDING and not measures


def _claims(change: Change) -> bool:
    """Whether it is a claim; a heartbeat sets no status."""
    return change.set.get(Attribute.TASK_STATUS) == Status.TAKEN


def _type(look: Look, task_id: str) -> Any:
    return next(row[Attribute.TASK_TYPE] for row in look.rows if row[Attribute.TASK_ID] == task_id)


def _inside(span: Span, created: int) -> bool:
    return (span.first is None or created >= span.first) and (
        span.last is None or created <= span.last
    )
