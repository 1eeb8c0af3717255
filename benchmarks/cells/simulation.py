"""Several LIFO queues side by side under one load: who starts when.

A small event simulation, not the queue's own code: a task starts in its cell as soon as a slot is
free there and no newer task of that cell waits; one that waited to its deadline is shed. Claims
take no time, and nothing fails.
"""

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

NEVER: Final = float("inf")


@dataclass(frozen=True, kw_only=True)
class Work:
    """What arrives, the same for every arrangement of cells that is compared. Times in seconds."""

    arrivals: Sequence[float]
    services: Sequence[float]
    deadline: float

    @classmethod
    def draw(
        cls, draw: random.Random, *, tasks: int, per_second: float, service: float, deadline: float
    ) -> "Work":
        """Poisson arrivals, exponential service times."""
        time, arrivals = 0.0, []
        for _ in range(tasks):
            time += draw.expovariate(per_second)
            arrivals.append(time)
        services = [draw.expovariate(1 / service) for _ in range(tasks)]
        return cls(arrivals=arrivals, services=services, deadline=deadline)


@dataclass(frozen=True, kw_only=True)
class Outage:
    """One cell starts nothing for a while; its tasks keep arriving."""

    cell: int
    begins: float
    ends: float


Waits = list[float | None]
"""Of each task, seconds; None where it was shed."""


def simulate(
    work: Work, *, cells: Sequence[int], slots: Sequence[int], outage: Outage | None = None
) -> Waits:
    """``cells``: the cell of each task; ``slots``: of each cell."""
    return _Simulation(work, cells, slots, outage).run()


class _Simulation:
    def __init__(
        self, work: Work, cells: Sequence[int], slots: Sequence[int], outage: Outage | None
    ) -> None:
        self._work = work
        self._cells = cells
        self._free = list(slots)
        self._waiting: list[list[int]] = [[] for _ in slots]
        """By cell; tasks are numbered as they arrive, so the last is the newest."""
        self._events: list[tuple[float, int, int]] = []
        """When which cell has how many slots more."""
        self._outage = outage
        if outage is not None:
            self._events.append((outage.ends, outage.cell, 0))
        self._waits: Waits = [None] * len(work.arrivals)

    def run(self) -> Waits:
        for task, now in enumerate(self._work.arrivals):
            self._go_on_until(now)
            cell = self._cells[task]
            if self._free[cell] and not self._is_down(cell, now):
                self._start(task, now)
            else:
                self._waiting[cell].append(task)
        self._go_on_until(NEVER)
        return self._waits

    def _go_on_until(self, now: float) -> None:
        while self._events and self._events[0][0] <= now:
            time, cell, slots = heapq.heappop(self._events)
            self._free[cell] += slots
            if not self._is_down(cell, time):
                self._fill(cell, time)

    def _fill(self, cell: int, now: float) -> None:
        waiting = self._waiting[cell]
        while waiting and self._free[cell]:
            task = waiting.pop()
            if now - self._work.arrivals[task] >= self._work.deadline:
                waiting.clear()  # all the others are older
                return
            self._start(task, now)

    def _start(self, task: int, now: float) -> None:
        cell = self._cells[task]
        self._free[cell] -= 1
        self._waits[task] = now - self._work.arrivals[task]
        heapq.heappush(self._events, (now + self._work.services[task], cell, 1))

    def _is_down(self, cell: int, now: float) -> bool:
        down = self._outage
        return down is not None and down.cell == cell and down.begins <= now < down.ends
