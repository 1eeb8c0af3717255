"""The estimate of a downstream's capacity c: the tasks that it does at a time.

It is a histogram over a scale of logarithms, from 0.5 to beyond the most tasks at a time. With each
cycle (see ``attempt_times``) it is blurred, since c may have changed, and each bar is multiplied by
how likely the cycle's times are for that c:

    bars  │      ▂▅▇▅▂                    before the cycle: c is 6 or so
          │     ▂▃▄▅▄▃▂                   blurred
          │        ▂▅█▆▂                  times the likelihood of what the cycle measured
          └────────────────── c
            1   2   4   8   16

Why the times of a cycle tell: below c, attempts take as long at the high level as at the low one.
Above c they wait. For n at work they wait (n / c - 1) mean times, since the downstream ends c of
them in one. So for each c one can say how far apart the means of the two levels should be. A slow
drift of the times, which both levels share, tells nothing.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import Final

from lifoq.worker.limits.attempt_times import SHORTEST, Cycle

STEP: Final = 1.1
"""The ratio between two neighbours of the histogram's scale."""
LEAST: Final = 0.5
"""The lowest capacity on the scale: a downstream may be full with one task at work."""
DOUBT: Final = 0.1
"""The power of c with which the first histogram falls: a large capacity must be seen first."""
BLUR: Final = 0.08
"""The part of each bar that goes to either neighbour in a cycle."""
SURPRISE: Final = 0.05
"""The part of the histogram that is spread evenly in each cycle, for sudden changes."""
OUTLIER: Final = 0.001
"""The least factor by which a cycle makes any c less likely, against the likeliest."""
BELIEVED: Final = 0.35
"""The standard deviation of the logarithm of c around what an earlier process found."""
FREE_TIME_CHANGES: Final = 0.6
"""The usual change of the logarithm of the time without a wait from one cycle to the next."""
MISFIT: Final = 8.0
"""The misfit of a cycle that counts for half, even for the likeliest c."""
FIRST_DEGREES: Final = 3.0
"""The samples that the first guess of the times' variance counts for."""
MOST_DEGREES: Final = 150.0
"""The samples that the variance rests on at the most: so it follows times that begin to vary in
another way."""
LEAST_SCATTER: Final = 1e-4
"""The least variance that a cycle shows: no c is to be ruled out by times that happen to agree."""
LEAST_VARIANCE: Final = 0.0003
"""The least variance of a level's mean, for times that do not vary at all."""
ALONE: Final = 1.5
"""Tasks at work on average, below which overload is not blamed on their number."""
LEAST_LEFT: Final = 0.25
"""The least factor by which the overloads of one cycle make a c less likely."""
OVERLOADS_COUNT: Final = 4
"""The power of the part without overload that is this factor, where it is larger."""
ROOM_FOR: Final = 0.95
"""The part of those at work that a c must have room for, to be made less likely: the overload may
have come from the last few."""
KEPT_TIMES: Final = 60
"""Times at the low level that are kept."""
SHAPE: Final = 12
"""The number of these times that stand for all."""


