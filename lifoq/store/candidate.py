"""Rows of the LIFO index: what a worker knows of a waiting task before it claims it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from lifoq.items.change import Change, Item, is_number
from lifoq.items.put_terms import is_name
from lifoq.items.schema import MAX_TASK_KEY_BYTES, MAX_TYPE_BYTES, Attribute, Preview
from lifoq.items.task import Task
from lifoq.store.table_protocol import Cursor


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A row of the LIFO index. Its task was PENDING when the row was written, and may be claimed by
    now: the index lags behind the table."""

    task_id: str
    task_type: str
    created: int
    """``taskCreated``: the place in the queue, in epoch microseconds."""
    expires_at: int
    """The shedding deadline in epoch microseconds."""
    key: str | None = None
    preview: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The attribute ``preview``, with fields that a newer release may have written."""
    suspected_poison: bool = False
    """True if the lease of the latest claim was lost: the task may kill the process that runs
    it."""
    damage: str | None = None
    """Why this row cannot be a task; None if it can."""

    @property
    def head_start(self) -> int:
        """The head start of the task: microseconds by which it stands ahead of its time."""
        head_start: int = self.preview.get(Preview.HEAD_START, 0)
        return head_start

    @property
    def weight(self) -> int:
        """The units that the task weighs; 1 where its put says none."""
        weight = self.preview.get(Preview.WEIGHT)
        return weight if _whole(weight) and weight > 0 else 1

    @property
    def alone(self) -> bool:
        """True if the task shares no call of a handler with others: it has failed in one."""
        return bool(self.preview.get(Preview.ALONE))

    @property
    def since(self) -> int:
        """When the task began to wait, in epoch microseconds."""
        return self.created - self.head_start


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """One page of rows."""

    rows: tuple[Candidate, ...]
    next: Cursor | None
    """The place at which the next page begins; None at the end of the index."""
    left_out: int = 0
    """Rows that DynamoDB read for this page and filtered out, as far as one can tell."""


def candidate_of(row: Item) -> Candidate:
    """Read a row of the index. A row with damaged attributes is no error: ``damage`` tells."""
    expires_at, task_type = row.get(Attribute.EXPIRES_AT), row.get(Attribute.TASK_TYPE)
    key, leases_lost = row.get(Attribute.TASK_KEY), row.get(Attribute.LEASES_LOST, 0)
    created, preview = row.get(Attribute.TASK_CREATED), row.get(Attribute.PREVIEW, {})
    damage = None
    if not _whole(created):
        damage = "taskCreated is not a whole number"
    elif not _whole(expires_at):
        damage = "expiresAt is missing or not a whole number"
    elif not is_name(task_type, MAX_TYPE_BYTES):
        damage = f"taskType is missing or not a string of 1 to {MAX_TYPE_BYTES} bytes"
    elif Attribute.TASK_KEY in row and not is_name(key, MAX_TASK_KEY_BYTES):
        damage = f"taskKey is not a string of 1 to {MAX_TASK_KEY_BYTES} bytes"
    elif not _whole(leases_lost):
        damage = "leasesLost is not a whole number"
    elif not isinstance(preview, dict):
        damage = "preview is not a map"
    elif not _whole(preview.get(Preview.HEAD_START, 0)):
        damage = "headStart is not a whole number"
    return Candidate(
        task_id=str(row[Attribute.TASK_ID]),
        task_type=task_type if isinstance(task_type, str) else "",
        created=int(created) if is_number(created) else 0,
        expires_at=expires_at if isinstance(expires_at, int) else 0,
        key=key if isinstance(key, str) else None,
        preview=preview if damage is None else {},
        suspected_poison=damage is None and leases_lost > 0,
        damage=damage,
    )


def row_after(task: Task, change: Change) -> Item:
    """Return the index row that a task has after a change."""
    before = {
        Attribute.TASK_ID: task.task_id,
        Attribute.TASK_TYPE: task.task_type,
        Attribute.EXPIRES_AT: task.expires_at,
        **({} if task.key is None else {Attribute.TASK_KEY: task.key}),
        **({Attribute.PREVIEW: task.preview} if task.preview else {}),
    }
    left = {name: value for name, value in before.items() if name not in change.remove}
    return {str(name): value for name, value in {**left, **change.set}.items()}


def _whole(value: object) -> TypeGuard[int]:
    return type(value) is int  # a bool is an instance of it, too
