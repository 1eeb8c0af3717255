"""A downstream in virtual time, and workers with an endless backlog that find how much it takes.

Times are in seconds; a mean service takes one. Only begins and ends of attempts are events, also
where tasks share a speed: so a trial of ten thousand attempts takes a fraction of a second.
"""

import heapq
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lifoq.worker.gates.gate import LoadSignal

EPOCH: Final = 1_800_000_000.0
RARE, LONG = 0.01, 100.0
"""The part of tasks that take long in the mixture, and how much longer these take."""
LOSS: Final = 0.02
"""The part of the whole speed that each task beyond the capacity takes away."""
LEAST_SPEED: Final = 0.02
"""The part of its speed that a downstream keeps, however much it holds."""

Times = Callable[[], float]


def times(law: str, seed: object) -> Times:
    """Draw service times with a mean of 1, by the name of their law."""
    draw = random.Random(f"{law} {seed}")
    short = 1 / (1 - RARE + RARE * LONG)
    return {
        # In exact lockstep, the same worker's attempts would be the ones that wait, each time.
        "fixed": lambda: draw.uniform(0.95, 1.05),
        "gamma": lambda: draw.gammavariate(4, 1 / 4),
        "exponential": lambda: draw.expovariate(1),
        "Weibull": lambda: draw.weibullvariate(1 / 2, 1 / 2),
        "mixture": lambda: short * (LONG if draw.random() < RARE else 1),
    }[law]


class Line:
    """``capacity`` servers, and a line in front of them."""

    def __init__(self, capacity: float) -> None:
        self.capacity = capacity
        self._free = list[float]()
        """The moments at which the servers that have work are free."""
        self._ends = list[tuple[float, int, Any]]()
        self._numbers = itertools.count()

    def speed(self, inside: int) -> float:
        """Return the work that is done in a second while so many tasks are inside."""
        return min(inside, self.capacity)

    def begins(self, now: float, service: float, task: Any) -> None:
        free, start = self._free, now
        while free and free[0] <= now:
            heapq.heappop(free)
        while len(free) >= self.capacity:
            start = heapq.heappop(free)
        heapq.heappush(free, start + service)
        heapq.heappush(self._ends, (start + service, next(self._numbers), task))

    def next_end(self, now: float) -> float:  # noqa: ARG002  (where speed is shared)
        return self._ends[0][0] if self._ends else math.inf

    def ends(self, now: float) -> Any:  # noqa: ARG002
        return heapq.heappop(self._ends)[2]


class Shared:
    """Each task gets the same part of a speed that grows up to ``capacity`` tasks, and no more.

    Its clock shows the service that every task has had that is inside from the first moment on: a
    task ends when the clock shows its service more than at its begin."""

    def __init__(self, capacity: float) -> None:
        self.capacity = capacity
        self._clock, self._seen = 0.0, 0.0
        self._ends = list[tuple[float, int, Any]]()
        self._numbers = itertools.count()

    def speed(self, inside: int) -> float:
        return min(inside, self.capacity)

    def begins(self, now: float, service: float, task: Any) -> None:
        self._pass_to(now)
        heapq.heappush(self._ends, (self._clock + service, next(self._numbers), task))

    def next_end(self, now: float) -> float:
        if not self._ends:
            return math.inf
        self._pass_to(now)
        return now + (self._ends[0][0] - self._clock) / self._each

    def ends(self, now: float) -> Any:
        self._pass_to(now)
        self._clock, _, task = heapq.heappop(self._ends)
        return task

    @property
    def _each(self) -> float:
        return self.speed(len(self._ends)) / len(self._ends)

    def _pass_to(self, now: float) -> None:
        if self._ends:
            self._clock += (now - self._seen) * self._each
        self._seen = now


class Degrading(Shared):
    """A shared speed of which each task beyond the capacity takes away a part."""

    def speed(self, inside: int) -> float:
        lost = LOSS * max(0.0, inside - self.capacity)
        return super().speed(inside) * max(LEAST_SPEED, 1 - lost)


KINDS: Final[dict[str, type[Line | Shared]]] = {
    "line": Line,
    "shared": Shared,
    "degrading": Degrading,
}


@dataclass(kw_only=True)
class Window:
    """The sums over a part of the time. Work counts as it is done, not when a task ends: so
    luck in the sizes of tasks makes no difference."""

    seconds: float = 0.0
    work: float = 0.0
    inside: float = 0.0
    """Tasks inside, times the seconds that they were."""

    def __add__(self, other: "Window") -> "Window":
        return Window(
            seconds=self.seconds + other.seconds,
            work=self.work + other.work,
            inside=self.inside + other.inside,
        )

    @property
    def throughput(self) -> float:
        return self.work / self.seconds

    @property
    def time(self) -> float:
        """The mean time in the downstream, by Little's law."""
        return self.inside / self.work


class Backlog:
    """Workers in front of a downstream, each with an endless backlog: it fills each slot that its
    law gives it."""

    def __init__(self, downstream: Any, service: Times, laws: Sequence[Any]) -> None:
        self.downstream = downstream
        self.laws = laws
        self.now = EPOCH
        self._service = service
        self._window = Window()
        self._inside = 0
        self._due = [EPOCH] * len(laws)
        """When each worker may start one more, if none ends before."""

    def passes(self, seconds: float) -> Window:
        """Let time pass, and return what was done in it."""
        self._window = Window()
        until = self.now + seconds
        while True:
            now = self.now
            for worker, due in enumerate(self._due):
                if due <= now:
                    self._fill(worker)
            end = self.downstream.next_end(now)
            following = min(end, *self._due, until)
            self._pass_to(max(now, following))
            if following == until:
                return self._window
            if following == end:
                self._end()

    def _pass_to(self, now: float) -> None:
        passed, window = now - self.now, self._window
        window.seconds += passed
        window.work += passed * self.downstream.speed(self._inside)
        window.inside += passed * self._inside
        self.now = now

    def _fill(self, worker: int) -> None:
        law, now = self.laws[worker], self.now
        while (wait := law.wait(now)) == 0:
            sample = law.begins(now)
            self._inside += 1
            self.downstream.begins(now, self._service(), (worker, sample))
        self._due[worker] = now + wait

    def _end(self) -> None:
        worker, sample = self.downstream.ends(self.now)
        self._inside -= 1
        self.laws[worker].ends(sample, self.now, LoadSignal.DONE)
        self._due[worker] = self.now