class CapacityEstimate:
    """The probability of each capacity of a downstream. Its fields are written by ``believe``,
    ``add_low_time`` and ``learn`` only. Not thread-safe."""

    def __init__(self, most: int) -> None:
        """``most``: the largest number of tasks at a time."""
        bars = math.ceil(math.log(most / LEAST) / math.log(STEP)) + 1
        self._scale = [LEAST * STEP**i for i in range(bars)]
        """The capacity of each bar."""
        self._chances = _parts_of_one([capacity**-DOUBT for capacity in self._scale])
        """The probability of each bar."""
        self.variance = 1.0
        """The variance of the logarithms of times at one level."""
        self._degrees = FIRST_DEGREES
        """The number of samples that the variance rests on."""
        self._free_time: float | None = None
        """The mean logarithm of the time without a wait; None before the first comparison."""
        self._low_times = deque[float](maxlen=KEPT_TIMES)
        """Times in seconds at the low level, where no attempt waits."""

    def quantile(self, part: float) -> float:
        """Return the capacity below which so large a part of the histogram lies."""
        below = 0.0
        for chance, capacity in zip(self._chances, self._scale, strict=True):
            if below + chance >= part:
                return capacity * math.pow(STEP, (part - below) / chance - 1 / 2)
            below += chance
        return self._scale[-1]

    def believe(self, capacity: float) -> None:
        """Begin anew, near to what an earlier process found."""
        believed = math.log(capacity)
        near = [
            math.exp(-(((math.log(c) - believed) / BELIEVED) ** 2) / 2) + OUTLIER
            for c in self._scale
        ]
        self._chances = _parts_of_one(near)

    def add_low_time(self, seconds: float) -> None:
        """Keep the time of an attempt that began at the low level."""
        self._low_times.append(max(SHORTEST, seconds))

    def learn(self, cycle: Cycle) -> None:
        """Learn from a cycle in which attempts ended in overload, or whose levels can be
        compared."""
        self._blur()
        if cycle.overloads:
            self._learn_of_overload(cycle)
        if cycle.tells:
            self._compare_levels(cycle)
        self._chances = _parts_of_one(self._chances)

    def _blur(self) -> None:
        bars = self._chances
        shifted = zip([bars[0], *bars], bars, [*bars[1:], bars[-1]], strict=False)
        even = SURPRISE / len(bars)
        self._chances = [
            (1 - SURPRISE) * (BLUR * left + (1 - 2 * BLUR) * bar + BLUR * right) + even
            for left, bar, right in shifted
        ]

    def _learn_of_overload(self, cycle: Cycle) -> None:
        """Make each c less likely that would have had room for those that found none. Where a task
        that is nearly alone finds none, the downstream is down, whatever it can take else."""
        at_work = sum(cycle.overloads) / len(cycle.overloads)
        if at_work < ALONE:
            return
        factor = max(LEAST_LEFT, (1 - cycle.overloaded) ** OVERLOADS_COUNT)
        self._chances = [
            chance * (factor if capacity >= ROOM_FOR * at_work else 1)
            for chance, capacity in zip(self._chances, self._scale, strict=True)
        ]

    def _compare_levels(self, cycle: Cycle) -> None:
        """Multiply the histogram by the likelihood of the cycle's two means. For each c, the time
        without a wait is fitted to both means, and held near to what it was before; what does not
        fit makes this c less likely."""
        low, high = cycle.at_low, cycle.at_high
        self._learn_variance(cycle)
        weights = [1 / (self.variance / level.number + LEAST_VARIANCE) for level in (low, high)]
        means = [low.mean, high.mean]
        before = self._free_time
        if before is not None:
            weights.append(FREE_TIME_CHANGES**-2)
            means.append(before)
        levels = [cycle.low * cycle.reached, cycle.high * cycle.reached]
        lengthening = self._lengthening()
        fits = list[tuple[float, float]]()
        for capacity in self._scale:
            waits = [lengthening(max(0.0, level / capacity - 1)) for level in levels]
            free = [mean - wait for mean, wait in zip(means, [*waits, 0.0], strict=False)]
            fitted = sum(w * f for w, f in zip(weights, free, strict=True)) / sum(weights)
            misfit = sum(w * (f - fitted) ** 2 for w, f in zip(weights, free, strict=True))
            fits.append((misfit, fitted))
        best = min(misfit for misfit, _ in fits)
        trust = 1 / (1 + best / MISFIT)  # a cycle that fits no c at all tells little
        likely = [math.exp(-(misfit - best) * trust / 2) + OUTLIER for misfit, _ in fits]
        self._chances = [a * b for a, b in zip(self._chances, likely, strict=True)]
        frees = [chance * fitted for chance, (_, fitted) in zip(self._chances, fits, strict=True)]
        self._free_time = sum(frees) / sum(self._chances)

    def _learn_variance(self, cycle: Cycle) -> None:
        """Learn how much times vary at one level."""
        degrees = cycle.at_low.number + cycle.at_high.number - 2
        if degrees > 0:
            scatter = cycle.at_low.scatter + cycle.at_high.scatter
            seen = max(LEAST_SCATTER, scatter / degrees)
            self._degrees = min(self._degrees + degrees, MOST_DEGREES)
            self.variance += (seen - self.variance) * min(1.0, degrees / self._degrees)

    def _lengthening(self) -> Callable[[float], float]:
        """Return the function that tells by how much a wait, given in mean times, lengthens the
        mean logarithm of the times. A wait lengthens the logarithm of a short time by more than
        that of a long one, so this goes by how the times at the low level are spread."""
        times = sorted(self._low_times) or [1.0]
        mean, each = sum(times) / len(times), max(1, len(times) // SHAPE)
        parts = [mean / time for time in times[each // 2 :: each]]

        def lengthening(wait: float) -> float:
            return sum(math.log1p(wait * part) for part in parts) / len(parts)

        return lengthening


def _parts_of_one(chances: list[float]) -> list[float]:
    """Return the chances scaled so that their sum is one."""
    total = sum(chances)
    return [chance / total for chance in chances]
