"""The task types that a queue's workers are known to have: for whoever puts a task, and for the
shell's completion."""

from typing import Final

from lifoq.client.cells import Cells
from lifoq.health import sweep_note as notes
from lifoq.health.sweep_note import Note
from lifoq.items.schema import SMOKE_TYPE
from lifoq.items.task import Task
from lifoq_cli.session import Queues, Session

NAMED: Final = 10
"""Task types that one sentence names."""


def types(queue: Queues) -> list[str]:
    """Return the task types that workers have, or that wait, as the latest sweeps noted them: one
    read for each cell."""
    every = queue.queues.values() if isinstance(queue, Cells) else (queue,)
    found = (notes.read(one.store) for one in every)
    names = {name for note in found for name in (*note.known_types, *note.unknown_types)}
    return sorted(names - {SMOKE_TYPE})


def tell_if_lacking(session: Session, task: Task) -> None:
    """Say so if no worker is known to have a handler for a task that was just put: its type may be
    mistyped."""
    queue = session.queue
    home = queue.home(task.task_id) if isinstance(queue, Cells) else queue
    note = notes.read(home.store)
    if task.waiting and note.lacks(task.task_type):
        session.tell(
            f"No worker is known to have a handler for {task.task_type!r}{_others(note)}. The task "
            "waits for one until its deadline."
        )


def _others(note: Note) -> str:
    known = [name for name in note.known_types if name != SMOKE_TYPE]
    if not known:
        return ""
    more = ", …" if len(known) > NAMED else ""
    return f", but for {', '.join(known[:NAMED])}{more}"
