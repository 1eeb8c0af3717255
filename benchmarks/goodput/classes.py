"""Head starts: two loads of two kinds of tasks, with a head start for the worthier kind, and
without. lifoq's own code, with ten slots."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from heapq import merge
from typing import Any, Final, NamedTuple

from benchmarks.goodput.queue import SERVICE, settings
from benchmarks.goodput.results import Class
from benchmarks.world import Table, World, poisson
from lifoq.items.change import Item
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import Attribute

SLOTS: Final = 10

Arrival = tuple[float, str, float]
"""Moment, kind and service."""


class Load(NamedTuple):
    arrivals: Callable[[random.Random], Iterator[Arrival]]
    ahead: str
    """The kind that gets the head start, which is the whole deadline."""
    deadline: float
    counted: tuple[float, float]
    """The begin and the end of the time in which tasks are counted that come in."""


def _spike(draw: random.Random) -> Iterator[Arrival]:
    """Yield a spike: the worthier kind asks for half of the capacity; the other kind first for a
    fifth, then for twelve times as much."""
    moments = merge(
        ((moment, "worth much") for moment in poisson(5, 320, draw)),
        ((moment, "worth little") for moment in poisson(2, 320, draw)),
        ((100 + moment, "worth little") for moment in poisson(22, 200, draw)),
    )
    return ((moment, kind, draw.expovariate(1)) for moment, kind in moments)


def _lengths(draw: random.Random) -> Iterator[Arrival]:
    """Twice what ten slots can do; a task takes 5.5 in the mean."""
    for moment in poisson(20 / 5.5, 1_600, draw):
        yield draw.choice(((moment, "last 1", 1.0), (moment, "last 10", 10.0)))


LOADS: Final = {
    "twelvefold spike": Load(_spike, "worth much", 10, (100, 300)),
    "short and long, ρ = 2": Load(_lengths, "last 1", 55, (100, 1_600)),
}


def simulate(name: str, *, head_start: bool) -> list[Class]:
    """A row for each kind of task, and one for all; in time is whatever starts before the
    deadline."""
    load, came, began = LOADS[name], Counter[str](), Counter[str]()
    deadline, (first, last) = load.deadline * SERVICE, load.counted
    table = Table()
    world = World(
        table,
        lambda payload: world.host.sleep(payload["service"] * SERVICE),
        lifetimes=Lifetimes(deadline=deadline, success_retention=1),
        settings=settings(in_flight=SLOTS),
    )

    def claimed(item: Item) -> None:
        payload = json.loads(str(item[Attribute.PAYLOAD]))
        began.update({payload["kind"]: payload["counts"], "all": payload["counts"]})

    def come(arrived: Any) -> None:
        kind, service = arrived
        counts = int(first <= world.now / SERVICE < last)
        came.update({kind: counts, "all": counts})
        ahead = deadline if head_start and kind == load.ahead else None
        payload = {"kind": kind, "service": service, "counts": counts}
        world.put(payload, head_start=ahead)

    table.on_claim = claimed
    arrivals = load.arrivals(random.Random(name))
    world.feed(((moment * SERVICE, arrived) for moment, *arrived in arrivals), come)
    world.run((last + load.deadline) * SERVICE)
    return [
        Class(load=name, tasks=kind, head_start=head_start, in_time=began[kind] / came[kind])
        for kind in came
    ]
