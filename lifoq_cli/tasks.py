"""Tasks, as JSON and for people."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from lifoq.basics.host import MICROSECONDS
from lifoq.basics.shown import harmless
from lifoq.basics.times import iso
from lifoq.items import put_terms
from lifoq.items.attempt_history import PastAttempt
from lifoq.items.schema import Status
from lifoq.items.task import Task
from lifoq_cli import moments

SHOWN: Final = 240
"""Characters of an error in a list on a terminal; ``lifoq get`` shows it whole."""
_MOMENTS: Final = frozenset(
    {
        *("enqueued_at", "task_updated", "expires_at", "task_created", "first_taken_at"),
        *("taken_at", "finished_at", "lease_expires", "due_at", "cancel_asked"),
    }
)
"""Fields of a task that are epoch microseconds."""

COLOURS: Final = {
    Status.PENDING: "cyan",
    Status.DELAYED: "blue",
    Status.TAKEN: "yellow",
    Status.SUCCESS: "green",
    Status.FAILURE: "red",
    Status.CANCELLED: "dim",
}


def as_json(task: Task) -> dict[str, Any]:
    """Return the task's attributes, times as ISO 8601."""
    found = dataclasses.asdict(task)
    del found["payload_bytes"]
    for name in _MOMENTS & found.keys():
        if found[name] is not None:
            found[name] = iso(found[name])
    for attempt in found["history"]:
        attempt["ended_at"] = iso(attempt["ended_at"])
        if attempt["taken_at"] is not None:
            attempt["taken_at"] = iso(attempt["taken_at"])
    found |= {term.name: task.terms.get(term) for term in put_terms.SHOWN}
    found["ttl"] = iso(task.ttl * MICROSECONDS)
    return {name: value for name, value in found.items() if value not in (None, ())}


def show(task: Task, *, now: int, traceback: bool = False) -> Callable[[Console], None]:
    """One task; ``traceback``: with its error's, below, where it keeps its lines."""

    def printed(console: Console) -> None:
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        of_traceback = "below" if traceback else "--traceback shows it"
        for name, value, style in _lines(task, now, of_traceback):
            table.add_row(name, console.render_str(value, style=style))
        console.print(table)
        if traceback and task.error and task.error.traceback:
            console.print()
            console.print(task.error.traceback, soft_wrap=True)

    return printed


def _lines(task: Task, now: int, of_traceback: str) -> list[tuple[str, str, str]]:
    """Name, value and style."""

    def at(moment: int | None) -> str | None:
        return None if moment is None else moments.local(moment, now=now)

    waits = task.waiting and not task.expired(now)
    lines: list[tuple[str, str | None]] = [
        ("task", task.task_id),
        ("status", task.status.value),
        ("type", task.task_type),
        *_terms(task),
        ("attempts", str(task.attempts)),
        ("replaced", f"{task.replaced} earlier puts" if task.replaced else None),
        ("enters" if task.enqueued_at > now else "entered", at(task.enqueued_at)),
        ("due", at(task.due_at)),
        ("first taken", at(task.first_taken_at)),
        ("taken", at(task.taken_at)),
        ("lease until", at(task.lease_expires) if task.status is Status.TAKEN else None),
        ("cancelled", at(task.cancel_asked)),
        ("finished", at(task.finished_at)),
        ("sheds" if waits else "shed", at(task.expires_at) if task.waiting else None),
        ("leases lost", str(task.leases_lost) if task.leases_lost else None),
        ("payload", _json(task.payload)),
        ("checkpoint", None if task.checkpoint is None else _json(task.checkpoint)),
        ("result", None if task.result is None else _json(task.result)),
    ]
    if task.error is not None:
        lines.append(("error", f"{task.error.type}: {task.error.message}"))
        lines.append(("traceback", of_traceback if task.error.traceback else None))
    lines += [(f"attempt {past.attempt}", _past(past, now)) for past in reversed(task.history)]
    styles = {"status": COLOURS[task.status], "error": "red"}
    return [(name, value, styles.get(name, "")) for name, value in lines if value is not None]


def _terms(task: Task) -> list[tuple[str, str | None]]:
    return [(term.label, term.rule.spoken(value)) for term, value in task.terms.items()]


def _past(attempt: PastAttempt, now: int) -> str:
    how = attempt.ended.value.lower().replace("_", " ")
    ended = moments.local(attempt.ended_at, now=now)
    why = "" if attempt.error_type is None else f": {attempt.error_type}: {attempt.message}"
    return f"{how} {ended}{why}"


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


@dataclasses.dataclass(frozen=True)
class _Column:
    title: str
    text: Callable[[Task, int], str]
    wide: bool = False
    """True if the column gets the room that is left."""
    most: int | None = None
    """Characters that are shown beside a wide one."""


def _away(moment: int | None, now: int) -> str:
    return "" if moment is None else moments.distance(moment, now=now)


def _error(task: Task, _now: int) -> str:
    return (
        "" if task.error is None else " ".join(f"{task.error.type}: {task.error.message}".split())
    )


_ID: Final = _Column("TASK", lambda task, _: task.task_id, most=10)
_TYPE: Final = _Column("TYPE", lambda task, _: task.task_type, most=16)
_KEY: Final = _Column("KEY", lambda task, _: task.key or "", most=10)
_ATTEMPTS: Final = _Column("TRIES", lambda task, _: str(task.attempts))
_ENTERED: Final = _Column("ENTERED", lambda task, now: _away(task.enqueued_at, now))
_ERROR: Final = _Column("ERROR", _error, wide=True)

_COLUMNS: Final[Mapping[Status, Sequence[_Column]]] = {
    Status.PENDING: (
        *(_ID, _TYPE, _KEY, _ENTERED),
        _Column("SHEDS", lambda task, now: _away(task.expires_at, now)),
        _ATTEMPTS,
    ),
    Status.DELAYED: (
        *(_ID, _TYPE, _KEY, _ATTEMPTS),
        _Column("DUE", lambda task, now: _away(task.due_at, now)),
        _ERROR,
    ),
    Status.TAKEN: (
        *(_ID, _TYPE, _KEY, _ATTEMPTS),
        _Column("TAKEN", lambda task, now: _away(task.taken_at, now)),
        _Column("LEASE ENDS", lambda task, now: _away(task.lease_expires, now)),
    ),
    Status.FAILURE: (
        *(_ID, _TYPE, _KEY, _ATTEMPTS),
        _Column("FAILED", lambda task, now: _away(task.finished_at, now)),
        _ERROR,
    ),
}


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def table(
    tasks: Sequence[Task], status: Status, *, now: int, cut: bool, brief: bool = False
) -> Table:
    """Return a row for each task of a status. ``cut``: it fits the width of a terminal, and an
    error has ``SHOWN`` characters; ``brief``: each row is one line."""
    columns = [
        column
        for column in _COLUMNS[status]
        if column not in (_ERROR, _KEY) or any(column.text(task, now) for task in tasks)
    ]
    # Who lists failures wants to know why they failed; an id to copy is in --json.
    crowded = cut and any(column.wide for column in columns)
    found = Table(box=None, pad_edge=False, header_style="bold", expand=crowded)
    for column in columns:
        found.add_column(
            column.title,
            no_wrap=brief or not column.wide,
            overflow="ellipsis" if brief or (crowded and column.most) else "fold",
            max_width=column.most if crowded else None,
            ratio=1 if column.wide and cut else None,
        )
    for task in tasks:
        # Of one line, lest a part of it looks like a row of its own.
        texts = (harmless(column.text(task, now)) for column in columns)
        found.add_row(*(_shortened(text) if cut else text for text in texts))
    return found
