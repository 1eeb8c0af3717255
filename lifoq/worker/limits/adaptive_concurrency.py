"""Finds how many tasks of a type a downstream takes at a time.

The number at work follows a square wave around what is believed to be the capacity c:

    at work
      high  ......______________......______________     a little more than c
       c    - - - - - - - - - - - - - - - - - - - - -
      low   ______..............______..............     surely less than c
            |<----- a cycle ----->|

Below c, attempts take as long at the high level as at the low one. Above, they wait: for n at work
by (n / c - 1) mean times, since the downstream ends c of them in one. So the two levels of a cycle
tell where c lies between them, and a slow drift of the times, which both share, tells nothing.

What is known of c is a histogram over a scale of logarithms. With each cycle it is blurred, since c
may have changed, and multiplied by how likely the cycle's times are for each c. The high level is
the histogram's median and a margin; the low level, its lower quantile, is nearer where c is known
better. The margin grows as the root of the number, so of several workers on one downstream those
with less gain on those with more.

Cycles begin by the time of day, at whole multiples of their period, a power of two: workers that
share a downstream go up and down together without a word, and each sees the effect of all.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import Final

from lifoq.worker.limits.attempt_times import SHORTEST, Cycle, Sample
from lifoq.worker.limits.load_signal import LoadSignal

STEP: Final = 1.1
"""The ratio between two neighbours of the histogram's scale."""
LEAST: Final = 0.5
"""The lowest capacity on the scale: a downstream may be full with one task at work."""
FIRST: Final = 2
"""Tasks at a time at first, when nothing is known."""
DOUBT: Final = 0.1
"""The power of c with which the first histogram falls: a large capacity must be seen first."""
BLUR: Final = 0.08
"""The part of each bar that goes to either neighbour in a cycle."""
SURPRISE: Final = 0.05
"""The part of the histogram that is spread evenly in each cycle, for sudden changes."""
OUTLIER: Final = 0.001
"""The least factor by which a cycle makes any c less likely, against the likeliest."""
FREE_TIME_CHANGES: Final = 0.6
"""The usual change of the logarithm of the time without a wait from one cycle to the next."""
MISFIT: Final = 8.0
"""The misfit of a cycle that counts for half, even for the likeliest c."""
LEAST_VARIANCE: Final = 0.0003
"""The least variance of a level's mean, for times that do not vary at all."""
LOW_QUANTILE: Final = 0.15
"""The quantile of what was measured that the low level goes by."""
MARGIN: Final = 0.1
"""The part by which the high level is above the median of what was measured."""
ROOT_MARGIN: Final = 0.2
"""A further margin, times (the root of the number - 1)."""
LEAST_HIGH: Final = 1.25
"""The least high level, on average over the cycles: with less, two at a time would never be
tried."""
NARROW, NARROW_IN_NOISE, WIDE = 1.33, 1.4, 2.0
"""The least ratio of the high level to the low one where times do not vary, and where their
logarithms vary by one or more; and the largest."""
MOST_GROWTH: Final = 2.0
"""The largest factor by which the high level grows from one cycle to the next."""
LOW_PART: Final = 0.3
"""The part of a cycle that is at the low level."""
DOWN: Final = 0.5
"""The part of a cycle's attempts beyond which overload means that the downstream is down: then one
at a time is tried until this is over. After that the histogram counts again as it was."""
ALONE: Final = 1.5
"""Tasks at work on average, below which overload is not blamed on their number."""
BELIEVED: Final = 0.35
"""The standard deviation of the logarithm of c around what an earlier process found."""
GOLDEN: Final = 0.6180339887
"""The golden ratio: its multiples, taken modulo 1, round a number up evenly, in as many cycles as
its fraction says."""
ENOUGH_TIMES: Final = 5
"""Attempts that are measured before the first period is set."""
SHORTER, LONGER = 0.42, 1.6
"""The least and the largest ratio of the wanted period to the period, before that is changed: with
less room, times that vary widely would change it, and cut cycles short, all the time."""
IN_A_ROW: Final = 2.0
"""Cycles in which no attempt begins at the low level, after which cycles get longer, twice as long
with each."""
MOST_STRETCH: Final = 2.0
"""The most doublings."""
STRETCH_BACK: Final = 0.3
"""The part of a doubling that is taken back with each cycle in which some begin."""
MEMORY: Final = 60
"""Attempts of which the mean time is kept, and the most times at the low level that are kept."""
SHAPE: Final = 12
"""The number of times at the low level that stand for all."""


