"""The workers of a queue: who is at work, on what, and what each holds of limits over all
workers."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from lifoq.client.cells import Cells
from lifoq.client.queue import Queue
from lifoq.health import worker_notes
from lifoq.health.pressure import NOTE
from lifoq.health.worker_notes import WorkerNote
from lifoq.items.quota_table import NONE, Amount
from lifoq.items.schema import Attribute, Status
from lifoq.items.task import Task
from lifoq.operating.shared_limit_usage import quota_tables

READ: Final = 500
"""Tasks at work that are read, at the most: the newest."""


@dataclass(frozen=True, kw_only=True)
class Holding:
    """A quota that one worker holds of one limit."""

    limit: str
    """The task type that is limited; empty: the limit is the queue's own."""
    unit: str | None
    """The unit that is counted; None: tasks are."""
    has: Amount
    is_silent: bool
    """True if the quota was not renewed in time."""


@dataclass(kw_only=True)
class Worker:
    """One worker process."""

    name: str
    cell: str | None
    """The table of its queue; None where there is one queue."""
    note: WorkerNote | None = None
    """The facts that it told of itself; None if it has told nothing yet, or long ago."""
    tasks: list[Task] = field(default_factory=list)
    """The tasks that it has claimed and not ended, the oldest claim first."""
    holdings: list[Holding] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Workers:
    """The workers of a queue, with the tasks at work."""

    found: list[Worker]
    """The workers, those with most tasks first."""
    unknown: list[Task]
    """Tasks at work whose claims do not tell whose they are."""
    read: int
    """Tasks at work that were read."""
    more: bool
    """True if there are more tasks at work."""


def find_workers(queue: Queue | Cells) -> Workers:
    """Return the workers that have tasks, hold a quota, or told of themselves in the last
    minute and a half.

    Reads, once for each queue, the workers' item, the newest ``READ`` tasks at work, and the quota
    tables, if limits hold over all workers. Raises StoreUnavailable, QueueMisconfigured.
    """
    cells = queue.queues if isinstance(queue, Cells) else {None: queue}
    parts = [_of_queue(one, cell) for cell, one in cells.items()]
    found = [worker for part in parts for worker in part.found]
    return Workers(
        found=sorted(found, key=lambda one: (-len(one.tasks), one.name)),
        unknown=[task for part in parts for task in part.unknown],
        read=sum(part.read for part in parts),
        more=any(part.more for part in parts),
    )


def _of_queue(queue: Queue, cell: str | None) -> Workers:
    now, found = queue.store.now(), dict[str, Worker]()

    def worker(name: str) -> Worker:
        return found.setdefault(name, Worker(name=name, cell=cell))

    notes = {note.worker: note for note in worker_notes.of(queue.store.table.get(NOTE))}
    for note in notes.values():
        if note.is_at_work(now):
            worker(note.worker)
    page = queue.store.rows(Status.TAKEN, limit=READ)
    unknown = []
    tasks = queue.store.read_each([str(row[Attribute.TASK_ID]) for row in page.rows])
    at_work = [one for one in tasks.values() if isinstance(one, Task)]
    for task in sorted(at_work, key=lambda task: task.taken_at or 0):
        if task.status is not Status.TAKEN:
            continue
        name = worker_notes.worker_of(task.claim_id)
        if name is None:
            unknown.append(task)
        else:
            worker(name).tasks.append(task)
    for name, holding in _holdings(queue, now):
        worker(name).holdings.append(holding)
    for one in found.values():
        one.note = notes.get(one.name)
    return Workers(
        found=list(found.values()), unknown=unknown, read=len(page.rows), more=page.next is not None
    )


def _holdings(queue: Queue, now: int) -> Iterator[tuple[str, Holding]]:
    for limit, shared, quota_table in quota_tables(queue):
        for name, entry in quota_table.entries.items():
            left = entry.left(now)
            if left.has != NONE:
                silent = left.until < now
                yield (
                    name,
                    Holding(limit=limit, unit=shared.unit, has=left.has, is_silent=silent),
                )
