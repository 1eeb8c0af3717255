"""The workers of a queue, as they tell of themselves.

A worker tells in the item in which it notes what it has started (see ``pressure``), in an
attribute of its own: so it costs no write more, and an idle worker writes nothing. Its name stands
in front of the id of each of its claims, and in the quota tables of limits over all workers: so a
task at work tells whose it is.
"""

import os
import socket
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import Final

from lifoq.basics import jsontext, records
from lifoq.basics.host import microseconds
from lifoq.items.change import Item
from lifoq.items.schema import Attribute

TELLS_OF_WORK: Final = 90.0
"""Seconds for which a worker that has told of itself counts as at work."""
KEPT: Final = 3_600.0
"""Seconds for which the note of a worker is kept: a long task may be all that it does."""
MOST_KEPT: Final = 100
"""Workers that are kept, at the most; those of the latest notes."""
MOST_TELLING: Final = 5
"""Workers of whose notes the item keeps why tasks wait; those of the latest. Each write of the item
costs by its size, and workers of one code tell the same."""
MOST_HOLDS: Final = 10
"""Reasons of one worker, at the most."""
LONGEST_REASON: Final = 100
"""Characters of a reason, a task type or a key in a note, at the most."""
_SEPARATOR: Final = ":"
"""Ends the worker's name in the id of a claim (see ``lifoq.store.claims``)."""


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A gate that held tasks back when a worker wrote its note."""

    gate: str
    """The gate's name, as in ``worker.gates.all_gates``."""
    task_type: str = ""
    """The task type that waits; empty: whatever the worker could start."""
    key: str | None = None
    """The key of the tasks that wait; None: those of any key."""
    says: str
    """The reason, in one sentence without a full stop."""
    since: int
    """Epoch microseconds of the worker's first note in a row that had the reason."""

    def concerns(self, task_type: str, key: str | None) -> bool:
        """Return True if the gate holds back the tasks of this type and key."""
        of_type = self.task_type in ("", cut(task_type))
        return of_type and (self.key is None or self.key == cut(key or ""))


@dataclass(frozen=True, kw_only=True)
class WorkerNote:
    """The facts that one worker process told of itself."""

    worker: str
    """The name of the process."""
    since: int
    """Epoch microseconds when the process began to work."""
    place: str
    """The Lambda function that it is an instance of; or its host and process number."""
    release: str
    """The version of lifoq that it runs."""
    slots: int
    """Tasks that it runs at a time, at the most."""
    at: int
    """Epoch microseconds of the note."""
    ended: bool = False
    """True if its run was over then: it may be gone."""
    held: tuple[Hold, ...] = ()
    """The gates that held back the tasks which it saw, in their order."""

    def is_at_work(self, now: int) -> bool:
        """Return True if the worker has told of itself lately, and its run was not over. ``now`` in
        epoch microseconds."""
        return not self.ended and now - self.at < microseconds(TELLS_OF_WORK)


def made_here(
    *, worker: str, since: int, slots: int, at: int, ended: bool, held: tuple[Hold, ...] = ()
) -> WorkerNote:
    """Return the note of this process."""
    function = os.environ.get("AWS_LAMBDA_FUNCTION_NAME")
    return WorkerNote(
        worker=worker,
        since=since,
        place=function or f"{socket.gethostname()}, process {os.getpid()}",
        release=str(import_module("lifoq").__version__),  # the room above all of the library's
        slots=slots,
        at=at,
        ended=ended,
        held=held,
    )


def cut(text: str) -> str:
    """Return the text as a note has it: a long one without its end."""
    return text if len(text) <= LONGEST_REASON else f"{text[: LONGEST_REASON - 1]}…"


def of(item: Item | None) -> list[WorkerNote]:
    """Return the workers of the item, without those that cannot be read."""
    return records.decode_all((item or {}).get(Attribute.CHECKPOINT), WorkerNote)


def encoded(own: WorkerNote, *, before: Iterable[WorkerNote]) -> str:
    """Return the item's attribute, with a worker's new note in place of its old one."""
    oldest = own.at - microseconds(KEPT)
    others = [row for row in before if row.worker != own.worker and row.at > oldest]
    rows = sorted([own, *others], key=lambda row: -row.at)[:MOST_KEPT]
    silent = (replace(row, held=()) for row in rows[MOST_TELLING:])
    told = [asdict(row) for row in (*rows[:MOST_TELLING], *silent)]
    return jsontext.encode(told, "workers")


def worker_of(claim_id: str | None) -> str | None:
    """Return the name of the worker that made a claim; None if the claim does not tell."""
    name, separator, _ = (claim_id or "").partition(_SEPARATOR)
    return name if name and separator else None
