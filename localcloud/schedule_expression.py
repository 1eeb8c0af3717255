"""When a schedule fires: ``rate(...)``, ``cron(...)`` and ``at(...)``.

https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
"""

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_MONTHS = {name.upper(): number for number, name in enumerate(calendar.month_abbr) if name}
_DAYS = {"SUN": 1, "MON": 2, "TUE": 3, "WED": 4, "THU": 5, "FRI": 6, "SAT": 7}
_HORIZON = timedelta(days=4 * 366)
"""Further ahead nobody looks: 29 February comes within it."""


class UnsupportedExpressionError(ValueError):
    """An expression that this cloud cannot run."""


class Expression(Protocol):
    """When to fire."""

    def following(self, moment: datetime, anchor: datetime) -> datetime | None:
        """The first time after the moment, for a schedule that is in force since the anchor."""


@dataclass(frozen=True)
class Rate:
    """Every so often, beginning at once."""

    interval: timedelta

    def following(self, moment: datetime, anchor: datetime) -> datetime | None:
        if moment < anchor:
            return anchor
        return anchor + self.interval * ((moment - anchor) // self.interval + 1)


@dataclass(frozen=True)
class At:
    """Once."""

    when: datetime

    def following(self, moment: datetime, anchor: datetime) -> datetime | None:  # noqa: ARG002
        return self.when if self.when > moment else None


@dataclass(frozen=True, kw_only=True)
class Cron:
    """By the calendar of a time zone."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int] | None
    months: frozenset[int]
    weekdays: frozenset[int] | None
    years: frozenset[int]
    zone: ZoneInfo

    def following(self, moment: datetime, anchor: datetime) -> datetime | None:  # noqa: ARG002
        local = moment.astimezone(self.zone).replace(second=0, microsecond=0, tzinfo=None)
        candidate, end = local + timedelta(minutes=1), local + _HORIZON
        while candidate < end:
            if not self._day(candidate):
                candidate = candidate.replace(hour=0, minute=0) + timedelta(days=1)
            elif candidate.hour not in self.hours:
                candidate = candidate.replace(minute=0) + timedelta(hours=1)
            elif candidate.minute not in self.minutes:
                candidate += timedelta(minutes=1)
            else:
                return candidate.replace(tzinfo=self.zone).astimezone(UTC)
        return None

    def _day(self, moment: datetime) -> bool:
        weekday = moment.isoweekday() % 7 + 1
        return (
            moment.year in self.years
            and moment.month in self.months
            and (self.days is None or moment.day in self.days)
            and (self.weekdays is None or weekday in self.weekdays)
        )


def parse(expression: str, timezone: str = "UTC") -> Expression:
    """Read an expression. Raises UnsupportedExpressionError, naming it."""
    zone = ZoneInfo(timezone)
    if match := re.fullmatch(r"rate\((\d+) (second|minute|hour|day)s?\)", expression):
        return Rate(timedelta(seconds=int(match[1]) * _UNITS[match[2]]))
    if match := re.fullmatch(r"at\((\S+)\)", expression):
        return At(datetime.fromisoformat(match[1]).replace(tzinfo=zone).astimezone(UTC))
    fields = re.fullmatch(r"cron\((.+)\)", expression)
    if fields is None or len(fields[1].split()) != 6:  # noqa: PLR2004 - as AWS has it
        raise UnsupportedExpressionError(f"The schedule expression {expression} is not supported.")
    minute, hour, day, month, weekday, year = fields[1].upper().split()
    try:
        return Cron(
            minutes=_values(minute, 0, 59),
            hours=_values(hour, 0, 23),
            days=None if day == "?" else _values(day, 1, 31),
            months=_values(month, 1, 12, _MONTHS),
            weekdays=None if weekday == "?" else _values(weekday, 1, 7, _DAYS),
            years=_values(year, 1970, 2199),
            zone=zone,
        )
    except ValueError as error:
        raise UnsupportedExpressionError(
            f"The schedule expression {expression} is not supported: {error}."
        ) from error


def _values(field: str, low: int, high: int, names: dict[str, int] | None = None) -> frozenset[int]:
    """The numbers that a cron field names: ``*``, lists, ranges, steps and names."""

    def number(text: str) -> int:
        return (names or {}).get(text) or int(text)

    values: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        start = low if span == "*" else number(first)
        # "5/15" runs to the end, as "*/15" does; "5" is 5 alone.
        open_end = high if span == "*" or step else start
        stop = number(last) if last else open_end
        values.update(range(start, stop + 1, int(step or 1)))
    return frozenset(values)
