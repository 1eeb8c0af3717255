"""Quotas that workers hold of limits over all workers (see ``lifoq.items.lease_table``)."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from rich.table import Table

from lifoq.basics.host import microseconds
from lifoq.basics.times import iso
from lifoq.client.cells import Cells
from lifoq.client.queue import Queue
from lifoq.items.lease_table import (
    CLOCKS_APART,
    NONE,
    Entry,
    LeaseTable,
    SharedLimit,
    lease_table_id,
)
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.store.table import LARGEST_PAGE, Span
from lifoq_cli import moments

OWN: Final = ""
"""The limit of the queue itself, over all task types (see ``lease_table_id``)."""


@dataclass(frozen=True, kw_only=True)
class Lent:
    """How much of one limit workers hold, as its lease table says."""

    cell: str | None
    """The table of its queue; None where there is one queue."""
    task_type: str | None
    """None: it is the queue's own, over all types."""
    in_flight: int | None
    """Tasks at a time; None: not limited. Of a task type it is in its code, and not known here."""
    rate_limit: float | None
    """Starts per second; as above."""
    slots: int
    """Tasks at a time that are lent out."""
    shards: int
    """Equal parts of the rate that are lent out: a rate of five a second has five of them."""
    is_short: bool
    """Whether a worker asks for more than it has."""
    workers: int
    """That it is lent to."""
    silent_workers: int
    """Those that have not renewed their quota in time: they are lost, or cannot reach the table."""
    free_at: int | None
    """Epoch microseconds when all of it can be had, unless it is renewed; None: it can now."""

    @property
    def title(self) -> str:
        name = self.task_type or "all types"
        return name if self.cell is None else f"{name}, {self.cell}"

    @property
    def at_a_time(self) -> str:
        """``4``, ``4 of 10``."""
        return _of(self.slots, self.in_flight)

    @property
    def of_rate(self) -> str:
        """Its shards, as above."""
        whole = None if self.rate_limit is None else SharedLimit(rate=self.rate_limit).amount.shards
        return _of(self.shards, whole)

    @property
    def holders(self) -> str:
        """``3``, ``3, 1 of them silent``."""
        silent = f", {self.silent_workers} of them silent" if self.silent_workers else ""
        return f"{self.workers}{silent}"


def find(queue: Queue | Cells) -> list[Lent]:
    """Each limit of a queue whose limits are shared; that of a task type where its tasks are at
    work or wait. Of another queue nothing is read.

    What it reads, once for each queue: two pages of the index, and the lease tables in one batch.
    Raises StoreUnavailable, and QueueMisconfigured, also where a lease table cannot be read.
    """
    if isinstance(queue, Cells):
        return [one for name, cell in queue.queues.items() for one in _of_queue(cell, cell=name)]
    return list(_of_queue(queue, cell=None))


def _of_queue(queue: Queue, *, cell: str | None) -> Iterator[Lent]:
    shared, table = queue.shared_limits, queue.store.table
    if shared is None:
        return
    wholes = {name: SharedLimit() for name in sorted(_types_in_sight(queue))}
    if shared.total_in_flight is not None or shared.rate_limit is not None:
        wholes = {
            OWN: SharedLimit(in_flight=shared.total_in_flight, rate=shared.rate_limit),
            **wholes,
        }
    items = {
        item[Attribute.TASK_ID]: item
        for item in table.get_many([lease_table_id(one) for one in wholes])
    }
    now = queue.store.now()
    for limit, whole in wholes.items():
        item = items.get(lease_table_id(limit))
        if item is not None or limit == OWN:
            yield _lent(limit, whole, LeaseTable.of(item, whole), cell=cell, now=now)


def _types_in_sight(queue: Queue) -> set[str]:
    """The types of the newest tasks that are at work or wait."""
    found = set()
    for status in (Status.TAKEN, Status.PENDING):
        span = Span(index=STATUS_CREATED_INDEX, status=status)
        page = queue.store.table.query(span, newest_first=True, limit=LARGEST_PAGE)
        names = [row.get(Attribute.TASK_TYPE) for row in page.rows]
        found |= {name for name in names if isinstance(name, str) and name}
    return found


def _lent(
    limit: str, whole: SharedLimit, lease_table: LeaseTable, *, cell: str | None, now: int
) -> Lent:
    entries = [entry.left(now) for entry in lease_table.entries.values()]
    held = [entry for entry in entries if entry.has != NONE]
    return Lent(
        cell=cell,
        task_type=limit or None,
        in_flight=whole.in_flight,
        rate_limit=whole.rate,
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
    """When others may have it, as ``Entry.left`` has it."""
    return entry.until + microseconds(CLOCKS_APART) + (entry.lease if entry.has.slots else 0)


def _of(part: int, whole: int | None) -> str:
    if whole is None:
        return str(part) if part else "–"
    return f"{part} of {whole}"


def as_json(lent: Lent) -> dict[str, Any]:
    found = asdict(lent)
    if lent.cell is None:
        del found["cell"]
    return {**found, "free_at": None if lent.free_at is None else iso(lent.free_at)}


def table(lent: list[Lent], *, now: int) -> Table:
    found = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("SHARED LIMIT", "AT A TIME", "LANES", "WORKERS", "SHORT", "FREE, UNLESS RENEWED"):
        found.add_column(title, no_wrap=True)
    for one in lent:
        free = "now" if one.free_at is None else moments.distance(one.free_at, now=now)
        short = "yes" if one.is_short else "no"
        found.add_row(one.title, one.at_a_time, one.of_rate, one.holders, short, free)
    return found
