"""One key floods a queue while others ask for little, in virtual time."""

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from statistics import quantiles
from typing import Any, Final

from benchmarks.cost.rules import EMPTY_QUERY_UNITS
from lab.virtual import START, Over, VirtualHost
from lifoq import NewTask, Processor, Registry, Status, WorkerSettings
from lifoq.basics.host import MICROSECONDS
from lifoq.items import size
from lifoq.items.change import Change, Item
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store
from lifoq.tables.table import Page, Span

SLOTS: Final = 10
SERVICE: Final = 1.0
"""Seconds, of every task."""
CAPACITY: Final = SLOTS / SERVICE
"""Tasks a second."""
FLOOD: Final = 10 * CAPACITY
QUIET_KEYS: Final = 20
QUIET: Final = 0.02 * CAPACITY
"""Tasks a second of each quiet key."""
LASTS: Final = 600.0
"""Seconds of the flood, and of the quiet keys."""
PATIENCE: Final = 30.0
"""Seconds within which a quiet key's task must start to be in time."""
ANSWER: Final = 0.01
"""Seconds that a call takes."""
READ_BYTES: Final = 4096
PAYLOAD_BYTES: Final = 100


@dataclass(frozen=True, kw_only=True)
class Flood:
    fair: bool
    deadline: float
    """The queue's, in seconds: how much of the flood is there at a time."""
    adaptive_threshold: float | None = None

    def row(self) -> dict[str, Any]:
        return _Simulation(self).row()


class _Table(MemoryTable):
    """Takes its time, counts what is read, and tells of every claim."""

    def __init__(self, host: VirtualHost) -> None:
        super().__init__()
        self._host = host
        self.waits: dict[str, list[float]] = {}
        """Of each key, seconds from put to claim."""
        self.queries = self.rows = 0
        self.read_units = 0.0

    def update_and_get(self, task_id: str, change: Change) -> Item:
        self._host.sleep(ANSWER)
        item = super().update_and_get(task_id, change)
        if change.set.get(Attribute.TASK_STATUS) == Status.TAKEN:
            wait = (self._host.time - item[Attribute.ENQUEUED_AT]) / MICROSECONDS
            self.waits.setdefault(str(item[Attribute.TASK_KEY]), []).append(wait)
        return item

    def query(self, span: Span, **terms: Any) -> Page:
        self._host.sleep(ANSWER)
        page = super().query(span, **terms)
        if span.index == STATUS_CREATED_INDEX:
            self.queries += 1
            self.rows += len(page.rows)
            read = sum(map(size.of, page.rows))
            self.read_units += EMPTY_QUERY_UNITS * max(1, -(-read // READ_BYTES))
        return page


class _Simulation:
    def __init__(self, flood: Flood) -> None:
        self._flood = flood
        self._host = VirtualHost()
        self._table = _Table(self._host)
        lifetimes = Lifetimes(deadline=flood.deadline, success_retention=1)
        self._store = Store(self._table, lifetimes=lifetimes, host=self._host)
        self._put: dict[str, int] = {}
        self._kicked = False
        self._most = 0
        registry = Registry()
        registry.task("request")(lambda _payload, _context: self._host.sleep(SERVICE))
        settings = WorkerSettings(
            in_flight=SLOTS,
            fair_share=flood.fair,
            adaptive_threshold=flood.adaptive_threshold,
        )
        self._processor = Processor(self._store, registry, settings, host=self._host)
        draw = random.Random(1)
        self._feed("flood", FLOOD, draw)
        for number in range(QUIET_KEYS):
            self._feed(f"quiet-{number}", QUIET, draw)
        self._run(LASTS + PATIENCE)

    def row(self) -> dict[str, Any]:
        quiet = [key for key in self._put if key != "flood"]
        waits = [wait for key in quiet for wait in self._table.waits.get(key, ())]
        put, started = sum(self._put[key] for key in quiet), self._started
        return {
            "fair_share": self._flood.fair,
            "adaptive_threshold_seconds": self._flood.adaptive_threshold,
            "most_waiting": self._most,
            "quiet_in_time_share": sum(wait <= PATIENCE for wait in waits) / put,
            "quiet_wait_p95_seconds": quantiles(waits, n=20)[-1],
            "flood_started_per_second": len(self._table.waits["flood"]) / LASTS,
            "slots_busy_share": started * SERVICE / (SLOTS * (LASTS + PATIENCE)),
            "queries_per_task": self._table.queries / started,
            "rows_per_task": self._table.rows / started,
            "read_units_per_task": self._table.read_units / started,
            "read_units_per_second": self._table.read_units / (LASTS + PATIENCE),
        }

    @property
    def _started(self) -> int:
        return sum(map(len, self._table.waits.values()))

    def _feed(self, key: str, rate: float, draw: random.Random) -> None:
        moments = self._moments(rate, draw)

        def come() -> None:
            payload = "x" * PAYLOAD_BYTES
            self._store.put(NewTask(task_type="request", payload=payload, key=key))
            self._put[key] = self._put.get(key, 0) + 1
            self._kicked = True
            self._next(moments, come)

        self._next(moments, come)

    def _next(self, moments: Iterator[float], come: Any) -> None:
        moment = next(moments)
        if moment < LASTS:
            self._host.at(START + round(moment * MICROSECONDS), come)

    @staticmethod
    def _moments(rate: float, draw: random.Random) -> Iterator[float]:
        moment = 0.0
        while True:
            moment += draw.expovariate(rate)
            yield moment

    def _run(self, until: float) -> None:
        """As Lambda would, but at once: a run that leaves tasks behind is followed by another."""
        self._host.end = START + round(until * MICROSECONDS)
        with suppress(Over):
            while True:
                self._host.pass_time(self._host.end, enough=lambda: self._kicked)
                self._processor.run()
                self._most = max(self._most, self._store.count_live(cap=10**6).value)
                self._table.expire(self._host.time)
                self._kicked = self._store.end_of_line(newest=True) is not None
