"""``python -m benchmarks.freshness``: new tasks on top of a deep backlog, in virtual time."""

import random
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any, Final

import click

from benchmarks.freshness.barrier import PageBarrier
from benchmarks.freshness.results import Results, Waits
from benchmarks.record import recording
from benchmarks.world import Table, World
from lifoq import Lifetimes, Processor, WorkerSettings

LOADS: Final = ((1, 0.1), (4, 0.2), (10, 0.5))
"""Tasks in flight, seconds of service."""
WORKERS: Final[Mapping[str, Callable[..., Any]]] = {"lifoq": Processor, "page by page": PageBarrier}
ANSWER: Final = 0.01
"""Seconds that a call takes."""


@click.command()
@click.option("--new-tasks", default=200, show_default=True, help="Put under each load.")
def main(new_tasks: int) -> None:
    """Put new tasks on top of a backlog that never ends, and see when they start."""
    with recording("freshness", "python -m benchmarks.freshness") as found:
        waits = [
            trial(way, in_flight, service, new_tasks)
            for in_flight, service in LOADS
            for way in WORKERS
        ]
        found.results = Results(waits=waits)


def trial(way: str, in_flight: int, service: float, new_tasks: int) -> Waits:
    moments = list(_moments(random.Random(in_flight), service, new_tasks))
    end = moments[-1] + 100 * service
    put: dict[int, float] = {}
    waits: list[float] = []

    def work(number: int | None) -> None:
        if number is not None:
            waits.append(world.now - put[number])
        world.host.sleep(service)

    def come(number: int) -> None:
        put[number] = world.now
        world.put(number)

    world = World(
        Table(answer=ANSWER),
        work,
        lifetimes=Lifetimes(),
        settings=WorkerSettings(window=2 * end, in_flight=in_flight, task_timeout=10),
        worker=WORKERS[way],
    )
    for _ in range(round(1.2 * in_flight * end / service)):
        world.put(None)
    world.feed(((moment, number) for number, moment in enumerate(moments)), come)
    world.run(end)
    bound = service + 3 * ANSWER
    return Waits(
        way=way,
        load=f"{in_flight} × {1000 * service:g} ms",
        p50_ms=round(1000 * median(waits), 1),
        longest_ms=round(1000 * max(waits), 1),
        bound_ms=1000 * bound,
        within_bound=sum(wait <= bound for wait in waits),
        new_tasks=len(waits),
    )


def _moments(draw: random.Random, service: float, number: int) -> Iterator[float]:
    """Yield moments so far apart that the task before has started by then: each task is the newest
    while it waits."""
    moment = 0.0
    for _ in range(number):
        moment += service * draw.uniform(1, 2) + 6 * ANSWER
        yield moment


if __name__ == "__main__":
    main()
