"""``python -m benchmarks.batches``: a bulk downstream, called for each task and for batches, in
virtual time."""

import random
from typing import Any, Final

import click

from benchmarks.batches.results import Goodput, Results
from benchmarks.record import recording
from benchmarks.world import Table, World, poisson
from lifoq import Lifetimes, WorkerSettings

CALL: Final = 0.05
"""Seconds that a call of the downstream takes, whatever is in it."""
EACH: Final = 0.001
"""Seconds that each task in it takes."""
CALLS: Final = 2
"""Calls at a time."""
SINGLE: Final = CALLS / (CALL + EACH)
"""Tasks a second that calls for one task can do."""
LOADS: Final = (0.1, 0.5, 1.0, 2.0, 10.0)
"""Tasks that come, as a multiple of what calls for one task can do."""
DEADLINE: Final = 5.0
ANSWER: Final = 0.005
"""Seconds that a call of the database takes."""
WARM: Final = 10.0
"""Seconds whose tasks are not counted."""
LENGTH: Final = 75.0
"""Seconds; tasks of the last DEADLINE of them are not counted: they may end later."""
WAYS: Final[dict[str, dict[str, Any]]] = {
    "one task a call": {},
    "batch=25": {"batch": 25},
    "batch=25, batch_wait=0.2": {"batch": 25, "batch_wait": 0.2},
}


@click.command()
def main() -> None:
    """Send the same tasks to the same downstream, with batches and without."""
    with recording("batches", "python -m benchmarks.batches") as found:
        found.results = Results(goodput=[trial(way, load) for load in LOADS for way in WAYS])


def trial(way: str, load: float, *, length: float = LENGTH) -> Goodput:
    put: dict[int, float] = {}
    sizes, waits, done = list[int](), list[float](), list[int]()

    def counts(number: int) -> bool:
        return WARM <= put[number] < length - DEADLINE

    def call(numbers: list[int]) -> None:
        counted = [number for number in numbers if counts(number)]
        if counted:
            sizes.append(len(numbers))
            waits.extend(world.now - put[number] for number in counted)
        world.host.sleep(CALL + EACH * len(numbers))
        done.extend(counted)

    def work(payload: Any) -> list[None] | None:
        batched = isinstance(payload, list)
        call(payload if batched else [payload])
        return [None] * len(payload) if batched else None

    def come(number: int) -> None:
        put[number] = world.now
        world.put(number)

    world = World(
        Table(answer=ANSWER),
        work,
        lifetimes=Lifetimes(deadline=DEADLINE),
        settings=WorkerSettings(window=2 * length, in_flight=CALLS, task_timeout=10),
        terms=WAYS[way],
    )
    moments = poisson(load * SINGLE, length, random.Random(f"batches {load}"))
    world.feed(((moment, number) for number, moment in enumerate(moments)), come)
    world.run(length)
    return Goodput(
        load=load,
        way=way,
        per_second=round(len(done) / (length - DEADLINE - WARM), 1),
        share=len(done) / sum(map(counts, put)),
        wait_ms=round(1000 * sum(waits) / len(waits), 1),
        size=round(sum(sizes) / len(sizes), 1),
    )


if __name__ == "__main__":
    main()
