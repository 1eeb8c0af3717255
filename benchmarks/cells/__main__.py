"""``python -m benchmarks.cells``: one queue's ceiling, and several queues side by side."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, Final

import click

from benchmarks.cells import ceiling, lingering, order, outages, with_queue
from benchmarks.record import recording

RATES: Final = (100, 300, 500, 1_000, 2_000, 5_000, 10_000)
"""Tasks a second."""
COMPARED: Final = 6_000
"""Tasks that the queue's own code runs, to hold the simulation to."""


@click.command()
@click.option("--tasks", default=60_000, show_default=True, help="At least, in each simulated run.")
@click.option("--repeats", default=3, show_default=True, help="Runs of each setting, by seed.")
@click.option("--processes", default=2, show_default=True, help="Simulations side by side.")
def main(tasks: int, repeats: int, processes: int) -> None:
    """Count index writes for the ceiling of one queue; simulate order, loss and outages in several
    queues; compute what each costs beside its tasks, from what the benchmark of cost found last."""
    with recording("cells", "python -m benchmarks.cells") as found:
        seeds = range(1, repeats + 1)
        simulated = {
            "inversions_by_load": order.BY_LOAD,
            "inversions_by_routing": order.BY_ROUTING,
            "served_by_deadline": order.BY_DEADLINE,
            "inversions_by_size": order.BY_SIZE,
        }
        found.results = {
            "ceiling_by_way": ceiling.ways(),
            "ceiling_by_load": [ceiling.under_overload(load) for load in (1.0, 1.5, 2.0, 3.0)],
            "cells_needed": [
                {
                    "tasks_per_second": rate,
                    "cells": ceiling.cells_for(rate, retried=0.0),
                    "cells_if_a_tenth_is_retried": ceiling.cells_for(rate, retried=0.1),
                }
                for rate in RATES
            ],
            "headroom": ceiling.HEADROOM,
            "simulated": {
                "service_seconds": order.SERVICE,
                "deadline_seconds": order.DEADLINE,
                "outage_seconds": outages.OUTAGE.ends - outages.OUTAGE.begins,
                "outage_load": outages.LOAD,
            },
            **{
                name: _simulate(settings, tasks=tasks, seeds=seeds, processes=processes)
                for name, settings in simulated.items()
            },
            "beside_the_queue": [
                with_queue.compare(setting, tasks=COMPARED, seed=1)
                for setting in with_queue.SETTINGS
            ],
            "outages": outages.outages(seeds=seeds),
            "costs_by_cells": lingering.costs(),
        }


def _simulate(
    settings: Sequence[order.Setting], *, tasks: int, seeds: Sequence[int], processes: int
) -> list[dict[str, Any]]:
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(partial(order.compare, tasks=tasks, seeds=seeds), settings))


if __name__ == "__main__":
    main()
