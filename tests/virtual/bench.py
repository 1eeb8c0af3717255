"""A queue in virtual time, whose calls take their time, and machines that work on it."""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from lifoq import (
    Context,
    NewTask,
    Processor,
    Queue,
    Registry,
    RunReport,
    Status,
    Store,
    Sweeper,
    Task,
    WorkerSettings,
)
from lifoq.basics.host import MICROSECONDS
from lifoq.items.change import Change, Item
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute
from lifoq.store.memory_table import MemoryTable
from lifoq.store.table_protocol import Cursor, Page, Span
from lifoq.testing.hosts import START
from tests.virtual.machine import Machine
from tests.virtual.scheduler import Scheduler

CALL: float = 0.005
"""Seconds that a call takes."""
SLOW: float = 25.0
"""The longest that one may take within the client's limits."""


class Table(MemoryTable):
    """Each call takes its time."""

    def __init__(self, bench: "Bench") -> None:
        super().__init__()
        self._bench = bench
        self.slow: dict[str, float] = {}
        """Number of the next calls that take very long, by name: polls, polls behind the first
        page, claims, heartbeats, and writes of a status."""
        self.fails: dict[str, Exception] = {}
        self.rows_read = 0
        self.polls = self.transactions = 0

    def _takes(self, call: str) -> None:
        if call in self.fails:
            raise self.fails[call]
        is_slow = self.slow.get(call, 0) > 0
        self.slow[call] = self.slow.get(call, 0) - is_slow
        self._bench.sleep(SLOW if is_slow else CALL)

    def update_and_get(self, task_id: str, change: Change) -> Item:
        self._takes(_call(change))
        return super().update_and_get(task_id, change)

    def update_and_put(self, *arguments: Any, **terms: Any) -> None:
        self.transactions += 1
        super().update_and_put(*arguments, **terms)

    def query(
        self, span: Span, *, newest_first: bool, limit: int, start: Cursor | None = None
    ) -> Page:
        everything = Span(index=span.index, status=span.status, first=span.first, last=span.last)
        read = super().query(everything, newest_first=newest_first, limit=limit, start=start)
        if (span.index, span.status) == (STATUS_CREATED_INDEX, Status.PENDING):
            self.polls += 1
            self.rows_read += len(read.rows)
        rows = tuple(row for row in read.rows if all(one.holds(row) for one in span.where))
        self._takes("poll" if start is None else "poll behind")
        return Page(rows=rows, next=read.next)


def _call(change: Change) -> str:
    if Attribute.CLAIM_ID in change.set:
        return "claim"
    if change.set.keys() == {Attribute.LEASE_EXPIRES}:
        return "heartbeat"
    return str(change.set.get(Attribute.TASK_STATUS, "write"))


class Bench:
    """A queue, whose workers are machines under a virtual clock."""

    def __init__(self, seed: int = 0) -> None:
        self.scheduler = Scheduler(random.Random(seed), start=START)
        self.draw = random.Random(seed)
        self._machines = itertools.count(1)
        self.table = Table(self)
        self.registry = Registry()
        self.machine = self.new_machine()
        self.queue = Queue(Store(self.table, host=self.machine), host=self.machine)
        self.begun: list[tuple[float, Any]] = []
        """When which payload's handler began; seconds from the start."""

    def new_machine(self) -> Machine:
        return Machine(f"machine-{next(self._machines)}", self.scheduler)

    def sleep(self, seconds: float) -> None:
        self.scheduler.sleep(seconds)

    @property
    def seconds(self) -> float:
        return (self.scheduler.time - START) / MICROSECONDS

    @property
    def order(self) -> list[Any]:
        """Payloads, as their handlers began."""
        return [payload for _, payload in self.begun]

    def handle(self, name: str, seconds: float = 0.0, **terms: Any) -> None:
        """A task type whose tasks take so long."""

        def work(payload: Any, _context: Context) -> None:
            self.begun.append((self.seconds, payload))
            self.sleep(seconds)

        self.registry.task(name, **terms)(work)

    def put(self, task_type: str, payload: Any = None, **terms: Any) -> str:
        return self.queue.put(task_type, payload, **terms).task_id

    def put_many(self, task_type: str, number: int) -> list[str]:
        outcomes = self.queue.put_many(
            [NewTask(task_type=task_type, payload=n) for n in range(number)]
        )
        return [outcome.task.task_id for outcome in outcomes if outcome.task]

    def task(self, task_id: str) -> Task:
        found = self.queue.get(task_id)
        assert found is not None
        return found

    def beside(self, action: Callable[[], object], *, at: float = 0.0) -> None:
        """Have it happen on another machine, so many seconds from now."""

        def happens() -> None:
            self.sleep(at)
            action()

        self.new_machine().spawn(happens, "beside")

    def processor(self, machine: Machine | None = None, **settings: Any) -> Processor:
        host = machine or self.machine
        return Processor(
            Store(self.table, host=host),
            self.registry,
            WorkerSettings(**settings),
            host=host,
            draw=self.draw,
        )

    def run(
        self, *, time_limit: float | None = None, woken_at: int | None = None, **settings: Any
    ) -> RunReport:
        return self.processor(**settings).run(time_limit=time_limit, woken_at=woken_at)

    def sweep(self) -> None:
        store = Store(self.table, host=self.machine)
        Sweeper(store, self.registry, max_attempts=5, host=self.machine).run()

    def statuses(self, task_ids: list[str]) -> Counter[str]:
        return Counter(str(self.table.get(i)[Attribute.TASK_STATUS]) for i in task_ids)
