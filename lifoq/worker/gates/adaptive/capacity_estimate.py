"""The estimate of a downstream's capacity c: the tasks that it does at a time.

It is a histogram on a scale of logarithms, from 0.9 to beyond the most tasks at a time. With each
cycle (see ``attempt_times``) it is blurred, since c may have changed, and each bar is multiplied by
how likely the cycle's times are for that c:

    bars  │      ▂▅▇▅▂                    before the cycle: c is 6 or so
          │     ▂▃▄▅▄▃▂                   blurred
          │        ▂▅█▆▂                  times the likelihood of what the cycle measured
          └────────────────── c
            1   2   4   8   16

Why the times of a cycle tell: below c, attempts take as long at the high level as at the low one.
Above c they take longer, by how much depends on the kind of downstream. An example, n = 8 at work
and c = 4, where an attempt alone takes a second:

    a line               they wait (n / c - 1) mean times more          1 s more, so 2 s on average
    a shared speed       each takes n / c times as long                 2 s
    a degrading one      each takes about (n / c) ** 2.5 times as long  5.7 s

So there is a row of bars for each kind, and what a cycle shows makes one of them likelier than the
others. In a line, those in front count, at work when an attempt begins; where the speed is shared,
those who are at work meanwhile do.

For each c and kind one can say how long the times of each level should be, if one knows the time
without a wait. That is not known either: so each bar keeps, beside its chance, what the time
without a wait has been so far if it is right (a Kalman filter for each bar). It may drift a little
from cycle to cycle, and it jumps now and then. Therefore:

- A c that explains the times of two levels, and those of earlier levels, gains.
- A slow drift of the times, or a jump, which all levels share, tells little of c.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from lifoq.worker.gates.adaptive.attempt_times import SHORTEST, Cycle

STEP: Final = 1.1
"""The ratio between two neighbours of the histogram's scale."""
LEAST: Final = 0.9
"""The lowest capacity on the scale. With a lower one, a single task at work might wait, and nothing
would tell the time without a wait any more."""
BEYOND: Final = 1.5
"""The highest capacity on the scale, as a multiple of the most tasks at a time."""
DOUBT: Final = 0.1
"""The power of c with which the first histogram falls: a large capacity must be seen first."""
BLUR: Final = 0.08
"""The part of each bar that goes to either neighbour in a cycle."""
SURPRISE: Final = 0.02
"""The part of a row that is spread evenly in each cycle, for sudden changes."""
SWITCH: Final = 0.01
"""The part of the histogram that goes to the other kinds in each cycle."""
OUTLIER: Final = 0.001
"""The least factor by which a cycle makes any c less likely, against the likeliest."""
BELIEVED: Final = 0.35
"""The standard deviation of the logarithm of c around what an earlier process found."""
UNKNOWN: Final = 100.0
"""The variance of a logarithm of which nothing is known."""
DRIFT: Final = 0.02
"""The usual change of the logarithm of the time without a wait from one cycle to the next."""
JUMP, JUMPS = 0.3, 0.03
"""The usual change of that logarithm where it jumps; and the part of the cycles in which it
does."""
LEAST_LOG: Final = -200.0
"""The least logarithm of a likelihood: no product of chances comes to zero."""
FIRST_DEGREES: Final = 3.0
"""The samples that the first guess of the times' variance counts for."""
UNSURE_OF_IT: Final = 15.0
"""The samples at which the variance is taken for twice what was seen: of few samples, none may be
of the rare long times."""
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
"""The least factor by which one cycle of overloads, or in which most attempts hang, makes a c less
likely."""
OVERLOADS_COUNT: Final = 4
"""The power of the part without overload that is this factor, where it is larger."""
ROOM_FOR: Final = 0.95
"""The part of those at work that a c must have room for, to be made less likely: the overload may
have come from the last few."""
KEPT_TIMES: Final = 60
"""Times at the low level that are kept."""
SHAPE: Final = 12
"""The number of these times that stand for all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """One kind of downstream: what happens where more are at work than its capacity."""

    likely: float
    """The chance of this kind before anything was measured."""
    power: float | None
    """The power of (n / c) by which n at work make each attempt longer; None where attempts wait in
    a line."""


KINDS: Final = (
    Kind(likely=0.5, power=None),
    Kind(likely=0.3, power=1.0),
    Kind(likely=0.2, power=2.5),
)
"""Servers with a line in front; a speed that is shared; and one of which each task beyond the
capacity takes a part away."""


class Bar(NamedTuple):
    """One bar of the histogram: what is believed if the capacity is this one. A cycle makes
    thousands, so they are made without ``_replace``, which takes three times as long."""

    capacity: float
    chance: float
    """The probability that the capacity is this one."""
    free_time: float = 0.0
    """The logarithm of the time without a wait, in seconds: its mean."""
    unsure: float = UNKNOWN
    """The variance of that logarithm."""

    def mixed(self, parts: Iterable[tuple[float, "Bar"]]) -> "Bar":
        """Return the bar with what the parts believe together, each with its weight. The weights
        need no sum of one; the new chance is the sum of the parts' chances by their weights."""
        weighted = [(weight * part.chance, part.free_time, part.unsure) for weight, part in parts]
        chance = mean = unsure = 0.0
        for weight, free_time, _ in weighted:
            chance += weight
            mean += weight * free_time
        mean /= chance
        for weight, free_time, own in weighted:
            unsure += weight * (own + (free_time - mean) ** 2)
        return Bar(self.capacity, chance, mean, unsure / chance)

    def fitted(self, free: list[float], noises: list[float]) -> "Bar":
        """Return the bar after it has learnt from measurements of the time without a wait
        (logarithms, with the variances of their noise); its chance is multiplied by their
        likelihood."""
        capacity, chance, mean, unsure = self
        for measured, noise in zip(free, noises, strict=True):
            both, off = unsure + noise, measured - mean
            chance *= math.exp(max(LEAST_LOG, -off * off / both / 2)) / math.sqrt(both)
            mean += off * unsure / both
            unsure *= noise / both
        return Bar(capacity, chance, mean, unsure)


