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

from lifoq.worker.gates.gate import LoadSignal

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
    in_front: float = 0.0
    """The sum of the numbers at work when the attempts began, themselves among them."""
    beside: float = 0.0
    """The sum of the numbers at work on average during the attempts, themselves among them."""

    def add(self, seconds: float, *, in_front: float, beside: float) -> None:
        """Add one attempt: its time in seconds, how many were at work when it began, and how many
        on average until it ended."""
        log = math.log(max(SHORTEST, seconds))
        self.number += 1
        self.logs += log
        self.squares += log * log
        self.in_front += in_front
        self.beside += beside

    @property
    def mean(self) -> float:
        """The mean of the logarithms."""
        return self.logs / self.number

    @property
    def scatter(self) -> float:
        """The sum of squared deviations from the mean."""
        return max(0.0, self.squares - self.number * self.mean**2)

    @property
    def variance(self) -> float:
        """The variance of the logarithms; 0 of fewer than two."""
        return self.scatter / (self.number - 1) if self.number > 1 else 0.0


@dataclass(eq=False, kw_only=True)
class Sample:
    """An attempt that is measured."""

    cycle: "Cycle"
    level: Level
    at_work: int
    began: float
    work: float
    """The search's sum of work when the attempt began: tasks at work, times seconds."""

    def beside(self, now: float, work: float) -> float:
        """Return the number at work on average since the attempt began."""
        seconds = now - self.began
        return (work - self.work) / seconds if seconds > 0 else float(self.at_work)


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

    def begins(self, now: float, *, at_work: int, work: float, low: bool) -> Sample:
        """Begin to measure an attempt, at ``now`` (seconds), with ``at_work`` tasks at work."""
        level = self.at_low if low else self.at_high
        sample = Sample(cycle=self, level=level, at_work=at_work, began=now, work=work)
        self._under_way.add(sample)
        self.begun += 1
        return sample

    def ends(self, sample: Sample, now: float, signal: LoadSignal, *, work: float) -> bool:
        """Measure an attempt that has ended. Return False if the cycle was closed before."""
        if sample not in self._under_way:
            return False
        self._under_way.remove(sample)
        if signal is LoadSignal.DONE:
            beside = sample.beside(now, work)
            sample.level.add(now - sample.began, in_front=sample.at_work, beside=beside)
        elif signal is LoadSignal.OVERLOADED:
            self.overloads.append(sample.at_work)
        return True

    def forget(self, sample: Sample) -> None:
        """Forget an attempt that was not begun after all."""
        if sample in self._under_way:
            self._under_way.remove(sample)
            self.begun -= 1

    def close(self, now: float, *, usual: float, work: float) -> None:
        """Measure no more: attempts that are still at work count with their time so far and half of
        what is ``usual``. To leave them out would leave out the long ones."""
        for sample in self._under_way:
            beside = sample.beside(now, work)
            seconds = now - sample.began + usual / 2
            sample.level.add(seconds, in_front=sample.at_work, beside=beside)
        self.hanging = len(self._under_way)
        self._under_way.clear()

    @property
    def levels(self) -> list[Level]:
        """The levels at which attempts were measured."""
        return [level for level in (self.at_low, self.at_high) if level.number]

    def in_front(self) -> list[float]:
        """Return the number at work when attempts of each level began. Those that begin in one
        moment are in front of one another as if all of them had been there."""
        reached = min(1.0, self.reached)
        planned = ((self.at_low, self.low), (self.at_high, self.high))
        return [
            max(level.in_front / level.number, reached * most)
            for level, most in planned
            if level.number
        ]

    def beside(self) -> list[float]:
        """Return the number at work during the attempts of each level, on average."""
        return [level.beside / level.number for level in self.levels]

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

    @property
    def stands_still(self) -> bool:
        """True if the high level was reached, with more than one at a time, and most attempts
        hang."""
        return self.high > 1 and 2 * self.hanging > self.begun and self.reached >= REACHED
