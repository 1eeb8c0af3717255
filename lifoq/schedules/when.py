"""When a schedule fires, as its maker says it: by the calendar, at a rate, or once."""

import difflib
import re
import zoneinfo
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from lifoq.errors import InvalidInput
from lifoq.items.put_terms import duration
from lifoq.items.task import Duration
from lifoq.schedules.expression import InvalidExpressionError, UnsupportedExpressionError, parse

_FORM: Final = re.compile(r"(rate|cron|at)\([^()]+\)")
_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60))
LONGEST_EXPRESSION: Final = 256
"""Characters that EventBridge Scheduler takes."""


@dataclass(frozen=True)
class When:
    """The times at which a schedule fires. ``cron``, ``every`` and ``at`` make one.

    Examples:
        >>> from lifoq import cron
        >>> when = cron("0 8 ? * MON-FRI *", time_zone="Europe/Berlin")
        >>> when.expression, when.time_zone
        ('cron(0 8 ? * MON-FRI *)', 'Europe/Berlin')
    """

    expression: str
    """The times in the words of EventBridge Scheduler: ``cron(…)``, ``rate(…)`` or ``at(…)``."""
    time_zone: str = "UTC"
    """The time zone in which they are meant."""

    @property
    def is_once(self) -> bool:
        """True if it fires once, and never again."""
        return self.expression.startswith("at(")

    def __str__(self) -> str:
        """Return the times as people read them: the zone is said where it matters."""
        zone = "" if self.expression.startswith("rate(") else f" {self.time_zone}"
        return f"{self.expression}{zone}"


def cron(expression: str, *, time_zone: str = "UTC") -> When:
    """Return times by the calendar, for ``queue.schedules.put``.

    Args:
        expression: Six fields with spaces between them: minute, hour, day of the month, month, day
            of the week and year. One of the two days must be ``?``.
        time_zone: The name of the time zone, such as ``Europe/Berlin``. Where its clocks are put
            forward, a time that is skipped does not come; where they are put back, a time that
            comes twice fires once.

    Raises:
        InvalidInput: The expression or the time zone is none.

    Examples:
        >>> from lifoq import cron
        >>> print(cron("0 8 ? * MON-FRI *", time_zone="Europe/Berlin"))
        cron(0 8 ? * MON-FRI *) Europe/Berlin
    """
    if not isinstance(expression, str):
        raise InvalidInput("expression", expression, "must be text such as '0 3 * * ? *'")
    fields = expression.removeprefix("cron(").removesuffix(")")
    return _checked("expression", expression, f"cron({' '.join(fields.split())})", time_zone)


def every(interval: Duration) -> When:
    """Return times at a steady rate, for ``queue.schedules.put``. The first is at once.

    Args:
        interval: The time from one to the next, in seconds or as a timedelta: whole minutes.

    Raises:
        InvalidInput: The interval is no number of whole minutes.

    Examples:
        >>> from datetime import timedelta
        >>> from lifoq import every
        >>> print(every(300), every(timedelta(days=1)))
        rate(5 minutes) rate(1 day)
    """
    whole, rest = divmod(duration("interval", interval), 60_000_000)
    if rest or whole < 1:
        problem = (
            "must be whole minutes, in seconds or as a timedelta: EventBridge Scheduler knows no "
            "shorter ones"
        )
        raise InvalidInput("interval", interval, problem)
    unit, size = next(one for one in _UNITS if whole * 60 % one[1] == 0)
    number = whole * 60 // size
    return When(f"rate({number} {unit}{'s' * (number > 1)})")


def at(moment: datetime) -> When:
    """Return the one time at which a schedule fires, for ``queue.schedules.put``. The schedule is
    gone after that.

    Args:
        moment: The time, with a zone; parts of a second are dropped.

    Raises:
        InvalidInput: The time has no zone.

    Examples:
        >>> from datetime import UTC, datetime
        >>> from lifoq import at
        >>> print(at(datetime(2030, 1, 31, 12, 30, tzinfo=UTC)))
        at(2030-01-31T12:30:00) UTC
    """
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise InvalidInput("moment", moment, "must be a datetime with a time zone")
    return When(f"at({moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S})")


def check(when: Any) -> When:
    """Return it, if it is a ``When`` that EventBridge Scheduler takes. InvalidInput."""
    if not isinstance(when, When):
        problem = 'must be cron("0 3 * * ? *"), every(300) or at(datetime(…))'
        raise InvalidInput("when", when, problem)
    return _checked("when", when.expression, when.expression, when.time_zone)


def check_expression(field: str, expression: str) -> None:
    """Raise InvalidInput where the expression is none of EventBridge Scheduler's."""
    _checked(field, expression, expression, "UTC")


def check_time_zone(name: str) -> None:
    """Raise InvalidInput where the name is no time zone."""
    known = _time_zones()
    if not isinstance(name, str) or (known and name not in known):
        close = difflib.get_close_matches(str(name), known, n=1)
        remedy = f"did you mean {close[0]}" if close else "choose one such as Europe/Berlin"
        raise InvalidInput("time_zone", name, f"is no time zone: {remedy}")


def _checked(field: str, given: Any, expression: str, time_zone: str) -> When:
    check_time_zone(time_zone)
    if not _FORM.fullmatch(expression):
        problem = "must be rate(5 minutes), cron(0 3 * * ? *) or at(2026-01-31T12:00:00)"
        raise InvalidInput(field, given, problem)
    if len(expression) > LONGEST_EXPRESSION:
        problem = f"is longer than the {LONGEST_EXPRESSION} characters that it may have: shorten it"
        raise InvalidInput(field, given, problem)
    try:
        parse(expression)
    except UnsupportedExpressionError:
        pass  # AWS judges it
    except InvalidExpressionError as error:
        reason = str(error).partition(f"{expression}: ")[2].removesuffix(".")
        problem = f"is no schedule expression: {reason}"
        raise InvalidInput(field, given, problem) from error
    return When(expression, time_zone)


@cache
def _time_zones() -> frozenset[str]:
    """Return the names of all time zones. Python looks through its database for each answer, which
    takes longer than a call of AWS. Empty where it has no database, as in some slim containers: AWS
    judges then."""
    return frozenset(zoneinfo.available_timezones())


def passed(when: When, now: datetime) -> bool:
    """True if it is one time, and that is over."""
    return when.is_once and parse(when.expression, when.time_zone).following(now, now) is None
