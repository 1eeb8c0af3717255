"""A rate: so many starts, or units, in a second, a minute or an hour."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from lifoq.basics.numbers import MOST, check_rate
from lifoq.errors import InvalidInput

Per = Literal["second", "minute", "hour"]
SECONDS: Final[dict[str, int]] = {"second": 1, "minute": 60, "hour": 3_600}


@dataclass(frozen=True)
class Rate:
    """A rate limit of a task type: so many tasks that start, or so many units of their weights, in
    a second, a minute or an hour. It is kept evenly, not by the clock's minutes: a token bucket.

    Examples:
        >>> from lifoq import Rate, task
        >>> requests, tokens = Rate(500, per="minute"), Rate(90_000, per="minute", of="tokens")
        >>> @task("question.answer", weight="tokens", rate_limit=(requests, tokens))
        ... def answer(payload, context): ...
    """

    number: float
    """The tasks or units, per second unless ``per`` says otherwise."""
    per: Per = field(default="second", kw_only=True)
    """The time in which so many start: ``"second"``, ``"minute"`` or ``"hour"``."""
    of: str | None = field(default=None, kw_only=True)
    """The unit that is counted, as the type's ``weight`` names it; None counts tasks."""
    burst: float | None = field(default=None, kw_only=True)
    """The tasks or units that may start at once after a quiet time, at least 1: 15,000, say, where
    an API lets through what was spared for ten seconds. None: a second's worth, at least 1."""

    def check(self, name: str) -> None:
        """Raise InvalidInput where the rate is out of bounds. ``name``: of the field that has
        it."""
        if self.per not in get_args(Per):
            raise InvalidInput(f"{name}.per", self.per, "must be 'second', 'minute' or 'hour'")
        if isinstance(self.number, bool) or not isinstance(self.number, int | float):
            check_rate(name, self.number)
        check_rate(name, self.per_second)
        if self.burst is not None and not _is_burst(self.burst):
            problem = f"must be a number from 1 to {MOST:,}, or None for a second's worth"
            raise InvalidInput(f"{name}.burst", self.burst, problem)

    @property
    def seconds(self) -> int:
        """The time in which so many start, in seconds."""
        return SECONDS[self.per]

    @property
    def per_second(self) -> float:
        """The tasks or units per second."""
        return self.number / self.seconds

    def __str__(self) -> str:
        return f"{self.number:,.10g} {self.of or 'tasks'} per {self.per}"


def _is_burst(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= MOST


RateLimit = float | Rate | tuple[float | Rate, ...]
"""One rate, or several beside each other; a number counts tasks per second."""


def rates_of(name: str, limit: RateLimit | None) -> tuple[Rate, ...]:
    """Return the rates of a limit, checked. Raises InvalidInput, by the ``name`` of its field."""
    if limit is None:
        return ()
    given: Iterable[Any] = limit if isinstance(limit, tuple | list) else (limit,)
    rates = tuple(one if isinstance(one, Rate) else Rate(one) for one in given)
    if not rates:
        raise InvalidInput(name, limit, "is empty; give rates, or leave it out")
    for rate in rates:
        rate.check(name)
    return rates