Row = list[Bar]
"""A bar for each capacity, of one kind of downstream."""


class CapacityEstimate:
    """The probability of each capacity and kind of a downstream. Its fields are written by
    ``believe``, ``add_low_time`` and ``learn`` only. Not thread-safe."""

    def __init__(self, most: int) -> None:
        """``most``: the largest number of tasks at a time."""
        bars = math.ceil(math.log(BEYOND * most / LEAST, STEP)) + 1
        self._scale = [LEAST * STEP**i for i in range(bars)]
        self._rows = self._first_rows(lambda capacity: capacity**-DOUBT)
        """A row for each of the kinds."""
        self._variance = 1.0
        """The variance of the logarithms of times at one level."""
        self._degrees = FIRST_DEGREES
        """The number of samples that the variance rests on."""
        self._low_times = deque[float](maxlen=KEPT_TIMES)
        """Times in seconds at the low level, where few attempts wait."""

    def quantile(self, part: float) -> float:
        """Return the capacity below which so large a part of the histogram lies."""
        below = 0.0
        for i, capacity in enumerate(self._scale):
            chance = sum(row[i].chance for row in self._rows)
            if below + chance >= part:
                return capacity * math.pow(STEP, (part - below) / chance - 1 / 2)
            below += chance
        return self._scale[-1]

    def believe(self, capacity: float) -> None:
        """Begin anew, near to what an earlier process found."""

        def near(other: float) -> float:
            away = math.log(other / capacity) / BELIEVED
            return math.exp(-(away**2) / 2) + OUTLIER

        self._rows = self._first_rows(near)

    def add_low_time(self, seconds: float) -> None:
        """Keep the time of an attempt that began at the low level, or in a cycle of one level."""
        self._low_times.append(max(SHORTEST, seconds))

    def learn(self, cycle: Cycle) -> None:
        """Learn from a cycle in which attempts ended in overload or hang, or whose times tell of
        c."""
        self._blur()
        if cycle.overloads:
            self._learn_of_overload(cycle)
        if cycle.tells:
            self._compare(cycle)
        elif cycle.stands_still:
            self._doubt(cycle.high, LEAST_LEFT)
        self._rows = _normed(self._rows)

    def _first_rows(self, likely: Callable[[float], float]) -> list[Row]:
        """Return rows of which nothing is known but how likely each capacity is."""
        return _normed(
            [
                Bar(capacity=capacity, chance=kind.likely * likely(capacity))
                for capacity in self._scale
            ]
            for kind in KINDS
        )

    def _blur(self) -> None:
        """Let the capacity, the kind and the time without a wait be a little other than they were,
        or quite other."""
        rows = [_blurred(row) for row in self._rows]
        shares = [SWITCH * kind.likely for kind in KINDS]
        others = [list(zip(shares, bars, strict=True)) for bars in zip(*rows, strict=True)]
        self._rows = [
            [own.mixed([(1 - SWITCH, own), *other]) for own, other in zip(row, others, strict=True)]
            for row in rows
        ]

    def _learn_of_overload(self, cycle: Cycle) -> None:
        """Make each c less likely that would have had room for those that found none. Where a task
        that is nearly alone finds none, the downstream is down, whatever it can take else."""
        at_work = sum(cycle.overloads) / len(cycle.overloads)
        if at_work >= ALONE:
            self._doubt(at_work, max(LEAST_LEFT, (1 - cycle.overloaded) ** OVERLOADS_COUNT))

    def _doubt(self, at_work: float, factor: float) -> None:
        """Make each c less likely that would have had room for so many."""

        def doubted(bar: Bar) -> Bar:
            has_room = bar.capacity >= ROOM_FOR * at_work
            return bar._replace(chance=bar.chance * factor) if has_room else bar

        self._rows = [[doubted(bar) for bar in row] for row in self._rows]

    def _compare(self, cycle: Cycle) -> None:
        """Multiply each bar by the likelihood of the cycle's times, and let it learn the time
        without a wait from them: either that is about as it was, or it has jumped."""
        self._learn_variance(cycle)
        variance = self._variance * (1 + UNSURE_OF_IT / self._degrees)
        noises = [variance / level.number + LEAST_VARIANCE for level in cycle.levels]
        fits = list[Row]()
        for kind, row in zip(KINDS, self._rows, strict=True):
            lengthening = self._lengthening(kind)
            at_work = cycle.in_front() if kind.power is None else cycle.beside()
            fits.append([])
            for bar in row:
                free = [
                    level.mean - lengthening(max(0.0, inside / bar.capacity - 1))
                    for level, inside in zip(cycle.levels, at_work, strict=True)
                ]
                capacity, _, free_time, unsure = bar
                as_it_was = Bar(capacity, 1 - JUMPS, free_time, unsure)
                jumped = Bar(capacity, JUMPS, free_time, unsure + JUMP**2)
                guesses = [guess.fitted(free, noises) for guess in (as_it_was, jumped)]
                fits[-1].append(bar.mixed([(1.0, guess) for guess in guesses]))
        best = max(fit.chance for row in fits for fit in row)
        self._rows = [
            [
                Bar(
                    fit.capacity,
                    bar.chance * (fit.chance / best + OUTLIER),
                    fit.free_time,
                    fit.unsure,
                )
                for bar, fit in zip(*both, strict=True)
            ]
            for both in zip(self._rows, fits, strict=True)
        ]

    def _learn_variance(self, cycle: Cycle) -> None:
        """Learn how much times vary at one level."""
        degrees = sum(level.number - 1 for level in cycle.levels)
        if degrees > 0:
            scatter = sum(level.scatter for level in cycle.levels)
            seen = max(LEAST_SCATTER, scatter / degrees)
            self._degrees = min(self._degrees + degrees, MOST_DEGREES)
            self._variance += (seen - self._variance) * min(1.0, degrees / self._degrees)

    def _lengthening(self, kind: Kind) -> Callable[[float], float]:
        """Return the function that tells by how much (n / c - 1) lengthens the mean logarithm of
        the times. In a line that is the wait, in mean times: it lengthens the logarithm of a short
        time by more than that of a long one, so this goes by how the times at the low level are
        spread."""
        if (power := kind.power) is not None:
            return lambda beyond: power * math.log1p(beyond)
        times = sorted(self._low_times) or [1.0]
        mean, each = sum(times) / len(times), max(1, len(times) // SHAPE)
        parts = [mean / time for time in times[each // 2 :: each]]
        return lambda beyond: sum(math.log1p(beyond * part) for part in parts) / len(parts)


def _blurred(row: Row) -> Row:
    """Return a row in which capacity and time without a wait may be a little other, or quite
    other."""
    anywhere = row[0].mixed((1.0, bar) for bar in row)
    even = SURPRISE / len(row)
    shares = [(1 - SURPRISE) * share for share in (BLUR, 1 - 2 * BLUR, BLUR)]
    around = zip([row[0], *row], row, [*row[1:], row[-1]], strict=False)
    blurred = [
        own.mixed([*zip(shares, (left, own, right), strict=True), (even, anywhere)])
        for left, own, right in around
    ]
    return [
        Bar(capacity, chance, free, unsure + DRIFT**2) for capacity, chance, free, unsure in blurred
    ]


def _normed(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with chances scaled so that their sum over all is one."""
    rows = list(rows)
    total = sum(bar.chance for row in rows for bar in row)
    return [
        [Bar(capacity, chance / total, free, unsure) for capacity, chance, free, unsure in row]
        for row in rows
    ]