class AdaptiveConcurrency:
    """The number of tasks of one type that one worker runs at a time, as it is found. Times are in
    seconds of the epoch, by a clock that never steps back. Not thread-safe."""

    def __init__(self, most: int) -> None:
        """``most``: the largest number of tasks at a time."""
        self.most = most
        bars = math.ceil(math.log(most / LEAST) / math.log(STEP)) + 1
        self._scale = [LEAST * STEP**i for i in range(bars)]
        self._chances = self._first()
        self._high = min(float(FIRST), most)
        self._at_work = 0
        self._seen: float | None = None
        """When an attempt began or ended last, in seconds."""
        self._down = False
        self._without_low = 0.0
        """Cycles of late in which no attempt began at the low level. Where few tasks take most of
        the time, it takes long until enough have ended: then cycles have to be longer."""
        self._cycles = 0
        self._last: Cycle | None = None
        """The last cycle, until it is judged."""
        self._period: float | None = None
        self._times = 0
        self._mean_time = 0.0
        self._variance, self._degrees = 1.0, 3.0
        """The variance of the logarithms at one level, and the number of samples that it rests
        on."""
        self._free_time: float | None = None
        """The mean logarithm of the time without a wait."""
        self._low_times = deque[float](maxlen=MEMORY)
        self.has_learned = False
        """True once a cycle has told something of the capacity, in this process."""
        self._cycle = self._next_cycle(0)

    def begin_with(self, found: float) -> None:
        """Begin with the number that an earlier process ended with, or a part of it. It comes too
        late once something was learned."""
        if self.has_learned:
            return
        self._high = max(min(LEAST_HIGH, self.most), min(found, self.most))
        believed = math.log(self._high / (1 + MARGIN))
        near = [
            math.exp(-(((math.log(c) - believed) / BELIEVED) ** 2) / 2) + OUTLIER
            for c in self._scale
        ]
        self._chances = [chance / sum(near) for chance in near]
        self._cycle = self._next_cycle(self._cycle.number)

    @property
    def found(self) -> float:
        """The number at a time, on average over the low and the high level."""
        return max(1.0, min(self._high, self.most))

    def limit(self, now: float) -> int:
        """Return the tasks at a time at this moment, from 1 to the most."""
        self._move_on(now)
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
        self._passes(now)
        self._at_work += 1
        return self._cycle.begins(now, at_work=self._at_work, low=self._is_low(now))

    def ends(self, sample: Sample, now: float, signal: LoadSignal) -> None:
        """End the measurement of an attempt that leaves its slot."""
        self._passes(now)
        self._at_work -= 1
        self._tells(sample, now, signal)

    def hangs(self, sample: Sample, now: float) -> None:
        """Note that an attempt took longer than its timeout. It keeps its slot until ``ends``."""
        self._passes(now)
        self._tells(sample, now, LoadSignal.OVERLOADED)

    def undo(self, sample: Sample) -> None:
        """Undo a ``begins``: the attempt was not begun after all."""
        self._at_work -= 1
        sample.cycle.forget(sample)

    # Cycles

    def _tells(self, sample: Sample, now: float, signal: LoadSignal) -> None:
        in_time = sample.cycle.ends(sample, now, signal)
        if signal is LoadSignal.OVERLOADED and not in_time:
            self._cycle.overloads.append(sample.at_work)
        # A time-out tells no time; but where no period is set yet, no cycle would ever be judged.
        sets_period = signal is LoadSignal.OVERLOADED and self._period is None
        if signal is LoadSignal.DONE or (in_time and sets_period):
            self._measure(sample, now)

    def _passes(self, now: float) -> None:
        self._move_on(now)
        if self._seen is not None and not self._is_low(now):
            self._cycle.high_time += now - self._seen
            self._cycle.high_work += (now - self._seen) * self._at_work
        self._seen = now

    def _measure(self, sample: Sample, now: float) -> None:
        seconds = now - sample.began
        if sample.level is sample.cycle.at_low:
            self._low_times.append(max(SHORTEST, seconds))
        self._times += 1
        self._mean_time += (seconds - self._mean_time) / min(self._times, MEMORY)
        stretch = 2 ** max(0.0, min(MOST_STRETCH, self._without_low - IN_A_ROW))
        periods = (4 + 2 / math.sqrt(self._high)) * stretch
        wanted = max(1e-3, periods * self._mean_time)
        if self._period is None:
            fits = self._times < ENOUGH_TIMES
        else:
            fits = SHORTER * self._period < wanted < LONGER * self._period
        if not fits:
            self._period = 2.0 ** math.ceil(math.log2(wanted))
            self._begin_cycle(now)

    def _is_low(self, now: float) -> bool:
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
        """Plan the next cycle. Its levels are whole numbers: by turns the one below and the one
        above what is wanted. Between 1 and 2 there is none: there only some cycles have a high
        level, of half of their time, so that both levels are measured alike."""
        self._cycles += 1
        dither = self._cycles * GOLDEN % 1
        if self._high < 2 <= self.most:  # noqa: PLR2004
            part = (1 - LOW_PART) * (self._high - 1)
            high_part = max(1 / 2, part)
            high = 2 if dither < part / high_part else 1
            return Cycle(number=number, high=high, low=1, low_part=1 - high_part)
        narrow = NARROW + (NARROW_IN_NOISE - NARROW) * min(1.0, self._variance)
        low = max(self._high / WIDE, min(self._high / narrow, self._quantile(LOW_QUANTILE)))
        high = max(1, min(self.most, int(self._high + dither)))
        low = max(1, min(high - 1, int(low + dither)))
        return Cycle(number=number, high=high, low=low, low_part=LOW_PART)

    def _judge(self, now: float) -> None:
        cycle, self._last = self._last, None
        if cycle is None:
            return
        cycle.close(now, usual=self._mean_time)
        if cycle.at_low.number == 0 and cycle.begun and cycle.high > cycle.low:
            self._without_low += 1
        else:
            self._without_low = max(0.0, self._without_low - STRETCH_BACK)
        if cycle.overloads or cycle.tells:
            self.has_learned = True
            self._blur()
            if cycle.overloads:
                self._was_overloaded(cycle)
            if cycle.tells:
                self._compare(cycle)
            total = sum(self._chances)
            self._chances = [chance / total for chance in self._chances]
            most = self._high * MOST_GROWTH + 0.3
            if cycle.overloaded > DOWN:
                most = LEAST_HIGH
            elif self._down:
                most = math.inf
            self._down = cycle.overloaded > DOWN
            self._high = self._wanted(most)

    def _wanted(self, most: float = math.inf) -> float:
        wanted = self._quantile(1 / 2) * (1 + MARGIN)
        wanted += ROOT_MARGIN * (math.sqrt(wanted) - 1)
        return max(min(LEAST_HIGH, self.most), min(wanted, self.most, most))

    # The histogram

    def _first(self) -> list[float]:
        chances = [capacity**-DOUBT for capacity in self._scale]
        return [chance / sum(chances) for chance in chances]

    def _quantile(self, part: float) -> float:
        below = 0.0
        for chance, capacity in zip(self._chances, self._scale, strict=True):
            if below + chance >= part:
                return capacity * math.pow(STEP, (part - below) / chance - 1 / 2)
            below += chance
        return self._scale[-1]

    def _blur(self) -> None:
        bars = self._chances
        shifted = zip([bars[0], *bars], bars, [*bars[1:], bars[-1]], strict=False)
        even = SURPRISE / len(bars)
        self._chances = [
            (1 - SURPRISE) * (BLUR * left + (1 - 2 * BLUR) * bar + BLUR * right) + even
            for left, bar, right in shifted
        ]

    def _was_overloaded(self, cycle: Cycle) -> None:
        """Make each c less likely that would have had room for those that found none. Where a task
        that is nearly alone finds none, the downstream is down, whatever it can take else."""
        at_work = sum(cycle.overloads) / len(cycle.overloads)
        if at_work < ALONE:
            return
        factor = max(0.25, (1 - cycle.overloaded) ** 4)
        self._chances = [
            chance * (factor if capacity >= 0.95 * at_work else 1)
            for chance, capacity in zip(self._chances, self._scale, strict=True)
        ]

    def _compare(self, cycle: Cycle) -> None:
        """Multiply the histogram by the likelihood of the cycle's two means. The time without a
        wait is fitted to both, for each c, and held near to what it was before."""
        low, high = cycle.at_low, cycle.at_high
        self._vary(cycle)
        weights = [1 / (self._variance / level.number + LEAST_VARIANCE) for level in (low, high)]
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
        trust = 1 / (1 + best / MISFIT)
        likely = [math.exp(-(misfit - best) * trust / 2) + OUTLIER for misfit, _ in fits]
        self._chances = [a * b for a, b in zip(self._chances, likely, strict=True)]
        frees = [chance * fitted for chance, (_, fitted) in zip(self._chances, fits, strict=True)]
        self._free_time = sum(frees) / sum(self._chances)

    def _vary(self, cycle: Cycle) -> None:
        """Learn how much times vary at one level."""
        degrees = cycle.at_low.number + cycle.at_high.number - 2
        if degrees > 0:
            seen = max(1e-4, (cycle.at_low.scatter + cycle.at_high.scatter) / degrees)
            self._degrees = min(self._degrees + degrees, 150.0)
            self._variance += (seen - self._variance) * min(1.0, degrees / self._degrees)

    def _lengthening(self) -> Callable[[float], float]:
        """Return the function that tells by how much a wait, given in mean times, lengthens the
        mean logarithm of the times."""
        times = sorted(self._low_times) or [1.0]
        mean, each = sum(times) / len(times), max(1, len(times) // SHAPE)
        parts = [mean / time for time in times[each // 2 :: each]]

        def lengthening(wait: float) -> float:
            return sum(math.log1p(wait * part) for part in parts) / len(parts)

        return lengthening
