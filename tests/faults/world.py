"""A queue, the processes around it, and what their tasks really did."""

import itertools
import json
import random
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from lifoq.aws.dynamo_table import DynamoTable
from lifoq.basics.host import microseconds
from lifoq.client.queue import Queue
from lifoq.errors import Fail, Retry, StoreUnavailable
from lifoq.health import sweep_note
from lifoq.items.schema import TERMINAL, Attribute, Status
from lifoq.items.task import NewTask
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.store.table_protocol import Table
from lifoq.testing.hosts import START
from lifoq.worker.handlers.backoff import Backoff
from lifoq.worker.handlers.context import Context
from lifoq.worker.handlers.outcome import Done
from lifoq.worker.handlers.registry import Registry
from lifoq.worker.known_types import Types
from lifoq.worker.processor import Processor
from lifoq.worker.run.report import ProcessUnusable, RunReport
from lifoq.worker.settings import WorkerSettings
from lifoq.worker.sweep.sweep import Sweeper, SweepReport
from tests.faults.history import Image, Write
from tests.fixtures import PastDynamo, PastMemory
from tests.simulation.keys import is_slot
from tests.virtual.machine import Machine
from tests.virtual.scheduler import Scheduler

Answer = TypeVar("Answer")

LEASE = 30.0
SETTINGS = WorkerSettings(
    window=20,
    task_timeout=60,
    lease=LEASE,
    heartbeat=10,
    in_flight=2,
    page=2,
    max_attempts=3,
    backoff=Backoff.fixed(1),
    linger=0.05,
)
SHARED = replace(SETTINGS, fair_share=True, shared_limits=True, total_in_flight=2, rate_limit=50)
"""With slots shared out among keys, and limits held over all workers."""
MOST_ROUNDS = 6
"""Sweeps after which a queue without faults must be at rest."""


class RecordingTable(MemoryTable):
    def __init__(self) -> None:
        super().__init__()
        self.writes: list[Write] = []

    def _store(self, item: Image) -> None:
        before = self.get(item[Attribute.TASK_ID])
        super()._store(item)
        self.writes.append(Write(before, self._items[item[Attribute.TASK_ID]]))


class World:
    def __init__(
        self, table: DynamoTable | MemoryTable, settings: WorkerSettings = SETTINGS
    ) -> None:
        """Others may share the table, one after the other, where each removes what it wrote."""
        self.table = table
        self.settings = settings
        self.past = PastDynamo(table) if isinstance(table, DynamoTable) else PastMemory(table)
        self.clock = Scheduler(random.Random(0), start=START)
        self._machines = itertools.count(1)
        self.run_id = uuid.uuid4().hex[:8]
        self.effects: Counter[str] = Counter()
        """The number of times that a handler began, by the task's name."""
        self.unconfirmed: set[str] = set()
        """Names of tasks whose put was never confirmed to the producer."""
        self.claimed_again = False
        """True if a task was claimed anew while the settle that gave it back was unconfirmed: that
        counts as a lost lease, though the settle was applied."""
        self.overtaken = False
        """True if a task was claimed by another while its first holder still worked."""
        self.damaged: set[str] = set()
        """Ids of items written past the library."""
        self.mended = False
        """True if the task type ``broken`` works by now."""
        self.operator = self.new_process()

    def id(self, name: str) -> str:
        return f"{self.run_id}-{name}"

    def name(self, item: Image) -> str:
        task_id: str = item[Attribute.TASK_ID]
        if task_id.startswith(self.run_id):
            return task_id.removeprefix(f"{self.run_id}-")
        name: str = json.loads(item[Attribute.PAYLOAD])["name"]
        return name

    def items(self) -> list[Image]:
        page = self.table.scan(limit=1_000)
        assert page.next is None
        return [item for item in page.rows if not is_slot(item)]

    def remove(self, items: list[Image]) -> None:
        """Remove these items, and the sweep's note, which a sweep only writes where it changes: so
        each case has the same calls."""
        self.past.remove(sweep_note.NOTE)
        for item in items:
            self.past.remove(item[Attribute.TASK_ID])

    def new_machine(self) -> Machine:
        return Machine(f"machine-{next(self._machines)}-{self.run_id}", self.clock)

    def close(self) -> None:
        """End what still runs."""
        self.clock.close()

    def new_process(self) -> "Process":
        return Process(self, self.new_machine(), self.table)

    def put(self, task_type: str, *names: str, **terms: Any) -> None:
        for name in names:
            self.operator.queue.put(task_type, {"name": name}, task_id=self.id(name), **terms)

    def put_damaged(self, name: str, **attributes: Any) -> None:
        """A PENDING task with some attributes written past the library; None: without it."""
        self.damaged.add(self.id(name))
        whole = NewTask(task_type="ok", payload={"name": name}, task_id=self.id(name))
        item = {**self.operator.store.new_item(whole), **attributes}
        self.past.write({key: value for key, value in item.items() if value is not None})

    def drive_to_rest(self) -> list[Image]:
        """Run a processor and a sweep, time after time, like the deployed queue once the faults are
        over. No task is TAKEN any more after a lease and one sweep. Returns the items at rest."""
        for _ in range(MOST_ROUNDS):
            worker = self.new_process()
            worker.work()
            items = self.items()
            if all(item["taskStatus"] in TERMINAL for item in items):
                return items
            worker.host.sleep(LEASE + 1)
            worker.sweep()
            stuck = [i for i in self.items() if i["taskStatus"] == Status.TAKEN]
            assert not stuck, f"still TAKEN after lease and sweep: {stuck}"
        raise AssertionError(f"not at rest after {MOST_ROUNDS} rounds: {items}")


