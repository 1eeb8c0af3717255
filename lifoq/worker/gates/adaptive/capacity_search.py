"""Finds how many tasks of a type a downstream takes at a time.

The number at work follows a square wave around what is believed to be the capacity c:

    at work
      high  ......______________......______________     a little more than c
       c    - - - - - - - - - - - - - - - - - - - - -
      low   ______..............______..............     surely less than c
            |<----- a cycle ----->|

Below c, attempts take as long at the high level as at the low one; above, they wait. So a cycle's
two levels tell where c lies. ``capacity_estimate`` keeps how likely each c is by all cycles so far.
The high level is about the estimate's median and a margin; every second cycle it goes by a larger
quantile, so that a number which is too small by bad luck does not stay so. The low level, a lower
quantile, is nearer where c is known better. The margin grows as the root of the number, so of
several workers on one downstream those with less gain on those with more.

The first search grows faster, as TCP's slow start does: from two tasks at a time on, each cycle has
a single level, twice that of the last one, until times tell of a wait. From then on it grows by a
fifth at the most, unless c is likely to be larger: a downstream that does less the more it holds
stands still with half more than it can do. Later, too, a cycle has no low level where c surely lies
above the high one: there is nothing to be found below.

Cycles begin by the time of day, at whole multiples of their period, a power of two: workers that
share a downstream go up and down together without a word, and each sees the effect of all.
"""

import math
from typing import Final

from lifoq.worker.gates.adaptive.attempt_times import Cycle, Sample
from lifoq.worker.gates.adaptive.capacity_estimate import CapacityEstimate
from lifoq.worker.gates.gate import LoadSignal

FIRST: Final = 2
"""Tasks at a time at first, when nothing is known."""
LOW_QUANTILE: Final = 0.05
"""The quantile of the estimate that the low level goes by."""
HIGH_QUANTILE: Final = 0.4
"""The quantile of the estimate that the high level goes by: below the median, so that where little
is known, less is tried. What is lost by too few is made good by the margin."""
TRY_QUANTILE, TRY_MOST = 0.7, 1.5
"""The quantile that every second cycle's high level goes by, once the first search is over; and the
most that it may be, as a multiple of the others' high level."""
MARGIN: Final = 0.1
"""The part by which the high level is above its quantile."""
ROOT_MARGIN: Final = 0.2
"""A further margin, times (the root of the number - 1)."""
LEAST_HIGH: Final = 1.25
"""The least high level, on average over the cycles: with less, two at a time would never be
tried."""
NARROW, WIDE = 1.33, 2.0
"""The least and the largest ratio of the high level to the low one."""
MOST_CHANGE: Final = 2.0
"""The largest factor by which the high level grows or falls from one cycle to the next."""
GROWTH, MORE = 1.2, 0.3
"""The factor by which it grows, once the first search is over, and what is added to any growth."""
LIKELY_ENOUGH: Final = 0.25
"""The quantile of the estimate up to which it may grow faster, all the same."""
LOW_PART: Final = 0.3
"""The part of a cycle that is at the low level."""
DOWN: Final = 0.5
"""The part of a cycle's attempts beyond which overload means that the downstream is down: then one
at a time is tried until this is over. After that the histogram counts again as it was."""
GOLDEN: Final = 0.6180339887
"""The golden ratio: its multiples, taken modulo 1, round a number up evenly, in as many cycles as
its fraction says."""
ENOUGH_TIMES, ENOUGH_EACH = 10, 8
"""Attempts that are measured before the first period is set, at the least; and how many for a
variance of one of the logarithms of their times. The first to end are mostly short ones: too few of
these would show a time without a wait that is far too short."""
SHORTER, LONGER = 0.42, 1.15
"""The least and the largest ratio of the wanted period to the period, before that is changed: with
less room, times that vary widely would change it, and cut cycles short, all the time; in a cycle
that is too short, no attempt begins at the low level, since too many from before are at work."""
MEMORY, MEMORY_EACH = 60, 10
"""Attempts of which the mean time is kept, and how many more for each task at a time."""
LONGEST: Final = 2.0
"""The periods that an attempt counts for in the mean time, at the most: a downstream that stood
still for a minute does not make cycles longer."""
PERIODS, PERIODS_MORE = 2.5, 2
"""The mean times that a cycle takes, and how many more at one task at a time; for a larger number
they are divided by its root. With few at work few attempts end in a cycle, and both levels need
some. The period is the next power of two above."""


