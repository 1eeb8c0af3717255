"""Blast radius: how much is lost while one cell does no work, and how soon it is over."""

import random
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, Final

from benchmarks.cells.order import DEADLINE, SERVICE, SLOTS, percentile
from benchmarks.cells.routing import AT_RANDOM
from benchmarks.cells.simulation import Outage, Waits, Work, simulate

CELLS: Final = (1, 2, 4, 8, 16)
LOAD: Final = 0.8
OUTAGE: Final = Outage(cell=0, begins=6 * DEADLINE, ends=12 * DEADLINE)


def outages(*, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Medians over the seeds."""
    rows = []
    for cells in CELLS:
        runs = [_run(cells, random.Random(seed)) for seed in seeds]
        medians = {name: round(median(run[name] for run in runs), 6) for name in runs[0]}
        rows.append({"cells": cells, **medians})
    return rows


def _run(cells: int, draw: random.Random) -> dict[str, float]:
    per_second = LOAD * cells * SLOTS / SERVICE
    work = Work.draw(
        draw,
        tasks=round(per_second * (OUTAGE.ends + 6 * DEADLINE)),
        per_second=per_second,
        service=SERVICE,
        deadline=DEADLINE,
    )
    chosen = AT_RANDOM.route(len(work.arrivals), cells, draw)
    waits = simulate(work, cells=chosen, slots=[SLOTS] * cells, outage=OUTAGE)

    def arrived(begin: float, end: float) -> list[int]:
        return [n for n, time in enumerate(work.arrivals) if begin <= time < end]

    # Who came in the last deadline of the outage can still be served after it.
    doomed = arrived(OUTAGE.begins, OUTAGE.ends - DEADLINE)
    after = arrived(OUTAGE.ends, OUTAGE.ends + DEADLINE)
    return {
        "shed_share": _shed(waits, doomed),
        "shed_share_in_other_cells": _shed(waits, (n for n in doomed if chosen[n] != 0)),
        "wait_p95_seconds_after": _p95(waits, (n for n in after if chosen[n] == 0)),
        "wait_p95_seconds_before": _p95(waits, arrived(OUTAGE.begins - DEADLINE, OUTAGE.begins)),
    }


def _shed(waits: Waits, tasks: Iterable[int]) -> float:
    """The share that was; 0 of nothing."""
    lost = [waits[task] is None for task in tasks]
    return sum(lost) / len(lost) if lost else 0.0


def _p95(waits: Waits, tasks: Iterable[int]) -> float:
    served = sorted(wait for task in tasks if (wait := waits[task]) is not None)
    return percentile(served, 0.95)
