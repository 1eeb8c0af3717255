"""Several LIFO queues side by side under one load: who starts when, and who should have.

A small event simulation, not the queue's own code: a task starts in its cell as soon as a slot is
free there and no newer task of that cell waits; one that waited to its deadline is shed. Claims
take no time, and nothing fails.
"""

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
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


@dataclass(kw_only=True)
class Fates:
    """Of each task: its wait, None where it was shed; and of each inversion, how much newer the
    newest task was that waited in another cell. Seconds."""

    waits: list[float | None]
    newer_by: dict[int, float] = field(default_factory=dict)
    """By the number of the task that started too early."""


def simulate(
    work: Work, *, cells: Sequence[int], slots: Sequence[int], outage: Outage | None = None
) -> Fates:
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
        self._everywhere: list[int] = []
        """All that had to wait; those at the end that have started are taken off."""
        self._events: list[tuple[float, int, int]] = []
        """When which cell has how many slots more."""
        self._outage = outage
        if outage is not None:
            self._events.append((outage.ends, outage.cell, 0))
        self._fates = Fates(waits=[None] * len(work.arrivals))

    def run(self) -> Fates:
        for task, now in enumerate(self._work.arrivals):
            self._go_on_until(now)
            cell = self._cells[task]
            if self._free[cell] and not self._is_down(cell, now):
                self._start(task, now)
            else:
                self._waiting[cell].append(task)
                self._everywhere.append(task)
        self._go_on_until(NEVER)
        return self._fates

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
            self._note_inversion(task)
            self._start(task, now)

    def _start(self, task: int, now: float) -> None:
        cell = self._cells[task]
        self._free[cell] -= 1
        self._fates.waits[task] = now - self._work.arrivals[task]
        heapq.heappush(self._events, (now + self._work.services[task], cell, 1))

    def _note_inversion(self, task: int) -> None:
        """Whether a newer task waits: in another cell then, since in its own this is the newest."""
        everywhere = self._everywhere
        while everywhere and self._fates.waits[everywhere[-1]] is not None:
            everywhere.pop()
        if everywhere and everywhere[-1] > task:
            arrivals = self._work.arrivals
            self._fates.newer_by[task] = arrivals[everywhere[-1]] - arrivals[task]

    def _is_down(self, cell: int, now: float) -> bool:
        down = self._outage
        return down is not None and down.cell == cell and down.begins <= now < down.ends
