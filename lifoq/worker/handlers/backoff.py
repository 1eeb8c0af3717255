"""The wait of a failed task until its next attempt."""

import math
import random
from dataclasses import dataclass
from typing import Final, Literal

from lifoq.basics.numbers import check_count, check_seconds
from lifoq.errors import InvalidInput

LONGEST: Final = 3
"""Times its value: the longest that a delay with jitter may take, as the shortest is half of it.
Ten tasks that fail at once, newer than twenty healthy ones, then cost these a tenth of their time;
with full jitter they take twice as long (tests/faults/test_run.py)."""
Growth = Literal["exponential", "geometric", "linear", "arithmetic"]


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """The wait of a failed task before its next attempt, in the four phases of SNS delivery
    policies.

    First ``immediate`` retries without a delay, then ``pre_backoff`` retries after ``min_seconds``,
    then retries whose delay grows from ``min_seconds`` to ``max_seconds``, and the last
    ``post_backoff`` retries after ``max_seconds``
    (https://docs.aws.amazon.com/sns/latest/dg/sns-message-delivery-retries.html).

    Examples:
        >>> from lifoq import Backoff, task
        >>> @task("price.refresh", backoff=Backoff(min_seconds=2, max_seconds=60))
        ... def refresh(payload, context): ...
    """

    min_seconds: float = 1.0
    """The first delay of the growing phase, in seconds."""
    max_seconds: float = 900.0
    """The last delay of the growing phase, in seconds."""
    growth: Growth = "exponential"
    """The law of the growing phase of n retries, counted by k from 1. ``exponential``: doubles, min
    · 2^(k-1), whatever n is. ``geometric``: a constant factor that arrives at the maximum with the
    last one. ``linear``: equal steps that arrive there with the last one. ``arithmetic``: steps
    that grow by equal amounts, and arrive there likewise."""
    immediate: int = 0
    """The number of retries without a delay."""
    pre_backoff: int = 0
    """The number of retries after ``min_seconds``, before the delay grows."""
    post_backoff: int = 0
    """The number of retries after ``max_seconds``, at the end."""
    jitter: bool = True
    """True if the delay is drawn evenly from one and a half to three times its value (and is at
    most ``max_seconds``), so that tasks that failed together do not come back together. It has a
    floor, unlike full jitter: a retry keeps its place, so one that came back at once would be ahead
    of all the healthy tasks behind it."""

    def __post_init__(self) -> None:
        for name in ("min_seconds", "max_seconds"):
            check_seconds(name, getattr(self, name))
        if self.min_seconds > self.max_seconds:
            problem = f"must be at most max_seconds, which is {self.max_seconds:g}"
            raise InvalidInput("min_seconds", self.min_seconds, problem)
        for name in ("immediate", "pre_backoff", "post_backoff"):
            check_count(name, getattr(self, name), least=0)
        if self.growth not in ("exponential", "geometric", "linear", "arithmetic"):
            raise InvalidInput(
                "growth", self.growth, "must be exponential, geometric, linear or arithmetic"
            )

    @classmethod
    def fixed(cls, seconds: float, *, jitter: bool = False) -> "Backoff":
        """Return a backoff with one delay, every time.

        Args:
            seconds: The delay in seconds.
            jitter: True if the delay is at most so long, and drawn evenly from its upper half.

        Examples:
            >>> Backoff.fixed(10).min_seconds
            10
        """
        return cls(min_seconds=seconds, max_seconds=seconds, jitter=jitter)

    def delay(self, retry: int, *, retries: int, draw: random.Random) -> float:
        """Return the seconds before a retry.

        Args:
            retry: The number of the retry, from 1.
            retries: The number of retries in all.
            draw: The source of the jitter.

        Examples:
            >>> Backoff(jitter=False).delay(3, retries=4, draw=random.Random())
            4.0
        """
        delay = self._delay(retry, retries)
        if not self.jitter:
            return delay
        longest = min(LONGEST * delay, self.max_seconds)
        return draw.uniform(longest / 2, longest)

    def _delay(self, retry: int, retries: int) -> float:
        if retry <= self.immediate:
            return 0.0
        if retry <= self.immediate + self.pre_backoff:
            return self.min_seconds
        if retry > retries - self.post_backoff:
            return self.max_seconds
        step = retry - self.immediate - self.pre_backoff
        steps = retries - self.immediate - self.pre_backoff - self.post_backoff
        return min(self.max_seconds, self._grown(step, steps))

    def _grown(self, step: int, steps: int) -> float:
        low, high = self.min_seconds, self.max_seconds
        if self.growth == "exponential":
            return low * float(2 ** min(step - 1, 64))
        if self.growth == "geometric":
            return low * math.pow(high / low, step / steps)
        part = step / steps
        if self.growth == "arithmetic":
            part = step * (step + 1) / (steps * (steps + 1))
        return low + (high - low) * part
