"""Order where one of two types is at its limit: how new is what is taken, how much is read?"""

import random
from collections.abc import Callable
from statistics import median
from typing import Any, Final

from benchmarks.limits.world import World
from lifoq import Busy, Context, Processor, Registry, WorkerSettings

Row = dict[str, Any]

SERVICE: Final = 0.2
"""Seconds of a task."""
EVERY: Final = 0.15
"""Seconds from one new task to the next: a little slower than the limit lets them go."""
WINDOW: Final = 10.0
SLOTS: Final = 2
"""Of the type at its limit; or what its downstream takes."""
RATE: Final = SLOTS / SERVICE
"""Starts per second of the type at its limit."""
LIMITS: Final = ("none", "in_flight", "rate_limit", "Busy")
WAITING: Final = (200, 2_000, 20_000)


def order(limit: str, waiting: int) -> Row:
    """One run over a queue in which ``waiting`` tasks of the limited type wait, while others come
    in; no task of the other type does."""
    world = World()
    terms: dict[str, dict[str, Any]] = {
        "in_flight": {"in_flight": SLOTS},
        "rate_limit": {"rate_limit": RATE},
    }
    registry = Registry()
    registry.task("limited", **terms.get(limit, {}))(_handler(world, busy=limit == "Busy"))
    registry.task("idle")(lambda _payload, _context: None)
    world.fill("limited", waiting)
    world.repeat(lambda: world.queue.put("limited"), every=EVERY)
    in_flight = SLOTS if limit == "none" else WorkerSettings().in_flight
    processor = Processor(
        world.store,
        registry,
        WorkerSettings(window=WINDOW, in_flight=in_flight),
        host=world.host,
        draw=random.Random(0),
    )
    processor.run()
    table = world.table
    return {
        "limit": limit,
        "waiting": waiting,
        "starts": len(table.places),
        "newer_median": median(table.places),
        "newer_max": max(table.places),
        "rows_per_start": round(table.rows_read / len(table.places), 1),
    }


def _handler(world: World, *, busy: bool) -> Callable[[Any, Context], None]:
    inside = 0

    def work(_payload: Any, _context: Context) -> None:
        nonlocal inside
        if busy and inside >= SLOTS:
            raise Busy("no room")
        inside += 1
        world.host.sleep(SERVICE)
        inside -= 1

    return work
