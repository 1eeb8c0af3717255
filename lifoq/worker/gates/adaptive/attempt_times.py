"""The times of attempts, measured at two levels of concurrency in turn.

A cycle has a part in which few tasks are at work (the low level), then one with more of them (the
high level); some cycles have the high level only. An attempt belongs to the cycle and the level in
which it began, since it waits behind those that were at work by then. Times are in seconds, kept as
logarithms: so an attempt that takes a hundred times as long as the others does not outweigh them,
and a wait that is added to every attempt shows at the short ones, where it is seen best.
"""

import math
from dataclasses import dataclass, field
from typing import Final

from lifoq.worker.gates.adaptive.load_signal import LoadSignal

SHORTEST: Final = 1e-6
"""Seconds; a shorter time counts as this."""
REACHED: Final = 0.8
"""The part of the high level that must have been at work, on average over time, for a cycle to
count."""


@dataclass(kw_only=True)
class Level:
    """The times of the attempts that began at one level."""

    number: int = 0
    logs: float = 0.0
    squares: float = 0.0

    def add(self, seconds: float) -> None:
        """Add the time of one attempt, in seconds."""
        log = math.log(max(SHORTEST, seconds))
        self.number += 1
        self.logs += log
        self.squares += log * log

    @property
    def mean(self) -> float:
        """The mean of the logarithms."""
        return self.logs / self.number

    @property
    def scatter(self) -> float:
        """The sum of squared deviations from the mean."""
        return max(0.0, self.squares - self.number * self.mean**2)


@dataclass(eq=False, kw_only=True)
class Sample:
    """An attempt that is measured."""

    cycle: "Cycle"
    level: Level
    at_work: int
    began: float


@dataclass(eq=False, kw_only=True)
class Cycle:
    """One cycle of the search: the times of its attempts, at a low and at a high number at work."""

    number: int
    low: int
    """Tasks at a time in the cycle's first part."""
    high: int
    """Tasks at a time in the cycle's second part."""
    low_part: float
    """The part of the cycle that is at the low level."""
    at_low: Level = field(default_factory=Level)
    at_high: Level = field(default_factory=Level)
    overloads: list[int] = field(default_factory=list)
    """The attempts that ended in overload: for each, the number that was at work when it began."""
    begun: int = 0
    high_time: float = 0.0
    """Seconds at the high level."""
    high_work: float = 0.0
    """Tasks at work at the high level, times the seconds that they were."""
    hanging: int = 0
    """The number of attempts that were still at work when the cycle was closed."""
    _under_way: set[Sample] = field(default_factory=set)

    def begins(self, now: float, *, at_work: int, low: bool) -> Sample:
        """Begin to measure an attempt, at ``now`` (seconds), with ``at_work`` tasks at work."""
        level = self.at_low if low else self.at_high
        sample = Sample(cycle=self, level=level, at_work=at_work, began=now)
        self._under_way.add(sample)
        self.begun += 1
        return sample

    def ends(self, sample: Sample, now: float, signal: LoadSignal) -> bool:
        """Measure an attempt that has ended. Return False if the cycle was closed before."""
        if sample not in self._under_way:
            return False
        self._under_way.remove(sample)
        if signal is LoadSignal.DONE:
            sample.level.add(now - sample.began)
        elif signal is LoadSignal.OVERLOADED:
            self.overloads.append(sample.at_work)
        return True

    def forget(self, sample: Sample) -> None:
        """Forget an attempt that was not begun after all."""
        if sample in self._under_way:
            self._under_way.remove(sample)
            self.begun -= 1

    def close(self, now: float, *, usual: float) -> None:
        """Measure no more: attempts that are still at work count with their time so far and half of
        what is ``usual``. To leave them out would leave out the long ones."""
        for sample in self._under_way:
            sample.level.add(now - sample.began + usual / 2)
        self.hanging = len(self._under_way)
        self._under_way.clear()

    @property
    def levels(self) -> list[tuple[Level, float]]:
        """The levels at which attempts were measured, each with the tasks that were at work."""
        at_work = ((self.at_low, self.low), (self.at_high, self.high))
        return [(level, planned * self.reached) for level, planned in at_work if level.number]

    @property
    def overloaded(self) -> float:
        """The part of the cycle's attempts that ended in overload."""
        return min(1.0, len(self.overloads) / max(1, self.begun))

    @property
    def reached(self) -> float:
        """The part of the high level that was at work, on average over time."""
        return self.high_work / self.high_time / self.high if self.high_time > 0 else 0.0

    @property
    def tells(self) -> bool:
        """True if the times tell of the capacity: the high level was measured, and reached. Where
        it was not, something else held tasks back: a rate, keys, or an empty queue. Where most
        attempts hang, the downstream stands still, which tells nothing of its capacity."""
        return (
            self.at_high.number > 0 and 2 * self.hanging <= self.begun and self.reached >= REACHED
        )
