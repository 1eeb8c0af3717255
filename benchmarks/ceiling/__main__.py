"""``python -m benchmarks.ceiling``: index writes, counted status by status."""

from collections.abc import Callable, Mapping
from typing import Final

import click

from benchmarks.ceiling.results import Course, Results
from benchmarks.record import recording
from benchmarks.units import Metered
from lab.virtual import START
from lifoq.basics.host import MICROSECONDS
from lifoq.items.schema import STATUS_CREATED_INDEX, Status
from lifoq.items.task import NewTask, Task, TaskError
from lifoq.tables.store import Store

PARTITION_WRITES: Final = 1_000
"""Write units that a partition takes in a second
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html)."""
LEASE: Final = 30.0
ERROR: Final = TaskError(type="Busy", message="the downstream is busy")


class Way:
    """One task on its way through a queue."""

    def __init__(self) -> None:
        self.table = Metered()
        self.host = self.table.host
        self.host.end = START + 3_600 * MICROSECONDS
        self.store = Store(self.table, host=self.host)
        self.task_id = ""

    def task(self) -> Task:
        return Task.from_item(self.table.get(self.task_id) or {})

    def put(self, delay: float | None = None) -> None:
        self.task_id = self.store.put(NewTask(task_type="t", delay=delay)).task_id

    def claim(self) -> None:
        self.store.claim(self.task_id, claim_id=self.host.new_id(), lease=LEASE)

    def lose_worker(self) -> None:
        self.host.sleep(LEASE + 1)
        self.store.reclaim(self.task(), max_attempts=5)

    def fall_due(self) -> None:
        self.host.sleep(LEASE)
        self.store.promote(self.task_id)


STEPS: Final[Mapping[str, Callable[[Way], object]]] = {
    "put": Way.put,
    "put delayed": lambda way: way.put(delay=LEASE),
    "claim": Way.claim,
    "heartbeat": lambda way: way.store.extend(way.task(), lease=LEASE),
    "succeed": lambda way: way.store.succeed(way.task(), "null"),
    "retry": lambda way: way.store.retry(way.task(), ERROR, delay=LEASE),
    "fall due": Way.fall_due,
    "fail": lambda way: way.store.fail(way.task(), ERROR),
    "redrive": lambda way: way.store.redrive(way.task_id),
    "lose the worker": Way.lose_worker,
    "cancel": lambda way: way.store.cancel(way.task_id),
}
COURSES: Final[Mapping[str, tuple[str, ...]]] = {
    "succeeds at the first attempt": ("put", "claim", "heartbeat", "succeed"),
    "put with a delay": ("put delayed", "fall due", "claim", "succeed"),
    "fails once, backs off, succeeds": ("put", "claim", "retry", "fall due", "claim", "succeed"),
    "loses its worker once": ("put", "claim", "lose the worker", "claim", "succeed"),
    "fails for good": ("put", "claim", "fail"),
    "is redriven after that": ("put", "claim", "fail", "redrive", "claim", "succeed"),
    "is cancelled": ("put", "cancel"),
    "is shed": ("put",),
}
"""TTL's own deletions cost no write units."""


@click.command()
def main() -> None:
    """Take a task on each way through a queue, and count the writes of its indexes."""
    with recording("ceiling", "python -m benchmarks.ceiling") as found:
        found.results = Results(courses=[course(way) for way in COURSES])


def course(name: str) -> Course:
    way = Way()
    for step in COURSES[name]:
        STEPS[step](way)
    writes = way.table.index_writes
    most = max(writes.values())
    in_one = sum(units for (index, _), units in writes.items() if index == STATUS_CREATED_INDEX)

    def of(status: Status) -> int:
        return sum(units for (_, one), units in writes.items() if one == status)

    return Course(
        way=name,
        pending=of(Status.PENDING),
        taken=of(Status.TAKEN),
        delayed=of(Status.DELAYED),
        failure=of(Status.FAILURE),
        tasks_per_second=PARTITION_WRITES / most,
        in_one_partition=PARTITION_WRITES / max(in_one, most),
    )


if __name__ == "__main__":
    main()
