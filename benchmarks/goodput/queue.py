"""The queues that are compared: lifoq's own processor and store, set up differently.

Times are in mean service times, of which each lasts so long that what the queue takes a second for
(polls of an empty queue) is a small part of it.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.goodput.theory import PATIENCE
from benchmarks.world import Table, World, poisson
from lifoq import WorkerSettings
from lifoq.basics.host import MICROSECONDS
from lifoq.items.change import Item
from lifoq.items.lifetimes import LONGEST_LEASE, Lifetimes
from lifoq.items.schema import Attribute

SERVICE: Final = 100.0
"""Seconds."""
FOREVER: Final = 10.0 * 365 * 86_400
"""Seconds; for deadlines and timeouts that are never reached."""
WINDOW: Final = 200.0
"""Seconds for which a processor's run claims."""
LONGEST: Final = 10 * PATIENCE
"""The longest wait that a client says that it has."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    threshold: float | None = None
    """The adaptive order's threshold. None: newest first, always; inf: oldest first, always."""
    deadline: float = PATIENCE
    """The wait after which the queue drops a task."""
    told: bool = False
    """True if clients say how long they wait (exponentially long): their tasks' deadlines."""


@dataclass(frozen=True, kw_only=True)
class Start:
    moment: float
    wait: float
    service: float


class Queue:
    """One queue with one server; ``on_start`` hears of each task that it starts."""

    def __init__(self, policy: Policy, on_start: Callable[[Start], object]) -> None:
        self._on_start = on_start
        self._draw = random.Random("patience") if policy.told else None
        table = Table()
        table.on_claim = self._claimed
        self._world = World(
            table,
            lambda service: self._world.host.sleep(service * SERVICE),
            lifetimes=Lifetimes(deadline=_seconds(policy.deadline), success_retention=1),
            settings=settings(
                in_flight=1,
                adaptive_threshold=policy.threshold and _seconds(policy.threshold),
            ),
        )

    @property
    def now(self) -> float:
        return self._world.now / SERVICE

    def at(self, moment: float, action: Callable[[], object]) -> None:
        self._world.at(moment * SERVICE, action)

    def load(self, rate: float, until: float, seed: str, come: Callable[[float], object]) -> None:
        """Have ``come`` called with the service of each arrival. The same seed makes the same
        arrivals, whatever becomes of them: policies are compared on one load."""
        draw = random.Random(seed)
        moments = poisson(rate, until, draw)
        self._world.feed(((moment * SERVICE, draw.expovariate(1)) for moment in moments), come)

    def put(self, service: float) -> None:
        waits = self._draw and min(self._draw.expovariate(1 / PATIENCE), LONGEST)
        self._world.put(service, deadline=waits and waits * SERVICE)

    def run(self, until: float) -> None:
        self._world.run(until * SERVICE)

    def _claimed(self, item: Item) -> None:
        waited = (self._world.host.time - int(item[Attribute.ENQUEUED_AT])) / MICROSECONDS
        service = float(item[Attribute.PAYLOAD])
        self._on_start(Start(moment=self.now, wait=waited / SERVICE, service=service))


def settings(**more: Any) -> WorkerSettings:
    return WorkerSettings(
        window=WINDOW * SERVICE,
        task_timeout=FOREVER,
        lease=LONGEST_LEASE,
        heartbeat=LONGEST_LEASE / 2,
        **more,
    )


def _seconds(services: float) -> float:
    return min(FOREVER, services * SERVICE)
