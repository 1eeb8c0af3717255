"""How many tasks a second one queue can take: index writes, counted key by key.

All rows of an index with the same hash key share a partition as long as DynamoDB cannot split
them, and a partition takes 1,000 write units a second. The hash key is the status, so the status
that is written most is the queue's ceiling. The library's own operations run over the memory table
here, and each index row that they make, move or remove is counted where it was written.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lifoq.basics.host import SystemHost, microseconds
from lifoq.items.change import Item
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.items.task import NewTask, Task, TaskError
from lifoq.tables.memory import PROJECTIONS, SORT_KEYS, MemoryTable
from lifoq.tables.store import Store

PARTITION_WRITES: Final = 1_000
"""Write units that a partition takes in a second
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html)."""
HEADROOM: Final = 0.7
"""The share of a ceiling that one plans with: arrivals come in bursts, and not quite evenly."""
LEASE: Final = 30.0
ERROR: Final = TaskError(type="Busy", message="the downstream is busy")

Key = tuple[str, str]
"""An index and a status in it."""


class Clock(SystemHost):
    """Stands still between steps, so that leases and delays end when a step says so."""

    def __init__(self) -> None:
        super().__init__()
        self._time = super().now()

    def now(self) -> int:
        return self._time

    def advance(self, seconds: float) -> None:
        self._time += microseconds(seconds)


@dataclass(kw_only=True)
class Course:
    """One task on its way through a queue, and the index writes that it has cost."""

    clock: Clock = field(default_factory=Clock)
    table: MemoryTable = field(default_factory=MemoryTable)
    writes: Counter[Key] = field(default_factory=Counter)
    task_id: str = ""

    @property
    def store(self) -> Store:
        return Store(self.table, host=self.clock)

    def take(self, step: str) -> None:
        before = self._row()
        STEPS[step](self)
        self.writes += index_writes(before, self._row())

    def task(self) -> Task:
        return Task.from_item(self._row() or {})

    def put(self, delay: float | None = None) -> None:
        self.task_id = self.store.put(NewTask(task_type="t", delay=delay)).task_id

    def claim(self) -> None:
        self.store.claim(self.task_id, claim_id=self.clock.new_id(), lease=LEASE)

    def lose_worker(self) -> None:
        self.clock.advance(LEASE + 1)
        self.store.reclaim(self.task(), max_attempts=5)

    def fall_due(self) -> None:
        self.clock.advance(LEASE)
        self.store.promote(self.task_id)

    def _row(self) -> Item | None:
        return self.table.get(self.task_id)


STEPS: Final[dict[str, Callable[[Course], object]]] = {
    "put": Course.put,
    "put delayed": lambda course: course.put(delay=LEASE),
    "claim": Course.claim,
    "heartbeat": lambda course: course.store.extend(course.task(), lease=LEASE),
    "succeed": lambda course: course.store.succeed(course.task(), "null"),
    "retry": lambda course: course.store.retry(course.task(), ERROR, delay=LEASE),
    "fall due": Course.fall_due,
    "fail": lambda course: course.store.fail(course.task(), ERROR),
    "redrive": lambda course: course.store.redrive(course.task_id),
    "lose the worker": Course.lose_worker,
    "cancel": lambda course: course.store.cancel(course.task_id),
}

WAYS: Final[dict[str, tuple[str, ...]]] = {
    "succeeds at the first attempt": ("put", "claim", "heartbeat", "succeed"),
    "put with a delay": ("put delayed", "fall due", "claim", "succeed"),
    "fails once, backs off, succeeds": ("put", "claim", "retry", "fall due", "claim", "succeed"),
    "loses its worker once": ("put", "claim", "lose the worker", "claim", "succeed"),
    "fails for good": ("put", "claim", "fail"),
    "is redriven after that": ("put", "claim", "fail", "redrive", "claim", "succeed"),
    "is cancelled": ("put", "cancel"),
    "is shed": ("put",),
}
"""What can become of a task, step by step. TTL's own deletions cost no write units."""


def index_writes(before: Item | None, after: Item | None) -> Counter[Key]:
    """A row whose key changed is a removal there and an insertion here: two writes; one whose
    projection alone changed is one; an untouched row is none."""
    writes: Counter[Key] = Counter()
    for index in SORT_KEYS:
        old, new = _index_row(index, before), _index_row(index, after)
        if old == new:
            continue
        place_kept = old is not None and new is not None and old[:2] == new[:2]
        for row in (new,) if place_kept else (old, new):
            if row is not None:
                writes[index, str(row[0])] += 1
    return writes


def _index_row(index: str, item: Item | None) -> tuple[Any, ...] | None:
    names = (Attribute.TASK_STATUS, SORT_KEYS[index], *PROJECTIONS[index])
    if item is None or any(name not in item for name in names[:2]):
        return None
    return tuple(item.get(name) for name in names)


def writes_of(way: str) -> Counter[Key]:
    course = Course()
    for step in WAYS[way]:
        course.take(step)
    return course.writes


def ways() -> list[dict[str, Any]]:
    """Per way: index writes by key, and the tasks a second at which the busiest key is full."""
    rows = []
    for way in WAYS:
        writes = writes_of(way)
        most = max(writes.values())
        in_one = sum(n for (index, _), n in writes.items() if index == STATUS_CREATED_INDEX)
        rows.append(
            {
                "way": way,
                **{f"{status.value.lower()}_writes": _of(writes, status) for status in INDEXED},
                "busiest": sorted({status for (_, status), n in writes.items() if n == most}),
                "tasks_per_second": PARTITION_WRITES / most,
                "tasks_per_second_if_in_one_partition": PARTITION_WRITES / max(in_one, most),
            }
        )
    return rows


INDEXED: Final = (Status.PENDING, Status.TAKEN, Status.DELAYED, Status.FAILURE)


def _of(writes: Mapping[Key, float], status: Status) -> float:
    return sum(number for (_, key), number in writes.items() if key == status)


def under_overload(load: float) -> dict[str, float]:
    """What one queue takes at ``load`` tasks arriving per task served: a task that is shed was
    written into the index once, one that is served went in and out."""
    served = 1 / load if load > 1 else 1.0
    writes = served * _of(writes_of("succeeds at the first attempt"), Status.PENDING) + (
        1 - served
    ) * _of(writes_of("is shed"), Status.PENDING)
    return {
        "load": load,
        "arrivals_per_second": PARTITION_WRITES / writes,
        "served_per_second": served * PARTITION_WRITES / writes,
    }


def cells_for(tasks_per_second: float, *, retried: float) -> int:
    """How many queues; ``retried`` is the share of tasks that fail once and succeed then."""
    once, twice = (
        writes_of(way)
        for way in ("succeeds at the first attempt", "fails once, backs off, succeeds")
    )
    mixed = {key: (1 - retried) * once[key] + retried * twice[key] for key in twice}
    cells = tasks_per_second * max(mixed.values()) / (PARTITION_WRITES * HEADROOM)
    return math.ceil(round(cells, 6))  # not one more for the last bit of a float
