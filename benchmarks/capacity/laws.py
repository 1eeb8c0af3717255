"""Laws that find the number at a time: lifoq's, beside published ones and fixed numbers.

The published laws are written from their descriptions, with their usual numbers.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

from lifoq.worker.limits.adaptive_concurrency import AdaptiveConcurrency
from lifoq.worker.limits.load_signal import LoadSignal

EPOCH = 1_800_000_000.0


class Law(Protocol):
    def may_begin(self, now: float) -> bool: ...

    def begins(self, now: float) -> Any:
        """Return what is handed back when the attempt ends."""
        ...

    def ends(self, sample: Any, now: float) -> None: ...


class Lifoq:
    def __init__(self, most: int) -> None:
        self._law = AdaptiveConcurrency(most)

    def may_begin(self, now: float) -> bool:
        return self._law.wait(EPOCH + now) == 0

    def begins(self, now: float) -> Any:
        return self._law.begins(EPOCH + now)

    def ends(self, sample: Any, now: float) -> None:
        self._law.ends(sample, EPOCH + now, LoadSignal.DONE)


@dataclass(kw_only=True)
class Fixed:
    """A number at a time; the base of laws that move it."""

    limit: float
    most: int
    inside: int = 0

    def may_begin(self, now: float) -> bool:  # noqa: ARG002  (the protocol's)
        return self.inside < max(1, min(self.most, int(self.limit)))

    def begins(self, now: float) -> Any:
        self.inside += 1
        return now, self.inside

    def ends(self, sample: Any, now: float) -> None:
        began, inside = sample
        self.inside -= 1
        self.learn(now - began, inside, now)

    def learn(self, time: float, inside: int, now: float) -> None:
        """Move the limit."""


class Gradient2(Fixed):
    """Netflix: the long mean of times over the latest one, and room for a queue."""

    long = 0.0
    number = 0

    def learn(self, time: float, inside: int, now: float) -> None:  # noqa: ARG002
        self.number += 1
        self.long += (time - self.long) * max(1 / self.number, 2 / 601)
        if self.long > 2 * time:
            self.long *= 0.95
        if inside >= self.limit / 2:
            gradient = max(0.5, min(1.0, 1.5 * self.long / time))
            self.limit += 0.2 * (self.limit * gradient + 4 - self.limit)
            self.limit = max(1.0, min(self.most, self.limit))


class _OfWindows(Fixed):
    """Moves with the mean of a window: ten attempts, or as many as are at work."""

    least = math.inf
    number = 0
    total = 0.0

    def learn(self, time: float, inside: int, now: float) -> None:  # noqa: ARG002
        self.number, self.total = self.number + 1, self.total + time
        if self.number >= max(10, self.limit):
            mean = self.total / self.number
            self.number, self.total = 0, 0.0
            self.least = min(self.least, mean)
            self.limit = max(1.0, min(self.most, self.moved(mean)))

    def moved(self, mean: float) -> float:
        raise NotImplementedError


class Vegas(_OfWindows):
    """The queue by the least mean: up where it is short, down where it is long."""

    def moved(self, mean: float) -> float:
        queue, step = self.limit * (1 - self.least / mean), max(1.0, math.log10(self.limit))
        if queue <= step:
            return self.limit + 6 * step
        if queue < 3 * step:
            return self.limit + step
        return self.limit - step if queue > 6 * step else self.limit


class Aimd(_OfWindows):
    """One more each window; a tenth less where times are half longer than the least."""

    def moved(self, mean: float) -> float:
        return self.limit * 0.9 if mean > 1.5 * self.least else self.limit + 1


class Hill(Fixed):
    """Goes on in its direction while throughput rises by two per cent or more."""

    direction = 1
    last = 0.0
    since = 0.0
    number = 0

    def learn(self, time: float, inside: int, now: float) -> None:  # noqa: ARG002
        self.number += 1
        if self.number >= max(20, 3 * self.limit) and now > self.since:
            throughput = self.number / (now - self.since)
            self.number, self.since = 0, now
            if throughput < self.last * 1.02:
                self.direction = -self.direction
            self.last = throughput
            self.limit += self.direction * max(1, 0.1 * self.limit)
            self.limit = max(1.0, min(self.most, self.limit))
