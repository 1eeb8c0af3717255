"""What each transition of a task costs, by payload size, on the store itself."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from benchmarks.cost.meter import Meter
from benchmarks.payloads import report
from lifoq.basics.host import SYSTEM
from lifoq.errors import NotClaimed
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.task import NewTask, Task, TaskError
from lifoq.tables.keyed import KeyedClaims, Slot
from lifoq.tables.store import Candidate, Store

TYPE: Final = "device.check"
LEASE: Final = 30.0
RESULT: Final = '{"done":true}'
ERROR: Final = TaskError(type="TimeoutError", message="attempt 1 took too long")
BATCH: Final = 25

Row = dict[str, Any]


class Desk:
    """Tasks of one size, in whatever state a transition begins with."""

    def __init__(self, store: Store, size: int) -> None:
        self.store = store
        self.keyed_claims = KeyedClaims(store, host=SYSTEM)
        self.new = NewTask(task_type=TYPE, payload=report(size))
        self.known = NewTask(task_type=TYPE, payload=report(size), task_id=f"known-{size}")
        self.telling = Store(store.table, lifetimes=Lifetimes(shed_at_deadline=True))

    def none(self) -> None:
        """No task is needed."""

    def waiting(self) -> Task:
        return self.store.put(self.new)

    def told(self) -> Task:
        return self.telling.put(self.new)

    def overdue(self) -> Task:
        task = self.telling.put(replace(self.new, deadline=0.001))
        time.sleep(0.002)
        return task

    def already_put(self) -> Task:
        return self.store.put(self.known)

    def taken(self) -> Task:
        return self.claim(self.waiting())

    def lost(self) -> Task:
        return self.claim(self.waiting(), lease=0.0)

    def due(self) -> Task:
        task = self.taken()
        self.store.retry(task, ERROR, delay=0.001)
        time.sleep(0.002)
        return task

    def failed(self) -> Task:
        task = self.taken()
        self.store.fail(task, ERROR)
        return task

    def claim(self, task: Task, *, lease: float = LEASE) -> Task:
        return self.store.claim(task.task_id, claim_id=f"{time.time_ns():032}", lease=lease)

    def shed(self, task: Task) -> None:
        if not self.telling.shed(task.task_id):
            raise RuntimeError(f"{task.task_id} was not shed: nothing would be counted")

    def claim_too_late(self, task: Task | Candidate) -> None:
        with contextlib.suppress(NotClaimed):
            self.claim(task) if isinstance(task, Task) else self.claim_key(task)

    def keyed(self) -> Candidate:
        """A row of a key that is free."""
        task = self.store.put(replace(self.new, key=f"d-{time.time_ns()}"))
        return Candidate(
            task_id=task.task_id,
            task_type=TYPE,
            created=task.task_created or 0,
            expires_at=task.expires_at,
            key=task.key,
        )

    def claim_key(self, row: Candidate) -> tuple[Task, Slot]:
        return self.keyed_claims.claim(row, row.key or "", per_key=1, lease=LEASE)

    def busy(self) -> Candidate:
        row = self.keyed()
        self.claim_key(row)
        other = self.store.put(replace(self.new, key=row.key))
        return replace(row, task_id=other.task_id)

    def settled(self) -> Slot:
        task, slot = self.claim_key(self.keyed())
        self.store.succeed(task, RESULT)
        return slot


@dataclass(frozen=True)
class Transition:
    name: str
    way: str
    begin: Callable[[Desk], Any]
    act: Callable[[Desk, Any], Any]
    tasks: int = 1
    """Moved by ``act``."""


TRANSITIONS: Final = (
    Transition("put", "– → PENDING", Desk.none, lambda at, _: at.store.put(at.new)),
    Transition(
        "put, in a batch",
        "– → PENDING",
        Desk.none,
        lambda at, _: at.store.put_many([at.new] * BATCH),
        tasks=BATCH,
    ),
    Transition(
        "put again under a known id",
        "refused",
        Desk.already_put,
        lambda at, _: at.store.put(at.known),
    ),
    Transition("claim", "PENDING → TAKEN", Desk.waiting, lambda at, t: at.claim(t)),
    Transition(
        "claim that comes too late", "refused", Desk.taken, lambda at, t: at.claim_too_late(t)
    ),
    Transition("claim of a key", "PENDING → TAKEN", Desk.keyed, lambda at, r: at.claim_key(r)),
    Transition(
        "claim of a key that is held", "refused", Desk.busy, lambda at, r: at.claim_too_late(r)
    ),
    Transition("leave a key's slot", "free", Desk.settled, lambda at, s: at.keyed_claims.leave(s)),
    Transition("heartbeat", "TAKEN", Desk.taken, lambda at, t: at.store.extend(t, lease=LEASE)),
    Transition(
        "checkpoint",
        "TAKEN",
        Desk.taken,
        lambda at, t: at.store.checkpoint(t, {"step": 1}, lease=LEASE),
    ),
    Transition("success", "TAKEN → SUCCESS", Desk.taken, lambda at, t: at.store.succeed(t, RESULT)),
    Transition(
        "success with a follow-up of the same size",
        "TAKEN → SUCCESS, – → PENDING",
        Desk.taken,
        lambda at, t: at.store.succeed(t, RESULT, [at.new]),
    ),
    Transition("failure", "TAKEN → FAILURE", Desk.taken, lambda at, t: at.store.fail(t, ERROR)),
    Transition(
        "retry later",
        "TAKEN → DELAYED",
        Desk.taken,
        lambda at, t: at.store.retry(t, ERROR, delay=60),
    ),
    Transition(
        "fall due", "DELAYED → PENDING", Desk.due, lambda at, t: at.store.promote(t.task_id)
    ),
    Transition(
        "retry at once",
        "TAKEN → PENDING",
        Desk.taken,
        lambda at, t: at.store.retry(t, ERROR, delay=0),
    ),
    Transition(
        "lease over",
        "TAKEN → PENDING",
        Desk.lost,
        lambda at, t: at.store.reclaim(t, max_attempts=2),
    ),
    Transition(
        "lease over, last attempt",
        "TAKEN → FAILURE",
        Desk.lost,
        lambda at, t: at.store.reclaim(t, max_attempts=1),
    ),
    Transition(
        "redrive", "FAILURE → PENDING", Desk.failed, lambda at, t: at.store.redrive(t.task_id)
    ),
    Transition(
        "cancel", "PENDING → CANCELLED", Desk.waiting, lambda at, t: at.store.cancel(t.task_id)
    ),
    Transition(
        "put, to be told at its deadline",
        "– → PENDING",
        Desk.none,
        lambda at, _: at.telling.put(at.new),
    ),
    Transition(
        "claim, before it was told", "PENDING → TAKEN", Desk.told, lambda at, t: at.claim(t)
    ),
    Transition("shed at its deadline", "PENDING → –", Desk.overdue, lambda at, t: at.shed(t)),
)


def rows(store: Store, meter: Meter, sizes: tuple[int, ...]) -> Iterator[Row]:
    """Units of each transition, per task."""
    for size in sizes:
        desk = Desk(store, size)
        for transition in TRANSITIONS:
            task = transition.begin(desk)
            with meter.reading() as found:
                transition.act(desk, task)
            sums = found.sums
            yield {
                "transition": transition.name,
                "way": transition.way,
                "payload_bytes": size,
                "write_units": sums.documented_write_units / transition.tasks,
                "write_units_as_dynamodb_local_reports": sums.write_units / transition.tasks,
            }