class Process:
    """One process: its own host, its own view of the table, its own library objects."""

    def __init__(self, world: World, host: Machine, table: Table) -> None:
        self.world = world
        self.host = host
        self.store = Store(table, host=host)
        self.queue = Queue(self.store, host=host)

    @cached_property
    def registry(self) -> Registry:
        """Made for a process that works: many only put or look."""
        return _registry(self)

    def work(self) -> RunReport:
        try:
            return Processor(self.store, self.registry, self.world.settings, host=self.host).run()
        except ProcessUnusable as error:
            return error.report

    def sweep(self) -> SweepReport:
        sweeper = Sweeper(
            self.store,
            self.registry,
            max_attempts=self.world.settings.max_attempts,
            types=Types.of(self.registry, self.world.settings),
            host=self.host,
        )
        return sweeper.run()

    def insist(self, call: Callable[[], Answer]) -> Answer:
        """Call again until the database confirms, as a careful caller does."""
        for _ in range(20):
            try:
                return call()
            except StoreUnavailable:
                self.host.sleep(0.5)
        raise AssertionError("the database never answered")


def _registry(process: Process) -> Registry:  # noqa: C901, PLR0915  (a list, not branches)
    """Task types that show each way an attempt can go. Each reports the attempt that it was."""
    registry = Registry()
    world, host = process.world, process.host

    def task(name: str, **terms: Any) -> Callable[[Callable[[Context], Any]], None]:
        """Decorates what such a task does, which may be to return something else."""

        def register(act: Callable[[Context], Any]) -> None:
            def handle(payload: Any, context: Context) -> Any:
                host.assert_alive()
                world.effects[payload["name"]] += 1
                return act(context) or {"attempt": context.attempt}

            registry.task(name, **terms)(handle)

        return register

    task("ok")(lambda _: None)
    task("once", max_attempts=1)(lambda _: None)
    task("keyed", per_key=1)(lambda _: None)
    task("paced", rate_per_key=1.0)(lambda _: None)
    task("slow")(lambda _: host.sleep(1.5 * LEASE))

    @task("outdated")
    def outdated(context: Context) -> None:
        host.sleep(1)
        newer, task_id = {"name": "a"}, context.task_id
        process.insist(lambda: process.queue.put("ok", newer, task_id=task_id, if_exists="replace"))

    @task("flaky")
    def flaky(context: Context) -> None:
        if context.attempt == 1:
            raise RuntimeError("not yet")

    @task("impatient")
    def impatient(context: Context) -> None:
        world.claimed_again = context.attempt > 1
        if context.attempt == 1:
            raise Retry(after=0)

    @task("hopeless", max_attempts=2)
    def hopeless(_: Context) -> None:
        raise RuntimeError("never")

    @task("broken")
    def broken(_: Context) -> None:
        if not world.mended:
            raise Fail("broken")

    @task("parent")
    def parent(context: Context) -> Done:
        children = [
            NewTask(task_type="ok", payload={"name": "child"}, task_id=world.id("child")),
            NewTask(task_type="ok", payload={"name": "nameless child"}),
        ]
        return Done(result={"attempt": context.attempt}, follow_ups=children)

    @task("steps")
    def steps(context: Context) -> None:
        if context.last_checkpoint is None:
            process.insist(lambda: context.checkpoint({"done": 1}))
        process.insist(context.heartbeat)

    @task("told")
    def told(context: Context) -> None:
        world.operator.queue.cancel(context.task_id)
        while not context.cancelled:  # which the processor's heartbeat learns
            host.sleep(1)
        process.insist(context.heartbeat)

    @task("deaf")
    def deaf(context: Context) -> None:
        world.operator.queue.cancel(context.task_id)
        raise RuntimeError("not yet")

    @task("hanging", timeout=5)
    def hanging(context: Context) -> None:
        if context.attempt == 1:
            host.sleep(40)

    @task("overtaken", max_attempts=9)
    def overtaken(context: Context) -> None:
        if not world.overtaken:
            world.overtaken = True
            world.clock.time += microseconds(LEASE + 1)  # the whole process stood still
            world.operator.sweep()
            world.operator.store.claim(context.task_id, claim_id=f"{world.run_id}-2", lease=LEASE)

    return registry
