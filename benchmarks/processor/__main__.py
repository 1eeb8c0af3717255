"""``python -m benchmarks.processor``: an empty handler, beside a bare loop of its two writes."""

import threading
from collections.abc import Sequence
from typing import Final

import click

from benchmarks.bare import Ground, Ratio, Request, contest, ground
from benchmarks.processor.results import Results
from benchmarks.processor.timeline import timeline
from benchmarks.record import recording
from lifoq import Context, Processor, Registry, Store, WorkerSettings

IN_FLIGHT: Final = (1, 4, 10, 32)
WARM_UP: Final = 800
"""Tasks, until Java has compiled what it runs."""
TIMED: Final = 200
"""Tasks of 0.4 s, on four slots."""


@click.command()
@click.option("--tasks", default=400, show_default=True, help="Tasks of one measurement.")
@click.option("--repeats", default=5, show_default=True, help="Measurements of each.")
def main(tasks: int, repeats: int) -> None:
    """Measure the processor with an empty handler beside a bare loop of its two writes."""
    with recording("processor", "python -m benchmarks.processor") as found, ground() as here:
        race(here, 4, tasks=min(WARM_UP, 2 * tasks), repeats=1)
        ratios = [race(here, in_flight, tasks=tasks, repeats=repeats) for in_flight in IN_FLIGHT]
        found.results = Results(ratios=ratios, timeline=timeline(here, tasks=TIMED))


def race(here: Ground, in_flight: int, *, tasks: int, repeats: int) -> Ratio:
    registry, waiting = Registry(), list[str]()
    registry.task("empty")(nothing)
    # As in a deployed stage, but that an empty queue is believed at once.
    settings = WorkerSettings(in_flight=in_flight, linger=0)

    def prepare(number: int) -> None:
        waiting[:] = here.fill(number)

    def work_off(number: int, store: Store = here.store) -> None:
        report = Processor(store, registry, settings).run()
        if report.succeeded != number:
            raise RuntimeError(f"{report.succeeded} of {number} tasks succeeded: {report}")

    prepare(1)
    recorded, calls = here.recorded()
    work_off(1, recorded)
    seen = [request for operation, request, *_ in calls.noted if operation == "UpdateItem"]

    def bare(_number: int) -> None:
        bare_loop(here, seen, waiting, threads=in_flight)

    what = f"{in_flight} in flight"
    return contest(what, work_off, bare, tasks=tasks, repeats=repeats, prepare=prepare)


def bare_loop(
    here: Ground, writes: Sequence[Request], task_ids: Sequence[str], *, threads: int
) -> None:
    """Claim and settle each of these tasks, as one was before, but for the key: nobody looks for a
    task, renders an expression or reads an answer."""
    left, lock = iter(task_ids), threading.Lock()

    def work() -> None:
        while True:
            with lock:
                task_id = next(left, None)
            if task_id is None:
                return
            for write in writes:
                here.client.update_item(**{**write, "Key": {"taskId": {"S": task_id}}})

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def nothing(_payload: object, _context: Context) -> None:
    pass


if __name__ == "__main__":
    main()