class CapacitySearch:
    """The number of tasks of one type that one worker runs at a time, as it is found. Times are in
    seconds of the epoch, by a clock that never steps back. Not thread-safe: ``Gates`` has the
    lock.

    Each event (an attempt begins, ends or hangs) and each question first lets time pass: the cycle
    that is due begins, and the last one is judged.
    """

    def __init__(self, most: int) -> None:
        """``most``: the largest number of tasks at a time."""
        self.most = most
        self._capacity = CapacityEstimate(most)
        self.has_learned = False
        """True once a cycle has told something of the capacity, in this process."""

        # Written when a cycle is judged, and by ``begin_with``.
        self._high = min(float(FIRST), most)
        """Tasks at a time at the high level, on average over the cycles."""
        self._allowed = math.inf
        """The largest high level that may be tried next."""
        self._down = False
        """True if the last cycle was mostly overload: the downstream is down."""
        self._first_search = True
        """True until the high level is where the estimate wants it for the first time."""

        # Written by each attempt that begins or ends.
        self._at_work = 0
        self._work = 0.0
        """The sum of work: tasks at work, times the seconds that they were."""
        self._seen: float | None = None
        """The moment until which time has passed, in seconds."""
        self._times = 0
        """The attempts that were measured."""
        self._mean_time = 0.0
        """The mean time of an attempt, in seconds: of all, or of the last ones."""

        # Written when a cycle begins.
        self._period: float | None = None
        """The length of a cycle, in seconds; None before enough attempts were measured."""
        self._cycles = 0
        """The cycles that were planned."""
        self._last: Cycle | None = None
        """The last cycle, until it is judged."""
        self._cycle = self._next_cycle(0)

    def begin_with(self, found: float) -> None:
        """Begin with the number that an earlier process ended with, or a part of it. It comes too
        late once something was learned."""
        if self.has_learned:
            return
        self._first_search = False
        self._high = max(min(LEAST_HIGH, self.most), min(found, self.most))
        self._capacity.believe(self._high / (1 + MARGIN))
        self._cycles = 0
        self._cycle = self._next_cycle(self._cycle.number)

    @property
    def found(self) -> float:
        """The number at a time, on average over the low and the high level."""
        return max(1.0, min(self._high, self.most))

    def limit(self, now: float) -> int:
        """Return the tasks at a time at this moment, from 1 to the most."""
        self._let_time_pass(now)
        return self._cycle.low if self._is_low(now) else self._cycle.high

    def wait(self, now: float) -> float:
        """Return the seconds until one more may start; inf until one has ended."""
        if self._at_work < self.limit(now):
            return 0.0
        if self._period is None or not self._is_low(now) or self._at_work >= self._cycle.high:
            return math.inf
        return max(1e-6, (self._cycle.number + self._cycle.low_part) * self._period - now)

    def begins(self, now: float) -> Sample:
        """Begin to measure an attempt that takes a slot."""
        self._let_time_pass(now)
        self._at_work += 1
        return self._cycle.begins(
            now, at_work=self._at_work, work=self._work, low=self._is_low(now)
        )

    def ends(self, sample: Sample, now: float, signal: LoadSignal) -> None:
        """End the measurement of an attempt that leaves its slot."""
        self._let_time_pass(now)
        self._at_work -= 1
        self._end_measurement(sample, now, signal)

    def hangs(self, sample: Sample, now: float) -> None:
        """Note that an attempt took longer than its timeout. It keeps its slot until ``ends``."""
        self._let_time_pass(now)
        self._end_measurement(sample, now, LoadSignal.OVERLOADED)

    def undo(self, sample: Sample) -> None:
        """Undo a ``begins``: the attempt was not begun after all."""
        self._at_work -= 1
        sample.cycle.forget(sample)

    # Attempts

    def _end_measurement(self, sample: Sample, now: float, signal: LoadSignal) -> None:
        """Add the attempt to its cycle. Overload of a cycle that is judged already counts in the
        present one, so that it is not missed."""
        in_time = sample.cycle.ends(sample, now, signal, work=self._work)
        if signal is LoadSignal.OVERLOADED and not in_time:
            self._cycle.overloads.append(sample.at_work)
        # A time-out tells no time; but where no period is set yet, no cycle would ever be judged.
        sets_period = signal is LoadSignal.OVERLOADED and self._period is None
        if signal is LoadSignal.DONE or (in_time and sets_period):
            self._measure(sample, now)

    def _let_time_pass(self, now: float) -> None:
        """Count the work until now, and begin and judge the cycles that are due."""
        if self._seen is not None:
            seconds, cycle = now - self._seen, self._cycle
            self._work += seconds * self._at_work
            if not self._is_low(now):
                cycle.high_time += seconds
                cycle.high_work += seconds * self._at_work
        self._seen = now
        self._move_on(now)

    def _measure(self, sample: Sample, now: float) -> None:
        """Learn the time of an attempt. Where attempts take much longer or shorter than before, a
        cycle of another length begins."""
        seconds = now - sample.began
        cycle = sample.cycle
        if sample.level is cycle.at_low or cycle.low == cycle.high:
            self._capacity.add_low_time(seconds)
        if self._period is not None:
            seconds = min(seconds, LONGEST * self._period)
        self._times += 1
        kept = min(self._times, MEMORY + MEMORY_EACH * self._high)
        self._mean_time += (seconds - self._mean_time) / kept
        periods = PERIODS + PERIODS_MORE / math.sqrt(self._high)
        wanted = max(1e-3, periods * self._mean_time)
        if self._period is None:
            enough = max(ENOUGH_TIMES, ENOUGH_EACH * cycle.at_high.variance)
            fits = self._times < enough
        else:
            fits = SHORTER * self._period < wanted < LONGER * self._period
        if not fits:
            self._period = 2.0 ** math.ceil(math.log2(wanted))
            self._begin_cycle(now)

    # Cycles

    def _is_low(self, now: float) -> bool:
        """Return True in the part of a cycle that is at the low level."""
        if self._period is None:
            return False
        return now / self._period - self._cycle.number < self._cycle.low_part

    def _move_on(self, now: float) -> None:
        """Begin the cycle that is due; judge the last one in the middle of this one, when nearly
        all of its attempts have ended."""
        if self._period is None:
            return
        if int(now // self._period) != self._cycle.number:
            self._begin_cycle(now)
        elif self._last is not None and now / self._period - self._cycle.number >= 1 / 2:
            self._judge(now)

    def _begin_cycle(self, now: float) -> None:
        self._judge(now)
        self._last = self._cycle
        self._cycle = self._next_cycle(int(now // (self._period or math.inf)))

    def _next_cycle(self, number: int) -> Cycle:
        """Plan the next cycle, of one level or of two. Levels are whole numbers: by turns the one
        below and the one above what is wanted. Between 1 and 2 there is none: there only some
        cycles have a high level, of half of their time, so that both are measured alike."""
        self._cycles += 1
        dither = self._cycles * GOLDEN % 1
        surely_less = self._capacity.quantile(LOW_QUANTILE)
        level = self._high
        if not self._first_search and self._cycles % 2 == 0:
            tried = min(self._with_margin(TRY_QUANTILE), TRY_MOST * level, self._allowed)
            level = max(level, tried)
        high = max(1, min(self.most, int(level + dither)))
        if self._first_search or surely_less >= level:
            return Cycle(number=number, high=high, low=high, low_part=0.0)
        if level < 2 <= self.most:  # noqa: PLR2004
            part = (1 - LOW_PART) * (level - 1)
            high_part = max(1 / 2, part)
            high = 2 if dither < part / high_part else 1
            return Cycle(number=number, high=high, low=1, low_part=1 - high_part)
        low = max(level / WIDE, min(level / NARROW, surely_less))
        low = max(1, min(high - 1, int(low + dither)))
        return Cycle(number=number, high=high, low=low, low_part=LOW_PART)

    def _judge(self, now: float) -> None:
        """Learn from the last cycle, unless that was done, and choose the next high level."""
        cycle, self._last = self._last, None
        if cycle is None:
            return
        cycle.close(now, usual=self._mean_time, work=self._work)
        if cycle.overloads or cycle.tells or cycle.stands_still:
            self.has_learned = True
            self._capacity.learn(cycle)
            self._allowed = self._most_after(cycle)
            self._down = cycle.overloaded > DOWN
            self._high = self._wanted()

    def _most_after(self, cycle: Cycle) -> float:
        """Return the largest high level that may be tried after a cycle."""
        if cycle.overloaded > DOWN:
            return LEAST_HIGH
        if self._down:  # it is over: back to what was known before
            return math.inf
        if cycle.stands_still:
            return cycle.high / MOST_CHANGE
        most = MOST_CHANGE * cycle.high
        if not self._first_search:
            most = max(GROWTH * cycle.high, min(most, self._capacity.quantile(LIKELY_ENOUGH)))
        return most + MORE

    def _wanted(self) -> float:
        """Return the high level that the estimate asks for, or as near to it as may be."""
        most = min(self._allowed, self.most)
        wanted = self._with_margin(HIGH_QUANTILE)
        self._first_search &= most < min(wanted, self.most)
        return max(min(LEAST_HIGH, self.most), min(max(wanted, self._high / MOST_CHANGE), most))

    def _with_margin(self, quantile: float) -> float:
        """Return the high level that goes by a quantile of the estimate."""
        wanted = self._capacity.quantile(quantile) * (1 + MARGIN)
        return wanted + ROOT_MARGIN * (math.sqrt(wanted) - 1)
