"""Loads on the real processor and the real store in virtual time: units per task."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from benchmarks.cost.payload import report
from benchmarks.cost.results import Units
from benchmarks.units import Metered, item_bytes
from lab.virtual import START
from lifoq import Busy, NewTask, Processor, Registry, Sweeper, WorkerSettings
from lifoq.basics.host import MICROSECONDS
from lifoq.items.lifetimes import Lifetimes
from lifoq.store.store import Store

ANSWER: Final = 0.005
"""Seconds that a call takes."""
SLOTS: Final = 4
"""Tasks that a slow downstream takes at a time; it refuses the others."""


class Bench:
    def __init__(self, *, slots: int | None = None, deadline: float = 3_600.0) -> None:
        """``slots``: of the downstream; None: it takes no time."""
        self.table = Metered(answer=ANSWER)
        self.host = self.table.host
        self.host.end = START + 86_400 * MICROSECONDS
        self._store = Store(self.table, lifetimes=Lifetimes(deadline=deadline), host=self.host)
        self._free = slots
        registry = Registry()
        registry.task("device.check")(self._work)
        self.processor = Processor(self._store, registry, WorkerSettings(), host=self.host)
        self.sweeper = Sweeper(self._store, registry, max_attempts=5, host=self.host)

    def put(self, size: int = 100) -> None:
        self._store.put(NewTask(task_type="device.check", payload=report(size)))

    def _work(self, _payload: Any, _context: Any) -> dict[str, bool]:
        if self._free is not None:
            if not self._free:
                raise Busy("the downstream is full", after=1)
            self._free -= 1
            self.host.sleep(0.1)
            self._free += 1
        return {"done": True}


def one_at_a_time(size: int = 100) -> Bench:
    """Idle: each task wakes a processor for itself, which lingers, and ends."""
    bench = Bench()
    for _ in range(10):
        bench.put(size)
        bench.processor.run()
        bench.host.sleep(60)
    return bench


def backlog() -> Bench:
    """Saturated: a backlog, while as many tasks again arrive one by one; an empty handler."""
    bench = Bench()
    for number in range(150):
        bench.put()
        bench.host.at(START + round(number * ANSWER * MICROSECONDS), bench.put)
    bench.processor.run()
    return bench


def refusals() -> Bench:
    """A backlog on a slow downstream that has fewer slots than tasks are in flight: a refused
    attempt is a retry a second later."""
    bench, done = Bench(slots=SLOTS), 0
    for _ in range(200):
        bench.put()
    while done < 200:  # noqa: PLR2004
        done += bench.processor.run().succeeded
    return bench


def shed() -> Bench:
    """Nobody comes in time: the tasks expire, a processor and a sweep look in afterwards."""
    bench = Bench(deadline=0.5)
    for _ in range(100):
        bench.put()
    bench.host.sleep(1)
    bench.processor.run()
    bench.sweeper.run()
    return bench


LOADS: Final[Mapping[str, Callable[[], Bench]]] = {
    "one at a time": one_at_a_time,
    "one at a time, 4 KB of JSON": lambda: one_at_a_time(4_096),
    "backlog": backlog,
    "refusals": refusals,
    "shed": shed,
}


def rows() -> list[Units]:
    return [_units(name, load().table) for name, load in LOADS.items()]


def _units(name: str, table: Metered) -> Units:
    items = table.items()
    return Units(
        load=name,
        write_units=table.write_units / len(items),
        read_units=table.read_units / len(items),
        stored_bytes=sum(map(item_bytes, items)) / len(items),
    )
