"""A queue, its processor and its clients, from end to end in virtual time."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

from lab.virtual import START, Over, VirtualHost
from lifoq import NewTask, Processor, Registry, Status, WorkerSettings
from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.items.change import Change, Item
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import Attribute
from lifoq.items.task import Task
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.store.table_protocol import Page, Span

TYPE: Final = "request"

T = TypeVar("T")


class Table(MemoryTable):
    """Answers after a while, in seconds, and tells of every claim."""

    def __init__(self, *, answer: float = 0.0) -> None:
        super().__init__()
        self.host = VirtualHost()
        self.on_claim: Callable[[Item], object] = lambda _item: None
        self._answer = answer

    def update_and_get(self, task_id: str, change: Change) -> Item:
        self._wait()
        item = super().update_and_get(task_id, change)
        if change.set.get(Attribute.TASK_STATUS) == Status.TAKEN:
            self.on_claim(item)
        return item

    def query(self, span: Span, **terms: Any) -> Page:
        self._wait()
        return super().query(span, **terms)

    def _wait(self) -> None:
        if self._answer:
            self.host.sleep(self._answer)


def poisson(rate: float, until: float, draw: random.Random) -> Iterator[float]:
    """Moments of arrivals."""
    moment = draw.expovariate(rate)
    while moment < until:
        yield moment
        moment += draw.expovariate(rate)


class World:
    """Clients call ``put`` in what they schedule by ``at`` and ``feed``. Times are in seconds from
    the start."""

    def __init__(
        self,
        table: Table,
        work: Callable[[Any], object],
        *,
        lifetimes: Lifetimes,
        settings: WorkerSettings,
        worker: Callable[..., Any] = Processor,
        terms: Mapping[str, Any] | None = None,
    ) -> None:
        """``work`` is done with each payload; it may sleep on the ``host``. ``worker``: makes what
        runs it. ``terms``: of the task type."""
        self.host = table.host
        self.store = Store(table, lifetimes=lifetimes, host=self.host)
        registry = Registry()
        registry.task(TYPE, **(terms or {}))(lambda payload, _context: work(payload))
        self._worker = worker(self.store, registry, settings, host=self.host)
        self._table = table
        self._kicked = False

    @property
    def now(self) -> float:
        return (self.host.time - START) / MICROSECONDS

    def at(self, moment: float, action: Callable[[], object]) -> None:
        self.host.at(START + microseconds(moment), action)

    def feed(self, arrivals: Iterator[tuple[float, T]], come: Callable[[T], object]) -> None:
        """Have ``come`` called with what arrives, at its moment."""
        if (following := next(arrivals, None)) is None:
            return
        moment, arrived = following

        def arrive() -> None:
            come(arrived)
            self.feed(arrivals, come)

        self.at(moment, arrive)

    def put(self, payload: Any, **terms: Any) -> Task:
        self._kicked = True
        return self.store.put(NewTask(task_type=TYPE, payload=payload, **terms))

    def run(self, until: float) -> None:
        """Run the queue as Lambda would, but at once: a put kicks the processor, and a run that
        leaves tasks behind is followed by another."""
        self.host.end = START + microseconds(until)
        with suppress(Over):
            while True:
                self.host.pass_time(self.host.end, enough=lambda: self._kicked)
                self._worker.run()
                self._table.expire(self.host.time)
                self._kicked = self.store.waits_since(newest=True) is not None
