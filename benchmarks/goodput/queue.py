"""The queues that are compared: lifoq's own processor and store, set up differently.

Times are in mean service times, of which each lasts so long that what the queue takes a second for
(polls of an empty queue) is a thousandth of it.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from benchmarks.world import Table, World, poisson
from lifoq import WorkerSettings
from lifoq.basics.host import MICROSECONDS
from lifoq.items.change import Item
from lifoq.items.lifetimes import LONGEST_LEASE, Lifetimes
from lifoq.items.schema import Attribute

SERVICE: Final = 1_000.0
"""Seconds."""
FOREVER: Final = 10.0 * 365 * 86_400
"""Seconds; for deadlines and timeouts that are never reached."""
WINDOW: Final = 200.0
"""Of a processor's run."""
PATIENCE: Final = 10.0
"""Within which a task must start to be of use to its client."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    name: str
    threshold: float | None
    """Of the adaptive order. None: newest first, always; inf: oldest first, always."""
    deadline: float = PATIENCE
    """After which the queue drops what waits."""


NEWEST: Final = Policy(name="newest first", threshold=None)
ADAPTIVE: Final = Policy(name="adaptive", threshold=0.99 * PATIENCE)
OLDEST: Final = Policy(name="oldest first", threshold=math.inf)
OLDEST_FOR_EVER: Final = Policy(
    name="oldest first, no deadline", threshold=math.inf, deadline=math.inf
)


@dataclass(frozen=True, kw_only=True)
class Start:
    moment: float
    wait: float
    service: float


class Queue:
    """One queue with one server; ``on_start`` hears of each task that it starts."""

    def __init__(self, policy: Policy, on_start: Callable[[Start], object]) -> None:
        self._on_start = on_start
        table = Table()
        table.on_claim = self._claimed
        self._world = World(
            table,
            lambda service: self._world.host.sleep(service * SERVICE),
            lifetimes=Lifetimes(deadline=_seconds(policy.deadline), success_retention=1),
            settings=WorkerSettings(
                window=_seconds(WINDOW),
                task_timeout=FOREVER,
                lease=LONGEST_LEASE,
                heartbeat=LONGEST_LEASE / 2,
                in_flight=1,
                page=1,
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
        self._world.put(service)

    def run(self, until: float) -> None:
        self._world.run(until * SERVICE)

    def _claimed(self, item: Item) -> None:
        waited = (self._world.host.time - int(item[Attribute.ENQUEUED_AT])) / MICROSECONDS
        self._on_start(
            Start(
                moment=self.now,
                wait=waited / SERVICE,
                service=float(item[Attribute.PAYLOAD]),
            )
        )


def _seconds(services: float) -> float:
    return min(FOREVER, services * SERVICE)
