"""What each transition of a task costs, by payload size, on the store itself."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.cost.meter import Meter
from lifoq.errors import NotClaimed
from lifoq.store import Store
from lifoq.task import NewTask, Task, TaskError

TYPE: Final = "device.check"
LEASE: Final = 30.0
RESULT: Final = '{"done":true}'
ERROR: Final = TaskError(type="TimeoutError", message="attempt 1 took too long")
BATCH: Final = 25

Row = dict[str, Any]


def payload(size: int) -> str:
    """A JSON string of so many bytes, its quotes included."""
    return "x" * (size - 2)


class Desk:
    """Tasks of one size, in whatever state a transition begins with."""

    def __init__(self, store: Store, size: int) -> None:
        self.store = store
        self.new = NewTask(task_type=TYPE, payload=payload(size))
        self.known = NewTask(task_type=TYPE, payload=payload(size), task_id=f"known-{size}")

    def none(self) -> None:
        """No task is needed."""

    def waiting(self) -> Task:
        return self.store.put(self.new)

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

    def claim_too_late(self, task: Task) -> None:
        with contextlib.suppress(NotClaimed):
            self.claim(task)


@dataclass(frozen=True, kw_only=True)
class Transition:
    name: str
    way: str
    begin: Callable[[Desk], Any]
    act: Callable[[Desk, Any], Any]
    tasks: int = 1
    """Moved by ``act``."""


TRANSITIONS: Final = (
    Transition(
        name="put", way="– → PENDING", begin=Desk.none, act=lambda at, _: at.store.put(at.new)
    ),
    Transition(
        name="put, in a batch",
        way="– → PENDING",
        begin=Desk.none,
        act=lambda at, _: at.store.put_many([at.new] * BATCH),
        tasks=BATCH,
    ),
    Transition(
        name="put again under a known id",
        way="refused",
        begin=Desk.already_put,
        act=lambda at, _: at.store.put(at.known),
    ),
    Transition(
        name="claim", way="PENDING → TAKEN", begin=Desk.waiting, act=lambda at, t: at.claim(t)
    ),
    Transition(
        name="claim that comes too late",
        way="refused",
        begin=Desk.taken,
        act=lambda at, t: at.claim_too_late(t),
    ),
    Transition(
        name="heartbeat",
        way="TAKEN",
        begin=Desk.taken,
        act=lambda at, t: at.store.extend(t, lease=LEASE),
    ),
    Transition(
        name="checkpoint",
        way="TAKEN",
        begin=Desk.taken,
        act=lambda at, t: at.store.checkpoint(t, {"step": 1}, lease=LEASE),
    ),
    Transition(
        name="success",
        way="TAKEN → SUCCESS",
        begin=Desk.taken,
        act=lambda at, t: at.store.succeed(t, RESULT),
    ),
    Transition(
        name="success with a follow-up of the same size",
        way="TAKEN → SUCCESS, – → PENDING",
        begin=Desk.taken,
        act=lambda at, t: at.store.succeed(t, RESULT, [at.new]),
    ),
    Transition(
        name="failure",
        way="TAKEN → FAILURE",
        begin=Desk.taken,
        act=lambda at, t: at.store.fail(t, ERROR),
    ),
    Transition(
        name="retry later",
        way="TAKEN → DELAYED",
        begin=Desk.taken,
        act=lambda at, t: at.store.retry(t, ERROR, delay=60),
    ),
    Transition(
        name="fall due",
        way="DELAYED → PENDING",
        begin=Desk.due,
        act=lambda at, t: at.store.promote(t.task_id),
    ),
    Transition(
        name="retry at once",
        way="TAKEN → PENDING",
        begin=Desk.taken,
        act=lambda at, t: at.store.retry(t, ERROR, delay=0),
    ),
    Transition(
        name="lease over",
        way="TAKEN → PENDING",
        begin=Desk.lost,
        act=lambda at, t: at.store.reclaim(t, max_attempts=2),
    ),
    Transition(
        name="lease over, last attempt",
        way="TAKEN → FAILURE",
        begin=Desk.lost,
        act=lambda at, t: at.store.reclaim(t, max_attempts=1),
    ),
    Transition(
        name="redrive",
        way="FAILURE → PENDING",
        begin=Desk.failed,
        act=lambda at, t: at.store.redrive(t.task_id),
    ),
    Transition(
        name="cancel",
        way="PENDING → CANCELLED",
        begin=Desk.waiting,
        act=lambda at, t: at.store.cancel(t.task_id),
    ),
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
                "read_units": sums.documented_read_units / transition.tasks,
                "write_units_as_dynamodb_local_reports": sums.write_units / transition.tasks,
            }
