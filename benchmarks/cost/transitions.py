"""Count the units of each transition of a task, by the size of its payload, on the store itself."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from benchmarks.cost.payload import report
from benchmarks.cost.results import Transition
from benchmarks.units import Metered
from lab.virtual import START
from lifoq.basics.host import MICROSECONDS, Host
from lifoq.errors import NotClaimed
from lifoq.items.key_limit import KeyLimit
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskError
from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim
from lifoq.store.keyed_claims import KeyedClaims
from lifoq.store.store import Store
from lifoq.store.table_protocol import Table

SMALL: Final = 100
LARGE: Final = 16_384
"""Bytes of JSON."""
LEASE: Final = 30.0
RESULT: Final = '{"done":true}'
ERROR: Final = TaskError(
    type="TimeoutError", message="attempt 1 took longer than its timeout, 30 s"
)


class Desk:
    """Tasks of one size, in whatever state a transition begins with."""

    def __init__(self, table: Table, host: Host, size: int) -> None:
        self.host = host
        self.store = Store(table, host=host)
        self.telling = Store(table, lifetimes=Lifetimes(shed_at_deadline=True), host=host)
        self.keyed = KeyedClaims(self.store, host=host)
        self.new = NewTask(task_type="device.check", payload=report(size))

    def waiting(self, **terms: Any) -> Task:
        return self.store.put(replace(self.new, **terms))

    def claim(self, task: Task, *, lease: float = LEASE) -> Task:
        return self.store.claim(task.task_id, claim_id=self.host.new_id(), lease=lease)

    def taken(self) -> Task:
        return self.claim(self.waiting())

    def lost(self) -> Task:
        task = self.claim(self.waiting(), lease=0.001)
        self.host.sleep(0.002)
        return task

    def due(self) -> Task:
        task = self.taken()
        self.store.retry(task, ERROR, delay=0.001)
        self.host.sleep(0.002)
        return task

    def failed(self) -> Task:
        task = self.taken()
        self.store.fail(task, ERROR)
        return task

    def overdue(self) -> Task:
        task = self.telling.put(replace(self.new, deadline=0.001))
        self.host.sleep(0.002)
        return task

    def shed(self, task: Task) -> None:
        if not self.telling.shed(task.task_id):
            raise RuntimeError(f"{task.task_id} was not shed: nothing would be counted")

    def row(self, key: str | None = None) -> Candidate:
        """A waiting task of a key that is free, unless one is given."""
        task = self.waiting(key=key or self.host.new_id())
        return Candidate(
            task_id=task.task_id,
            task_type=task.task_type,
            created=task.task_created or 0,
            expires_at=task.expires_at,
            key=task.key,
        )

    def claim_key(self, row: Candidate) -> Claim:
        return self.keyed.claim(row, key_limit=KeyLimit(per_key=1), lease=LEASE)

    def held(self) -> Candidate:
        """A waiting task of a key that another has."""
        row = self.row()
        self.claim_key(row)
        return self.row(row.key)

    def settled(self) -> Claim:
        claim = self.claim_key(self.row())
        self.store.succeed(claim.task, RESULT)
        return claim

    def refused(self, claim: Callable[[Any], object], what: Task | Candidate) -> None:
        with contextlib.suppress(NotClaimed):
            claim(what)


Begin = Callable[[Desk], Any]
Act = Callable[[Desk, Any], Any]
NONE: Final[Begin] = lambda _desk: None  # noqa: E731

TRANSITIONS: Final[dict[str, tuple[Begin, Act]]] = {
    "put": (NONE, lambda at, _: at.waiting()),
    "put again under a known id": (
        lambda at: at.waiting(task_id=at.host.new_id()).task_id,
        lambda at, task_id: at.waiting(task_id=task_id),
    ),
    "claim": (Desk.waiting, Desk.claim),
    "claim that comes too late": (Desk.taken, lambda at, t: at.refused(at.claim, t)),
    "claim of a key": (Desk.row, Desk.claim_key),
    "claim of a key that is held": (Desk.held, lambda at, r: at.refused(at.claim_key, r)),
    "leave a key's slot": (Desk.settled, lambda _, claim: claim.leave()),
    "heartbeat": (Desk.taken, lambda at, t: at.store.extend(t, lease=LEASE)),
    "checkpoint": (Desk.taken, lambda at, t: at.store.checkpoint(t, {"step": 1}, lease=LEASE)),
    "success": (Desk.taken, lambda at, t: at.store.succeed(t, RESULT)),
    "success with a follow-up of the same size": (
        Desk.taken,
        lambda at, t: at.store.succeed(t, RESULT, [at.new]),
    ),
    "failure": (Desk.taken, lambda at, t: at.store.fail(t, ERROR)),
    "retry later": (Desk.taken, lambda at, t: at.store.retry(t, ERROR, delay=60)),
    "fall due": (Desk.due, lambda at, t: at.store.promote(t.task_id)),
    "lease over": (Desk.lost, lambda at, t: at.store.reclaim(t, max_attempts=2)),
    "redrive": (Desk.failed, lambda at, t: at.store.redrive(t.task_id)),
    "cancel": (Desk.waiting, lambda at, t: at.store.cancel(t.task_id)),
    "put, to be told at its deadline": (NONE, lambda at, _: at.telling.put(at.new)),
    "claim, before it was told": (lambda at: at.telling.put(at.new), Desk.claim),
    "shed at its deadline": (Desk.overdue, Desk.shed),
}


def rows() -> list[Transition]:
    return [
        Transition(transition=name, small=units(name, SMALL), large=units(name, LARGE))
        for name in TRANSITIONS
    ]


def units(name: str, size: int) -> float:
    return counted(name, size).write_units


def counted(name: str, size: int) -> Metered:
    """Return the units of the transition, without those of what comes before it."""
    table = Metered()
    table.host.end = START + 60 * MICROSECONDS
    desk = Desk(table, table.host, size)
    begin, act = TRANSITIONS[name]
    task = begin(desk)
    table.reset()
    act(desk, task)
    return table
