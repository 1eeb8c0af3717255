"""Quotas that workers hold of limits over all workers (see ``lifoq.items.quota_table``)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lifoq.basics.clock import CLOCKS_APART
from lifoq.basics.host import microseconds
from lifoq.client.cells import Cells
from lifoq.client.queue import Queue
from lifoq.items.quota_table import (
    NONE,
    Entry,
    QuotaTable,
    SharedLimit,
    quota_table_id,
)
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.store.table_protocol import LARGEST_PAGE, Span

OWN: Final = ""
"""The limit of the queue itself, over all task types (see ``quota_table_id``)."""


@dataclass(frozen=True, kw_only=True)
class LimitUsage:
    """The quotas of one limit added up, as its quota table tells them."""

    cell: str | None
    """The table of the limit's queue; None where there is one queue."""
    task_type: str | None
    """The task type that is limited; None: the limit is the queue's own, over all types."""
    unit: str | None
    """The unit that is counted, as the type's ``weight`` names it; None: tasks are."""
    in_flight: int | None
    """Tasks (or units) at a time over all workers; None: unlimited, or not told by a worker."""
    rate_limit: float | None
    """Starts (or units) per second over all workers; None: as above."""
    all_shards: int | None
    """Token-bucket shards of the whole rate; None: as above."""
    slots: int
    """Tasks (or units) at a time that workers hold."""
    shards: int
    """Token-bucket shards that workers hold: a rate of five a second has five of them, unless its
    burst is smaller."""
    is_short: bool
    """True if a worker wants more than it has."""
    workers: int
    """The number of workers that hold a quota."""
    silent_workers: int
    """The number of these workers that have not renewed their quota in time: they are lost, or
    cannot reach the table."""
    free_at: int | None
    """Epoch microseconds when the whole limit is free, unless a quota is renewed; None: it is
    now."""

    @property
    def title(self) -> str:
        """The name of the limit: ``all types``, ``ask``, or ``ask, tokens``; and the cell."""
        named = (self.task_type or "all types", self.unit, self.cell)
        return ", ".join(name for name in named if name is not None)

    @property
    def at_a_time(self) -> str:
        """The slots as text: ``4``, or ``4 of 10`` where the limit is known."""
        return _of(self.slots, self.in_flight)

    @property
    def of_rate(self) -> str:
        """The shards as text, as ``at_a_time``."""
        return _of(self.shards, self.all_shards)

    @property
    def holders(self) -> str:
        """The workers as text: ``3``, or ``3, 1 of them silent``."""
        silent = f", {self.silent_workers} of them silent" if self.silent_workers else ""
        return f"{self.workers}{silent}"


def find_limit_usage(queue: Queue | Cells) -> list[LimitUsage]:
    """Return the quotas of each limit of a queue whose limits hold over all workers; none for
    another queue, of which nothing is read. The limit of a task type is found where its tasks are
    at work or wait.

    Reads, once for each queue, two pages of the index, and the quota tables in one batch. Raises
    StoreUnavailable, and QueueMisconfigured, also where a quota table cannot be read.
    """
    if isinstance(queue, Cells):
        return [one for name, cell in queue.queues.items() for one in _of_queue(cell, cell=name)]
    return list(_of_queue(queue, cell=None))


def _of_queue(queue: Queue, *, cell: str | None) -> Iterator[LimitUsage]:
    now = queue.store.now()
    for name, limit, quota_table in quota_tables(queue):
        yield _totals(name, limit, quota_table, cell=cell, now=now)


def quota_tables(queue: Queue) -> Iterator[tuple[str, SharedLimit, QuotaTable]]:
    """Yield each limit over all workers that is in use: the task type that is limited (or ``OWN``),
    the limit as far as it is known, and its quota table. Raises as ``find_limit_usage``."""
    shared, table = queue.shared_limits, queue.store.table
    if shared is None:
        return
    if shared.total_in_flight is not None or shared.rate_limit is not None:
        own = SharedLimit(in_flight=shared.total_in_flight, rate=shared.rate_limit)
        yield OWN, own, QuotaTable.of(table.get(quota_table_id(OWN)), own)
    ids = {
        quota_table_id(name, units=units): name
        for name in sorted(_types_in_use(queue))
        for units in (False, True)
    }
    items = {item[Attribute.TASK_ID]: item for item in table.get_many(list(ids))}
    for table_id, name in ids.items():
        if table_id in items:
            quota_table = QuotaTable.of(items[table_id], SharedLimit())
            yield name, quota_table.limit or SharedLimit(), quota_table


def _types_in_use(queue: Queue) -> set[str]:
    """The types of the newest tasks that are at work or wait."""
    found = set()
    for status in (Status.TAKEN, Status.PENDING):
        span = Span(index=STATUS_CREATED_INDEX, status=status)
        page = queue.store.table.query(span, newest_first=True, limit=LARGEST_PAGE)
        names = [row.get(Attribute.TASK_TYPE) for row in page.rows]
        found |= {name for name in names if isinstance(name, str) and name}
    return found


def _totals(
    name: str, limit: SharedLimit, quota_table: QuotaTable, *, cell: str | None, now: int
) -> LimitUsage:
    entries = [entry.left(now) for entry in quota_table.entries.values()]
    held = [entry for entry in entries if entry.has != NONE]
    return LimitUsage(
        cell=cell,
        task_type=name or None,
        unit=limit.unit,
        in_flight=limit.in_flight,
        rate_limit=limit.rate,
        all_shards=None if limit.rate is None else limit.amount.shards,
        slots=sum(entry.has.slots for entry in held),
        shards=sum(entry.has.shards for entry in held),
        is_short=any(
            has < wants
            for entry in entries
            if entry.until >= now
            for has, wants in zip(entry.has, entry.wants, strict=True)
        ),
        workers=len(held),
        silent_workers=sum(entry.until < now for entry in held),
        free_at=max((_free_at(entry) for entry in held), default=None),
    )


def _free_at(entry: Entry) -> int:
    """Return when others may have a quota, as ``Entry.left`` has it."""
    return entry.until + microseconds(CLOCKS_APART) + (entry.lease if entry.has.slots else 0)


def _of(part: int, whole: int | None) -> str:
    if whole is None:
        return f"{part:,}" if part else "–"
    return f"{part:,} of {whole:,}"
