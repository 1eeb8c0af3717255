"""The search over all statuses: for a part of an id, a key or an error. What it looks through is
bounded, and it says how much that was."""

from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from lifoq.client.cells import Cells
from lifoq.client.listing import LISTED, Wanted
from lifoq.client.queue import Queue
from lifoq.items.schema import Status
from lifoq.items.task import Task
from lifoq_console.sample import Sample, sample

SHOWN: Final = 10
"""Tasks of a status that are shown."""
LOOKED_AT: Final = 1_000
"""Rows of a status that are looked through."""
ENDED: Final = (Status.SUCCESS, Status.CANCELLED)
"""Statuses in no index: a part of the table is looked through."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """The tasks of one status that were found."""

    status: Status
    tasks: list[Task]
    looked_at: int
    """Tasks that were looked through."""
    more: bool
    """True if there is more to look through."""
    by_chance: bool = False
    """True if they were a part of the table; else they were the newest."""
    query: str | None = None
    """The query of the list that goes on; None where no list has more."""


def search(queue: Queue | Cells, text: str, task_type: str) -> list[Found]:
    """Return what has the text, for each status; capital and small letters are the same. Reads up
    to ``LOOKED_AT`` tasks of each status in the index, and a part of the table. InvalidInput."""
    wanted = Wanted(status=Status.PENDING, text=text, task_type=task_type or None, any_case=True)
    indexed = [_listed(queue, replace(wanted, status=status)) for status in LISTED]
    seen = sample(queue)
    return [*indexed, *(_ended(seen, wanted, status, task_type) for status in ENDED)]


def _listed(queue: Queue | Cells, wanted: Wanted) -> Found:
    listing = queue.search(wanted, limit=SHOWN, scan=LOOKED_AT)
    fields = {"status": wanted.status, "text": wanted.text, "type": wanted.task_type}
    query = urlencode({name: text for name, text in fields.items() if text})
    return Found(
        status=wanted.status,
        tasks=listing.tasks,
        looked_at=listing.read,
        more=listing.next is not None,
        query=query,
    )


def _ended(seen: Sample, wanted: Wanted, status: Status, task_type: str) -> Found:
    of_status = seen.ended(status, task_type=task_type)
    found = [task for task in of_status if wanted.finds_text(task)]
    return Found(
        status=status,
        tasks=found[:SHOWN],
        looked_at=len(seen.ended(status)),
        more=seen.more or len(found) > SHOWN,
        by_chance=seen.more,
    )
