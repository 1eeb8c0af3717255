"""The guard of the search: it counts how much gets done with how many at work.

The search goes by times (see ``adaptive_concurrency``): where attempts wait, there are too many.
That holds in front of a line. Where tasks share the downstream's speed, as in a database, times
mislead, and the search may go up without end. What gets done says more:

    done in a second
      4            ______________    a line, or a speed that is shared
                 /:  \\
      2        /  :    \\_________   a downstream that does less the more it holds
             /    :    :
      0    ------------------------ at work
           1   2  4    8    16

So the guard keeps a row for each number at work, each row 1.4 times the one before, and adds to it
what a cycle did. It looks for a number that is too large: one that did hardly more than half of it
had done. An example, a database that does four tasks in a second, however many are at work:

    at work     4     8    (200 attempts each)
    in a second 4.0   4.1
    a time      1 s   1.95 s

Twice as many at work should do twice as much below the capacity. The guard asks for little: for 0.4
of that, as logarithms, which is 2 ** 0.4, so 1.32 times as much. Here it is 1.03 times. Luck alone
makes 200 attempts with exponential times differ by a tenth, and 1.03 is less than 1.32 by more than
that: 8 is too large. The least number that did about as much is 4. So there is a ceiling from then
on, 4.4: the search goes on below it.

A ceiling may be wrong, and a downstream may change. So at times there is a probe: half as many for
a while (if that does about as much, it is the new ceiling), or half as many more (if that does
more, the ceiling rises). After more in vain, the next pause is twice as long.

Done is counted in two ways, and both must say that a number is too large. The number of ends is
what counts, but it varies a lot where few attempts take most of the time. The number at work by the
mean time (of logarithms) varies less then. In front of a line both grow up to the capacity, and the
search seldom goes to twice that, so the guard seldom has anything to say there. A number that did
much less than a smaller one is told by its ends alone.

Luck remains. Where times vary widely, the first seconds may show a small number at its best, and
the ceiling is too low until the probes have raised it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lifoq.worker.gates.adaptive.attempt_times import SHORTEST

ROW: Final = 0.5
"""The logarithm to base 2 of the ratio of a row's number at work to that of the row before."""
IDLE: Final = 0.5
"""Fewer at work than this, on average over a cycle: such a cycle is in no row."""
FEWEST_TO_VARY: Final = 2
"""The attempts from which on the variation of their times can be told."""
EVEN, EVEN_LOG = 1.0, 0.1
"""The least variation of times, and of their logarithms, that is believed: before many were seen,
times look more even than they are."""

MUCH_SMALLER: Final = 1.87
"""The least ratio of a number at work to one that it is held against: about two."""
HOPED: Final = 0.4
"""The part of the growth in number at work by which more must get done; both as logarithms."""
SURE: Final = 1.0
"""The standard deviations by which the growth in what gets done must be below the hoped one."""
FEWEST: Final = 40.0
"""The attempts that each of two rows needs for that."""

SMALLER: Final = 1.3
"""The least ratio of a number at work to a smaller one that did much more. Here the number of ends
alone counts: where hardly any attempt ends, those that do are the short ones."""
MUCH_LESS: Final = 0.7
"""The part of what a smaller number did, below which a number did much less."""
SURE_OF_LESS: Final = 2.0
"""The standard deviations by which it must have done less than that part."""
FEWEST_OF_LESS: Final = 10.0
"""The attempts that the smaller number's row needs; the larger one's has taken the time of so
many."""

AS_MUCH: Final = 0.9
"""The part of the most that was done, from which on a smaller number did as much."""
ROOM: Final = 1.1
"""The ratio of the ceiling to the number that did as much."""
LEAST_CEILING, LEAST_PROBE = 1.25, 1.0
"""The lowest ceiling; and the lowest one in a probe."""
FADES: Final = 4_000.0
"""The attempts after which a row counts for a third of what it did: downstreams change."""

LESS, MORE = 0.5, 1.5
"""The factors of the ceiling in a probe of less, and in one of more."""
LEFT: Final = 0.8
"""The part of what was done that a probe of less must leave, to become the ceiling."""
GAINED: Final = 0.5
"""The part of the growth of a probe of more that must be gained, to become the ceiling: as
logarithms."""
NEAR_BELOW, NEAR_ABOVE = 1.3, 1.2
"""The factors around the ceiling within which a row tells what was done with the ceiling."""
PROBED: Final = 40.0
"""The attempts of a probe where times have a coefficient of variation of one. The number grows with
the square of it, up to ``MOST_VARIATION``."""
MOST_VARIATION: Final = 10.0
"""The largest square of the coefficient of variation that makes probes longer."""
PAUSE: Final = 5.0
"""The ratio of the attempts of the first pause to those of a probe."""


