"""Laws that find the number at a time: lifoq's, beside published ones and fixed numbers.

The published laws are written from their descriptions, with their usual numbers. All are used by
lifoq's own processor in the place of its own law.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lifoq.worker.gates.adaptive.capacity_search import CapacitySearch
from lifoq.worker.gates.gate import LoadSignal

FIRST: Final = 4.0


@dataclass(kw_only=True)
class Fixed:
    """A number at a time; the base of laws that move it."""

    size: float
    most: int
    inside: int = 0
    has_learned = False

    @property
    def found(self) -> float:
        return max(1, min(self.most, int(self.size)))

    def begin_with(self, found: float) -> None:
        """Begin with what another worker found: these laws know nothing of it."""

    def wait(self, now: float) -> float:  # noqa: ARG002  (the law's)
        return 0.0 if self.inside < self.found else math.inf

    def begins(self, now: float) -> Any:
        self.inside += 1
        return now, self.inside

    def undo(self, sample: Any) -> None:  # noqa: ARG002
        self.inside -= 1

    def ends(self, sample: Any, now: float, signal: LoadSignal) -> None:
        began, inside = sample
        self.inside -= 1
        if signal is LoadSignal.OVERLOADED:
            self.overloaded()
        if signal is not LoadSignal.UNTOLD:
            self.learn(now - began, inside, now)

    def hangs(self, sample: Any, now: float) -> None:  # noqa: ARG002
        self.overloaded()

    def learn(self, time: float, inside: int, now: float) -> None:
        """Move the limit after an attempt that took so long."""

    def overloaded(self) -> None:
        """Move the limit after a time-out."""


class Gradient2(Fixed):
    """Netflix: the long mean of times over the latest one, and room for a queue."""

    long = 0.0
    number = 0

    def learn(self, time: float, inside: int, now: float) -> None:  # noqa: ARG002
        self.number += 1
        self.long += (time - self.long) * max(1 / self.number, 2 / 601)
        if self.long > 2 * time:
            self.long *= 0.95
        if inside >= self.size / 2:
            gradient = max(0.5, min(1.0, 1.5 * self.long / max(1e-9, time)))
            self.size += 0.2 * (self.size * gradient + 4 - self.size)
            self.size = max(1.0, min(self.most, self.size))


class _OfWindows(Fixed):
    """Moves with the mean of a window: ten attempts, or as many as are at work."""

    least = math.inf
    number = 0
    total = 0.0

    def learn(self, time: float, inside: int, now: float) -> None:  # noqa: ARG002
        self.number, self.total = self.number + 1, self.total + time
        if self.number >= max(10, self.size):
            mean = self.total / self.number
            self.number, self.total = 0, 0.0
            self.least = min(self.least, mean)
            self.size = max(1.0, min(self.most, self.moved(mean)))

    def moved(self, mean: float) -> float:
        raise NotImplementedError


class Vegas(_OfWindows):
    """The queue by the least mean: up where it is short, down where it is long."""

    @property
    def step(self) -> float:
        return max(1.0, math.log10(self.size))

    def moved(self, mean: float) -> float:
        queue, step = self.size * (1 - self.least / mean), self.step
        if queue <= step:
            return self.size + 6 * step
        if queue < 3 * step:
            return self.size + step
        return self.size - step if queue > 6 * step else self.size

    def overloaded(self) -> None:
        self.size = max(1.0, self.size - self.step)


class Aimd(_OfWindows):
    """One more each window; a tenth less where times are half longer than the least."""

    def moved(self, mean: float) -> float:
        return self.size * 0.9 if mean > 1.5 * self.least else self.size + 1

    def overloaded(self) -> None:
        self.size = max(1.0, self.size * 0.9)


class Hill(Fixed):
    """Goes on in its direction while throughput rises by two per cent or more."""

    direction = 1
    last = 0.0
    since = 0.0
    number = 0

    def learn(self, time: float, inside: int, now: float) -> None:  # noqa: ARG002
        self.number += 1
        if self.number >= max(20, 3 * self.size) and now > self.since:
            throughput = self.number / (now - self.since)
            self.number, self.since = 0, now
            if throughput < self.last * 1.02:
                self.direction = -self.direction
            self.last = throughput
            self.size += self.direction * max(1, 0.1 * self.size)
            self.size = max(1.0, min(self.most, self.size))


LIFOQ: Final = "lifoq"
LAWS: Final[Mapping[str, Callable[[int], Any]]] = {
    LIFOQ: CapacitySearch,
    "refusals alone": lambda most: Fixed(size=most, most=most),
    "Gradient2": lambda most: Gradient2(size=FIRST, most=most),
    "Vegas": lambda most: Vegas(size=FIRST, most=most),
    "AIMD by latency": lambda most: Aimd(size=FIRST, most=most),
    "hill climbing": lambda most: Hill(size=FIRST, most=most),
}


def fixed(size: float) -> Callable[[int], Any]:
    """Return what makes a fixed number at a time."""
    return lambda most: Fixed(size=max(1.0, size), most=most)
