"""One heartbeat is answered late: what becomes of the tasks beside it?"""

import random
from typing import Any, Final

from benchmarks.limits.world import CALL, World
from lifoq import Context, Processor, Registry, Status, Sweeper, WorkerSettings
from lifoq.items.change import Change
from lifoq.items.schema import Attribute

Row = dict[str, Any]

SERVICE: Final = 50.0
"""Seconds of a task; a heartbeat is sent every 10 s, and a lease holds 30 s."""
LATE: Final = (CALL, 5.0, 15.0, 25.0)
"""Seconds until that one heartbeat is answered; 25 is about the longest within the client's
limits."""
SWEEP_EVERY: Final = 1.0
"""Seconds; a stage's comes once a minute, and so finds a lease that has run out by chance."""


def heartbeats(late: float) -> Row:
    """One run over as many tasks as it has slots."""
    world, settings = World(), WorkerSettings(task_timeout=100)
    begun: list[str] = []
    registry = Registry()

    @registry.task("long")
    def long(_payload: Any, context: Context) -> None:
        begun.append(context.task_id)
        world.host.sleep(SERVICE)

    world.fill("long", settings.in_flight)
    world.table.takes = _first_heartbeat(late)
    ran_out: set[str] = set()

    def watch() -> None:
        for item in world.table.items():
            taken = item[Attribute.TASK_STATUS] == Status.TAKEN
            if taken and item[Attribute.LEASE_EXPIRES] <= world.host.time:
                ran_out.add(str(item[Attribute.TASK_ID]))
        sweeper.run()

    sweeper = Sweeper(world.store, registry, max_attempts=5, host=world.host)
    world.repeat(watch, every=SWEEP_EVERY)
    processor = Processor(world.store, registry, settings, host=world.host, draw=random.Random(0))
    while processor.run().remaining:
        world.host.sleep(SWEEP_EVERY)
    return {
        "answered_after_seconds": late,
        "leases_run_out": len(ran_out),
        "run_twice": sum(begun.count(task_id) > 1 for task_id in set(begun)),
        "seconds_until_all_are_done": round(world.seconds, 1),
    }


def _first_heartbeat(late: float) -> Any:
    struck = False

    def takes(change: Change) -> float:
        nonlocal struck
        if struck or set(change.set) != {Attribute.LEASE_EXPIRES}:
            return CALL
        struck = True
        return late

    return takes