@dataclass(kw_only=True)
class Row:
    """The sums over the attempts and the time with about one number at work."""

    attempts: float = 0.0
    """The attempts that ended."""
    time: float = 0.0
    """The sum of their times, in seconds."""
    squares: float = 0.0
    """The sum of the squares of their times."""
    logs: float = 0.0
    """The sum of the logarithms of their times."""
    log_squares: float = 0.0
    """The sum of the squares of these logarithms."""
    seconds: float = 0.0
    """The time that passed."""
    work: float = 0.0
    """The tasks at work, times the seconds that they were."""

    def add(self, other: "Row") -> None:
        """Add what another row holds."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def add_attempt(self, seconds: float) -> None:
        """Add an attempt that has ended, with its time in seconds."""
        log = math.log(max(SHORTEST, seconds))
        self.attempts += 1
        self.time += seconds
        self.squares += seconds * seconds
        self.logs += log
        self.log_squares += log * log

    def fade(self, factor: float) -> None:
        """Let all that was done count less, by a factor."""
        for name, value in vars(self).items():
            setattr(self, name, value * factor)

    @property
    def at_work(self) -> float:
        """The number at work, on average over time."""
        return self.work / self.seconds

    @property
    def throughput(self) -> float:
        """The attempts that ended in a second. Where none did, it counts as half a one."""
        return max(self.attempts, 0.5) / self.seconds

    @property
    def log_speed(self) -> float:
        """The logarithm of the number at work by the mean time (that of logarithms): what is done
        in a second, in the other way to count."""
        return math.log(self.at_work) - self.logs / max(1.0, self.attempts)

    @property
    def variation(self) -> float:
        """The square of the times' coefficient of variation."""
        if self.attempts < FEWEST_TO_VARY:
            return EVEN
        return max(EVEN, self.squares * self.attempts / self.time**2 - 1)

    @property
    def log_variance(self) -> float:
        """The variance of the logarithms of the times."""
        if self.attempts < FEWEST_TO_VARY:
            return EVEN
        mean = self.logs / self.attempts
        return max(EVEN_LOG, self.log_squares / self.attempts - mean * mean)


