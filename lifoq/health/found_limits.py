"""The number of tasks at a time that each worker found for its adaptive task types.

Workers keep it in the item in which they note what they started (see ``pressure``), in an attribute
of its own: so it costs no write more. A new process begins with it, and whoever looks at the queue
can see it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from lifoq.basics import jsontext, records
from lifoq.basics.host import microseconds
from lifoq.health.pressure import NOTE
from lifoq.items.change import Item
from lifoq.items.schema import Attribute
from lifoq.store.base import StoreBase

AT_WORK: Final = 90.0
"""Seconds for which a worker that has noted what it found counts as at work."""
MOST_KEPT: Final = 200
"""Rows that are kept, at the most; those of the latest notes."""


@dataclass(frozen=True, kw_only=True)
class FoundLimit:
    """The tasks at a time that one worker found for one task type."""

    worker: str
    task_type: str
    tasks: float
    """Tasks at a time, on average."""
    most: int
    """The largest number that it may try: the type's ``in_flight``, or the worker's own."""
    at: int = 0
    """Epoch microseconds of the note."""
    ended: bool = False
    """True if the worker's run was over then: it may be gone, and leaves its part to others."""


@dataclass(frozen=True, kw_only=True)
class TypeLimit:
    """The tasks at a time that a downstream was found to take of one task type."""

    task_type: str
    tasks: float
    """Tasks at a time, over all workers together."""
    most: int
    """The largest number that these workers may try together."""
    workers: int
    at: int
    """Epoch microseconds of the latest note."""

    @property
    def told(self) -> str:
        """The numbers as text: ``24 found, of 64 at most``."""
        return f"{round(self.tasks)} found, of {self.most} at most"


def read(store: StoreBase, *, now: int) -> tuple[TypeLimit, ...]:
    """Return what was found for each type, by one read."""
    return by_type(of(store.table.get(NOTE)), now=now)


def of(item: Item | None) -> list[FoundLimit]:
    """Return the rows of the workers' item, without those that cannot be read."""
    return records.decode_all((item or {}).get(Attribute.RESULT), FoundLimit)


def encoded(rows: Iterable[FoundLimit], *, before: Sequence[FoundLimit], now: int) -> str:
    """Return the item's attribute, with a worker's new rows in place of its old ones. Rows of other
    workers stay while these are at work; else only the latest of a type does."""
    new = {(row.worker, row.task_type): row for row in rows}
    others = [row for row in before if (row.worker, row.task_type) not in new]
    kept = [*new.values(), *(row for row in others if _at_work(row, now=now))]
    known = {row.task_type for row in kept}
    for row in sorted(others, key=lambda row: -row.at):
        if row.task_type not in known:
            known.add(row.task_type)
            kept.append(row)
    kept.sort(key=lambda row: -row.at)
    return jsontext.encode([asdict(row) for row in kept[:MOST_KEPT]], "limits")


def to_begin_with(rows: Iterable[FoundLimit], *, now: int) -> dict[str, float]:
    """Return, by task type, the tasks at a time with which a new worker begins: an equal part
    beside the workers that are at work; where none is, as many as the last one ended with."""
    rows = sorted(rows, key=lambda row: row.at)
    begins = {row.task_type: row.tasks for row in rows}
    for name in begins:
        tasks = [row.tasks for row in rows if row.task_type == name and _at_work(row, now=now)]
        if tasks:
            begins[name] = sum(tasks) / (len(tasks) + 1)
    return begins


def by_type(rows: Iterable[FoundLimit], *, now: int) -> tuple[TypeLimit, ...]:
    """Return what was found for each type: over the workers at work, or by the last one."""
    rows = sorted(rows, key=lambda row: row.at)
    latest = {row.task_type: row for row in rows}
    found = []
    for name in sorted(latest):
        own = [row for row in rows if row.task_type == name and _at_work(row, now=now)]
        own = own or [latest[name]]
        found.append(
            TypeLimit(
                task_type=name,
                tasks=sum(row.tasks for row in own),
                most=sum(row.most for row in own),
                workers=len(own),
                at=latest[name].at,
            )
        )
    return tuple(found)


def together(one: Iterable[TypeLimit], other: Iterable[TypeLimit]) -> tuple[TypeLimit, ...]:
    """Return the limits of two queues as those of one."""
    found = {limit.task_type: limit for limit in one}
    for limit in other:
        before = found.get(limit.task_type)
        found[limit.task_type] = (
            limit
            if before is None
            else TypeLimit(
                task_type=limit.task_type,
                tasks=before.tasks + limit.tasks,
                most=before.most + limit.most,
                workers=before.workers + limit.workers,
                at=max(before.at, limit.at),
            )
        )
    return tuple(found[name] for name in sorted(found))


def _at_work(row: FoundLimit, *, now: int) -> bool:
    return not row.ended and now - row.at < microseconds(AT_WORK)
