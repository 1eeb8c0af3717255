"""Loads on the real processor and the real store, and what became of their tasks."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.cost.meter import Meter
from benchmarks.cost.transitions import TYPE
from benchmarks.payloads import report
from lifoq.errors import Busy
from lifoq.items.schema import Status
from lifoq.items.task import NewTask
from lifoq.tables.store import Store
from lifoq.worker.context import Context
from lifoq.worker.processor import Processor
from lifoq.worker.registry import Registry
from lifoq.worker.settings import WorkerSettings
from lifoq.worker.sweep import Sweeper

IN_FLIGHT: Final = 10
SLOTS: Final = 4
"""That the slow downstream has."""
SERVICE_SECONDS: Final = 0.1
"""That it takes for one task: its capacity is 40 tasks a second."""
OVERLOAD: Final = 2.0
"""Arrivals over capacity."""
OVERLOAD_SECONDS: Final = 5.0


class Downstream:
    """Does ``slots`` pieces of work at a time, and refuses any more at once."""

    def __init__(self, *, slots: int = IN_FLIGHT, seconds: float = 0.0) -> None:
        self._slots = threading.BoundedSemaphore(slots)
        self._seconds = seconds

    def work(self, _payload: Any, _context: Context) -> Any:
        if not self._slots.acquire(blocking=False):
            raise Busy("the downstream is full", after=1)
        try:
            time.sleep(self._seconds)
        finally:
            self._slots.release()
        return {"done": True}


@dataclass(kw_only=True)
class Outcome:
    """What became of a load's tasks."""

    put: int = 0
    succeeded: int = 0
    failed: int = 0
    retried: int = 0

    @property
    def shed(self) -> int:
        """Never claimed, once the load is over."""
        return self.put - self.succeeded - self.failed


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A queue under measurement, and tasks of one size for it. ``onlooker`` sees the same table,
    and is not metered."""

    store: Store
    onlooker: Store
    meter: Meter
    size: int

    @property
    def new(self) -> NewTask:
        return NewTask(task_type=TYPE, payload=report(self.size))

    def processor(self, downstream: Downstream, in_flight: int = IN_FLIGHT) -> Processor:
        registry = Registry()
        registry.task(TYPE)(downstream.work)
        return Processor(self.store, registry, WorkerSettings(in_flight=in_flight))

    def sweep(self) -> None:
        Sweeper(self.store, Registry(), max_attempts=5).run()

    def left(self) -> int:
        """Tasks that can still be worked on."""
        delayed = self.onlooker.count(Status.DELAYED, cap=1).value
        return self.onlooker.count_live(cap=1).value + delayed

    def drain(self, processor: Processor, outcome: Outcome) -> None:
        """Run the processor as often as it takes."""
        while self.left():
            report = processor.run()
            outcome.succeeded += report.succeeded
            outcome.failed += report.failed
            outcome.retried += report.retried


def one_at_a_time(bench: Bench) -> Outcome:
    """Idle: each task wakes a processor for itself, which lingers, and ends."""
    outcome = Outcome()
    processor = bench.processor(Downstream())
    for _ in range(2):
        bench.store.put(bench.new)
        outcome.put += 1
        bench.drain(processor, outcome)
    return outcome


def backlog(bench: Bench) -> Outcome:
    """Saturated: a backlog, while as many tasks again arrive one by one; an empty handler."""
    half = 150
    bench.store.put_many([bench.new] * half)
    arrivals = threading.Thread(target=lambda: [bench.store.put(bench.new) for _ in range(half)])
    arrivals.start()
    outcome = Outcome(put=2 * half)
    bench.drain(bench.processor(Downstream()), outcome)
    arrivals.join()
    bench.drain(bench.processor(Downstream()), outcome)
    return outcome


def overload(bench: Bench) -> Outcome:
    """Saturated by a slow downstream, with as many tasks in flight as it has slots: twice its
    capacity arrives, and half of it is shed."""
    outcome = Outcome()
    pause = SERVICE_SECONDS / SLOTS / OVERLOAD
    until = time.monotonic() + OVERLOAD_SECONDS

    def arrive() -> None:
        begun = time.monotonic()
        while time.monotonic() < until:
            bench.store.put(bench.new)
            outcome.put += 1
            time.sleep(max(0.0, begun + outcome.put * pause - time.monotonic()))

    arrivals = threading.Thread(target=arrive)
    arrivals.start()
    slow = Downstream(slots=SLOTS, seconds=SERVICE_SECONDS)
    bench.drain(bench.processor(slow, in_flight=SLOTS), outcome)
    arrivals.join()
    bench.drain(bench.processor(slow, in_flight=SLOTS), outcome)
    return outcome


def refusals(bench: Bench) -> Outcome:
    """A backlog on a slow downstream that has fewer slots than tasks are in flight, and refuses
    what it has no slot for: such an attempt is a retry a second later."""
    tasks = 200
    bench.store.put_many([bench.new] * tasks)
    outcome = Outcome(put=tasks)
    bench.drain(bench.processor(Downstream(slots=SLOTS, seconds=SERVICE_SECONDS)), outcome)
    return outcome


def shed(bench: Bench) -> Outcome:
    """Nobody comes in time: the tasks expire, a processor and a sweep look in afterwards."""
    tasks = 100
    bench.store.put_many([bench.new] * tasks)
    while bench.left():
        time.sleep(0.1)
    bench.processor(Downstream()).run()
    bench.sweep()
    return Outcome(put=tasks)


Workload = Callable[[Bench], Outcome]
