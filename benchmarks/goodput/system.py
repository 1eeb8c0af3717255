"""A queue, its processor and its clients, from end to end in virtual time."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from benchmarks.goodput.load import Arrival
from benchmarks.goodput.policies import Policy
from lab.virtual import START, Over, VirtualHost
from lifoq import NewTask, Processor, Registry, Status, WorkerSettings
from lifoq.basics.host import MICROSECONDS
from lifoq.items.change import Change, Item
from lifoq.items.lifetimes import LONGEST_LEASE, Lifetimes
from lifoq.items.schema import Attribute
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store

UNIT: Final = 1_000 * MICROSECONDS
"""Of time, one mean service, in virtual microseconds. So long that what the queue takes
a second for (polls of an empty queue) is a thousandth of it."""
FOREVER: Final = 10.0 * 365 * 86_400
"""Seconds; for deadlines and leases that are never reached."""
LEASE: Final = LONGEST_LEASE
"""Seconds, 86 mean service times: nearly no task needs a heartbeat."""
WINDOW: Final = 200.0
"""Of a processor's run, in mean service times."""
TYPE: Final = "request"


@dataclass(frozen=True, kw_only=True)
class Started:
    """What the table tells when a task is claimed; times in mean service times from the start."""

    task_id: str
    arrived: float
    started: float
    service: float

    @property
    def wait(self) -> float:
        return self.started - self.arrived


class _WatchedTable(MemoryTable):
    """Tells of every claim."""

    def __init__(self, on_claim: Callable[[Item], None]) -> None:
        super().__init__()
        self._on_claim = on_claim

    def update_and_get(self, task_id: str, change: Change) -> Item:
        item = super().update_and_get(task_id, change)
        if change.set.get(Attribute.TASK_STATUS) == Status.TAKEN:
            self._on_claim(item)
        return item


class System:
    """One queue with ``slots`` servers; clients call ``offer`` in what they schedule by ``at``."""

    def __init__(
        self,
        policy: Policy,
        *,
        on_start: Callable[[Started], None],
        slots: int = 1,
        window: float = WINDOW,
    ) -> None:
        self._on_start = on_start
        self._room = policy.room
        self._kicked = False
        self._host = VirtualHost()
        self._table = _WatchedTable(self._claimed)
        self._store = Store(
            self._table,
            lifetimes=Lifetimes(deadline=_seconds(policy.deadline), success_retention=1),
            host=self._host,
        )
        registry = Registry()
        registry.task(TYPE)(lambda service, _context: self._host.sleep(service / MICROSECONDS))
        settings = WorkerSettings(
            window=_seconds(window),
            task_timeout=FOREVER,
            lease=LEASE,
            heartbeat=LEASE / 2,
            in_flight=slots,
            page=slots,
            adaptive_threshold=None if policy.threshold is None else _seconds(policy.threshold),
        )
        self._processor = Processor(self._store, registry, settings, host=self._host)

    @property
    def now(self) -> float:
        return _units(self._host.time)

    def at(self, moment: float, action: Callable[[], None]) -> None:
        self._host.at(START + round(moment * UNIT), action)

    def feed(self, arrivals: Iterator[Arrival], arrive: Callable[[Arrival], object]) -> None:
        """Have ``arrive`` called with each arrival, at its moment."""

        def come(arrival: Arrival) -> None:
            arrive(arrival)
            self.feed(arrivals, arrive)

        following = next(arrivals, None)
        if following is not None:
            self.at(following.moment, partial(come, following))

    def offer(self, service: float) -> str | None:
        """Put a task that will take ``service``; returns its id, None where there is no room."""
        if self._room is not None and self._store.count_live(cap=self._room).value >= self._room:
            return None
        task = self._store.put(NewTask(task_type=TYPE, payload=round(service * UNIT)))
        self._kicked = True
        return task.task_id

    def run(self, until: float) -> None:
        """As Lambda would, but at once: a put kicks the processor, and a run that leaves tasks
        behind is followed by another."""
        self._host.end = START + round(until * UNIT)
        with suppress(Over):
            while True:
                self._host.pass_time(self._host.end, enough=lambda: self._kicked)
                self._processor.run()
                self._table.expire(self._host.time)
                self._kicked = self._store.end_of_line(newest=True) is not None

    def _claimed(self, item: Item) -> None:
        self._on_start(
            Started(
                task_id=str(item[Attribute.TASK_ID]),
                arrived=_units(item[Attribute.ENQUEUED_AT]),
                started=_units(self._host.time),
                service=int(item[Attribute.PAYLOAD]) / UNIT,
            )
        )


def _seconds(units: float) -> float:
    return min(FOREVER, units * UNIT / MICROSECONDS)


def _units(moment: int) -> float:
    return (moment - START) / UNIT
