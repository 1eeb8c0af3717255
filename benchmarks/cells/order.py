"""What becomes of newest-first across cells, and of what is served in time."""

import random
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from benchmarks.cells.inversions import newer_by
from benchmarks.cells.routing import AT_RANDOM, ROUTINGS, Routing
from benchmarks.cells.simulation import Waits, Work, simulate

SERVICE: Final = 0.4
"""Seconds, on average."""
SLOTS: Final = 10
"""Tasks at a time in each cell: a processor as it is by default."""
DEADLINE: Final = 10.0
LOADS: Final = (0.5, 0.8, 0.95, 1.1, 1.5, 2.0, 3.0)
CELLS: Final = (2, 4, 8, 16)
DEADLINES: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
SIZES: Final = (1, 10, 100)
WARM_UP: Final = 5
COUNTED: Final = 10
"""Deadlines that pass before anything is counted, and at least so many while it is."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One comparison: cells, and one queue that is as large as all of them, under the same work."""

    cells: int = 4
    slots: int = SLOTS
    """Of each cell."""
    load: float = 0.95
    deadline: float = DEADLINE
    routing: Routing = AT_RANDOM

    @property
    def per_second(self) -> float:
        return self.load * self.cells * self.slots / SERVICE

    def tasks(self, at_least: int) -> int:
        """So many that the run is long enough."""
        needed = self.per_second * self.deadline * (WARM_UP + COUNTED)
        return max(at_least, round(needed))

    def work(self, tasks: int, draw: random.Random) -> Work:
        return Work.draw(
            draw,
            tasks=tasks,
            per_second=self.per_second,
            service=SERVICE,
            deadline=self.deadline,
        )

    def slots_by_cell(self) -> list[int]:
        if self.routing.shares is None:
            return [self.slots] * self.cells
        return [round(share * self.cells * self.slots) for share in self.routing.shares]


def compare(setting: Setting, *, tasks: int, seeds: Sequence[int]) -> dict[str, Any]:
    """Medians over the seeds. ``tasks`` at least are simulated for each."""
    tasks = setting.tasks(tasks)
    runs = [_compare_once(setting, tasks, random.Random(seed)) for seed in seeds]
    return {
        "cells": setting.cells,
        "slots_per_cell": setting.slots,
        "routing": setting.routing.name,
        "load": setting.load,
        "deadline_seconds": setting.deadline,
        **{name: round(median(run[name] for run in runs), 6) for name in runs[0]},
    }


def _compare_once(setting: Setting, tasks: int, draw: random.Random) -> dict[str, float]:
    work = setting.work(tasks, draw)
    chosen = setting.routing.route(tasks, setting.cells, draw)
    divided = simulate(work, cells=chosen, slots=setting.slots_by_cell())
    whole = simulate(work, cells=[0] * tasks, slots=[setting.cells * setting.slots])
    counted = _counted(work)
    return {
        **_inversions(work, divided, counted),
        "served_share": _served(divided, counted),
        "one_queue_served_share": _served(whole, counted),
        "busiest_cell_share": _busiest(chosen, counted),
    }


def _counted(work: Work) -> range:
    """The tasks that came after the warm-up, and so that newer ones kept coming until they started
    or were shed."""
    first = bisect(work.arrivals, WARM_UP * work.deadline)
    return range(first, bisect(work.arrivals, work.arrivals[-1] - work.deadline))


def _inversions(work: Work, waits: Waits, counted: range) -> dict[str, float]:
    started = sum(waits[task] is not None for task in counted)
    found = newer_by(work, waits)
    differences = sorted(found[task] for task in counted if task in found)
    return {
        "inversions_share": len(differences) / started,
        "newer_by_p50_seconds": percentile(differences, 0.5),
        "newer_by_p95_seconds": percentile(differences, 0.95),
    }


def _served(waits: Waits, counted: range) -> float:
    return sum(waits[task] is not None for task in counted) / len(counted)


def _busiest(chosen: Sequence[int], counted: range) -> float:
    return max(Counter(chosen[task] for task in counted).values()) / len(counted)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that ``share`` of the ``ordered`` ones do not exceed; 0 of nothing."""
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


BY_LOAD: Final = [Setting(cells=cells, load=load) for cells in CELLS for load in LOADS]
BY_ROUTING: Final = [
    Setting(routing=routing, load=load) for routing in ROUTINGS for load in (0.95, 2.0)
]
BY_DEADLINE: Final = [Setting(deadline=deadline, load=0.95) for deadline in DEADLINES]
BY_SIZE: Final = [Setting(slots=slots, load=load) for slots in SIZES for load in (0.8, 0.95, 2.0)]
