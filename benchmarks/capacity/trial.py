"""A trial: lifoq's own processors in virtual time, in front of one downstream.

Times are in seconds; a mean service takes one.
"""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from unittest.mock import patch

from greenlet import getcurrent, greenlet

from benchmarks.capacity.downstream import KINDS, services
from benchmarks.world import Table
from lab.virtual import START, Over
from lifoq import NewTask, Processor, Registry, WorkerSettings
from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.items.lifetimes import LONGEST_LEASE, Lifetimes
from lifoq.store.store import Store

PATIENCE: Final = 10.0
"""Seconds after its put at which a task is of no use any more."""
FOREVER: Final = 10.0 * 365 * 86_400
WINDOW: Final = 60.0
BIT: Final = 5.0
"""Seconds between two looks at the limit."""
FINDS: Final = "lifoq.worker.gates.adaptive_concurrency.CapacitySearch"


@dataclass(frozen=True, kw_only=True)
class Done:
    at: float
    worker: int
    type: int
    sojourn: float
    """Seconds since the put."""
    time: float
    """Seconds in the downstream."""
    ok: bool


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A trial without its law."""

    times: str
    servers: float
    seed: str
    length: float
    kind: str = "queues"
    most: int = 256
    workers: int = 1
    types: int = 1
    load: Callable[[float], float] = lambda _now: 1.5
    """The arrivals by time, as a multiple of what the servers can do at first."""
    peak: float = 1.5
    """The most of these."""
    changes: Sequence[tuple[float, float]] = ()
    """When there are how many servers."""
    slower: Callable[[float], float] | None = None
    """The factor by which services take longer, by time."""


@dataclass(kw_only=True)
class Outcome:
    done: list[Done] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)
    """The limit found by the first worker, at each look."""


def run(setup: Setup, law: Callable[[int], Any]) -> Outcome:
    """``law``: makes what finds the limit, of the most."""
    trial = _Trial(setup, law)
    trial.run()
    return trial.outcome


class _Trial:
    def __init__(self, setup: Setup, law: Callable[[int], Any]) -> None:
        self.outcome = Outcome()
        self._setup = setup
        self._table = Table()
        self._host = self._table.host
        lifetimes = Lifetimes(deadline=PATIENCE, success_retention=1, failure_retention=1)
        self._store = Store(self._table, lifetimes=lifetimes, host=self._host)
        self._downstream = KINDS[setup.kind](self._host, setup.servers)
        self._service = services(setup.times, random.Random(f"services {setup.seed}"))
        self._idle: list[greenlet] = []
        self._laws: list[Any] = []

        def made(most: int) -> Any:
            self._laws.append(law(most))
            return self._laws[-1]

        with patch(FINDS, made):
            self._processors = [self._processor(worker) for worker in range(setup.workers)]

    def run(self) -> None:
        setup, host = self._setup, self._host
        host.end = START + microseconds(setup.length)
        for moment, servers in setup.changes:
            self._at(moment, partial(self._downstream.become, servers))
        for processor in self._processors:
            host.spawn(partial(self._work, processor), "worker")
        self._arrive(random.Random(f"arrivals {setup.seed}"), setup.peak * self._usual())
        self._look()
        with suppress(Over):
            host.pass_time(host.end, enough=lambda: False)

    def _usual(self) -> float:
        """Return what the servers can do a second."""
        return min(self._setup.servers, self._setup.most)

    @property
    def _now(self) -> float:
        return (self._host.time - START) / MICROSECONDS

    def _at(self, moment: float, action: Callable[[], object]) -> None:
        self._host.at(START + microseconds(moment), action)

    def _look(self) -> None:
        self.outcome.limits.append(self._laws[0].found)
        self._table.expire(self._host.time)
        if self._setup.slower is not None:
            self._downstream.slower = self._setup.slower(self._now)
        self._at(self._now + BIT, self._look)

    def _arrive(self, draw: random.Random, rate: float) -> None:
        if draw.random() * self._setup.peak < self._setup.load(self._now):
            name = str(draw.randrange(self._setup.types))
            self._store.put(NewTask(task_type=name, payload=[self._service(), self._now]))
            idle, self._idle = self._idle, []
            for worker in idle:
                self._host.wake(worker)
        self._at(self._now + draw.expovariate(rate), lambda: self._arrive(draw, rate))

    def _processor(self, worker: int) -> Processor:
        registry = Registry()

        def serve(payload: Any, context: Any) -> None:
            began, ok = self._now, False
            try:
                self._downstream.serve(payload[0])
                ok = True
            finally:
                self.outcome.done.append(
                    Done(
                        at=self._now,
                        worker=worker,
                        type=int(context.task_type),
                        sojourn=self._now - payload[1],
                        time=self._now - began,
                        ok=ok,
                    )
                )

        for name in range(self._setup.types):
            registry.task(str(name), adaptive_concurrency=True, max_attempts=1)(serve)
        settings = WorkerSettings(
            window=WINDOW,
            in_flight=self._setup.most,
            task_timeout=FOREVER,
            lease=LONGEST_LEASE,
            heartbeat=LONGEST_LEASE / 2,
        )
        return Processor(self._store, registry, settings, host=self._host)

    def _work(self, processor: Processor) -> None:
        """Run as Lambda would, but at once: a put wakes the worker, and a run that leaves tasks
        behind is followed by another."""
        while True:
            processor.run()
            if self._store.waits_since(newest=True) is None:
                self._idle.append(getcurrent())
                self._host.halt()