class Throughput:
    """The largest number at work that gets more done than much smaller ones, as far as this process
    knows. Not thread-safe: the search has it, and ``Gates`` has the lock."""

    def __init__(self) -> None:
        """Begin with no ceiling."""
        self.ceiling = math.inf
        """The most tasks at a time, on average over the cycles; inf as long as none was too
        large."""
        self.went_back = False
        """True if a number got no more done than a much smaller one."""
        self._rows = dict[int, Row]()
        """The rows, by the logarithm of the number at work, in steps of ``ROW``."""
        self._now = Row()
        """The sums of this cycle."""
        self._probe: Row | None = None
        """The sums of the probe that is under way."""
        self._factor = LESS
        """The factor of the ceiling in the next probe."""
        self._held = math.inf
        """The ceiling to which a probe in vain goes back."""
        self._left = 0.0
        """The attempts until the next probe."""
        self._pause = PAUSE
        """The ratio of the attempts of the next pause to those of a probe."""

    def let_pass(self, seconds: float, at_work: int) -> None:
        """Count time that has passed with so many at work."""
        self._now.seconds += seconds
        self._now.work += seconds * at_work

    def add_attempt(self, seconds: float) -> None:
        """Count an attempt that has ended, with its time in seconds."""
        self._now.add_attempt(seconds)

    def drop(self) -> None:
        """Forget the cycle: something else held tasks back, or the downstream was down."""
        self._now = Row()

    def judge(self, wanted: float) -> None:
        """Add what the cycle did to its row, and move the ceiling if that tells to. ``wanted``: the
        number at a time that the search wants, up to the ceiling."""
        now, self._now = self._now, Row()
        if now.seconds <= 0 or now.at_work < IDLE:
            return
        fades = math.exp(-now.attempts / FADES)
        for each in self._rows.values():
            each.fade(fades)
        row = self._rows.setdefault(round(math.log2(now.at_work) / ROW), Row())
        row.add(now)
        if self._probe is not None:
            self._probe.add(now)
            self._judge_probe(self._probe)
        elif (least := self._least_as_good(row)) * ROOM < wanted:
            self._go_back(least)
        elif wanted >= self.ceiling:
            self._left -= now.attempts
            if self._left <= 0:
                self._begin_probe()

    # Numbers that are too large

    def _go_back(self, least: float) -> None:
        """Set a ceiling a little above the least number that did as much."""
        self.went_back = True
        self.ceiling = max(LEAST_CEILING, least * ROOM)
        self._factor = LESS
        self._pause = PAUSE
        self._left = self._probe_attempts()

    def _least_as_good(self, row: Row) -> float:
        """Return the least number at work that did about as much as the best one, if the row's
        number is too large; else inf."""
        if not any(each is not row and self._is_worse(row, each) for each in self._rows.values()):
            return math.inf
        known = [each for each in self._rows.values() if each.attempts >= FEWEST_OF_LESS]
        most = max(each.throughput for each in known)
        return min(each.at_work for each in known if each.throughput >= AS_MUCH * most)

    def _is_worse(self, row: Row, than: Row) -> bool:
        """Return True if a row's number at work is too large, beside a smaller one."""
        more = row.at_work / than.at_work
        expected = max(row.attempts, than.throughput * row.seconds)
        if more < SMALLER or min(than.attempts, expected) < FEWEST_OF_LESS:
            return False
        gain = math.log(row.throughput / than.throughput)
        noise = math.sqrt(self._variation * (1 / expected + 1 / than.attempts))
        if gain < math.log(MUCH_LESS) - SURE_OF_LESS * noise:
            return True
        if more < MUCH_SMALLER or min(row.attempts, than.attempts) < FEWEST:
            return False
        log_gain = row.log_speed - than.log_speed
        log_noise = math.sqrt(self._log_variance * (1 / row.attempts + 1 / than.attempts))
        hoped = HOPED * math.log(more)
        return gain < hoped - SURE * noise and log_gain < hoped - SURE * log_noise

    # Probes

    def _begin_probe(self) -> None:
        """Try another ceiling for a while."""
        self._probe = Row()
        self._held = self.ceiling
        self.ceiling = max(LEAST_PROBE, self.ceiling * self._factor)

    def _judge_probe(self, probe: Row) -> None:
        """End the probe once it has taken long enough: keep its ceiling, or go back to the one that
        was held, and try the other direction next time. Where nothing is known of what that one
        did, there is nothing to hold the probe against."""
        held = self._held
        near = [
            row
            for row in self._rows.values()
            if held / NEAR_BELOW <= row.at_work <= held * NEAR_ABOVE and row.attempts >= FEWEST
        ]
        if not near:
            self._end_probe(ceiling=held, left=self._pause * self._probe_attempts())
            return
        usual = max(near, key=lambda row: row.attempts)
        attempts = self._probe_attempts()
        if max(probe.attempts, usual.throughput * probe.seconds) < attempts:
            return
        is_more = self._factor > 1
        least = GAINED * math.log(self._factor) if is_more else math.log(LEFT)
        if self._gain(probe, usual) > least:
            self._pause = PAUSE
            self._end_probe(ceiling=self.ceiling, left=attempts)
            return
        self._end_probe(ceiling=held, left=self._pause * attempts)
        self._factor = LESS if is_more else MORE
        if is_more:
            self._pause *= 2

    def _end_probe(self, *, ceiling: float, left: float) -> None:
        """End the probe, with a ceiling. ``left``: the attempts until the next one."""
        self._probe = None
        self.ceiling = ceiling
        self._left = left

    def _gain(self, row: Row, than: Row) -> float:
        """Return how much more a row did, as a logarithm: the mean of both ways to count, each by
        how little it varies."""
        gain = math.log(row.throughput / than.throughput)
        if row.attempts < FEWEST:
            return gain
        log_gain = row.log_speed - than.log_speed
        weight, log_weight = 1 / self._variation, 1 / self._log_variance
        return (weight * gain + log_weight * log_gain) / (weight + log_weight)

    def _probe_attempts(self) -> float:
        """Return the attempts of a probe."""
        return PROBED * min(MOST_VARIATION, self._variation)

    # All rows

    @property
    def _variation(self) -> float:
        """The square of the times' coefficient of variation, on average over the rows."""
        return self._mean(lambda row: row.variation)

    @property
    def _log_variance(self) -> float:
        """The variance of the logarithms of times, on average over the rows."""
        return self._mean(lambda row: row.log_variance)

    def _mean(self, of: Callable[[Row], float]) -> float:
        """Return the mean of a figure of the rows, by their attempts."""
        rows = [row for row in self._rows.values() if row.attempts >= FEWEST_TO_VARY]
        total = sum(row.attempts for row in rows)
        return sum(row.attempts * of(row) for row in rows) / total if rows else EVEN
