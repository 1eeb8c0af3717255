"""Newest first: what a processor was shown, against what it then claimed.

A look goes through the LIFO index from its newest row on, page by page.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from lifoq.change import Change, Item
from lifoq.host import MICROSECONDS
from lifoq.memory import MemoryTable
from lifoq.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.table import Cursor, Page, Span
from tests.simulation.history import Violation


@dataclass
class Look:
    rows: list[Item] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
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
            if live and row[Attribute.TASK_ID] not in self.tried:
                found.append(row)
        return found


class Looks:
    """Watches one processor."""

    def __init__(self, free_types: Collection[str]) -> None:
        """``free_types``: those that may start whenever the processor has a slot."""
        self._free_types = free_types
        self.last: Look | None = None
        self.last_claim = 0
        """By the worker's clock, when it last got one."""

    def shown(self, span: Span, start: Cursor | None, page: Page) -> None:
        if not _looks_for_tasks(span):
            return
        if start is None:
            self.last = Look()
        assert self.last is not None
        if self.last.claimed:
            raise Violation("the look went on behind a page that gave a claim")
        self.last.rows.extend(page.rows)
        self.last.complete = page.next is None

    def before_update(self, task_id: str, change: Change, clock: int) -> None:
        if change.set.get(Attribute.TASK_STATUS) != Status.TAKEN:
            return
        look = self.last
        if look is None or all(row[Attribute.TASK_ID] != task_id for row in look.rows):
            raise Violation("was claimed, but no page showed it", task_id)
        look.tried.add(task_id)
        for row in look.passed_over(clock, until=task_id):
            if row[Attribute.TASK_TYPE] in self._free_types:
                passed_over = row[Attribute.TASK_ID]
                raise Violation(f"was claimed, but {passed_over} is newer, and could", task_id)

    def after_update(self, change: Change, clock: int) -> None:
        if change.set.get(Attribute.TASK_STATUS) == Status.TAKEN and self.last is not None:
            self.last.claimed = True
            self.last_claim = clock

    def assert_empty(self, clock: int) -> None:
        """The run believes the queue empty: then its last look saw the whole of it."""
        if self.last is None or not self.last.complete:
            raise Violation("the run ended as if the queue were empty, but did not look to its end")
        left = self.last.passed_over(clock)
        if left:
            raise Violation(
                "the run ended as if the queue were empty, but passed it over",
                str(left[0][Attribute.TASK_ID]),
            )


def assert_reach(span: Span, index: MemoryTable, clock: int) -> None:
    """The range of a look leaves nothing out that is alive."""
    if not _looks_for_tasks(span):
        return
    everything = Span(index=span.index, status=span.status)
    for row in index.query(everything, newest_first=True, limit=1_000_000).rows:
        live = row[Attribute.EXPIRES_AT] > clock // MICROSECONDS
        if live and not _inside(span, row[Attribute.TASK_CREATED]):
            raise Violation("is alive, and out of the workers' sight", str(row[Attribute.TASK_ID]))


def _looks_for_tasks(span: Span) -> bool:
    """Not one that measures the queue."""
    return span.index == STATUS_CREATED_INDEX and span.status is Status.PENDING and not span.where


def _inside(span: Span, created: int) -> bool:
    return (span.first is None or created >= span.first) and (
        span.last is None or created <= span.last
    )
