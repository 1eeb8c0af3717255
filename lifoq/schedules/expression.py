"""The times at which a schedule fires: ``rate(...)``, ``cron(...)`` and ``at(...)``.

https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
"""

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo

_UNITS = {"minute": 60, "hour": 3600, "day": 86400}
_LONGEST_RATE = timedelta(days=100 * 365)
_MONTHS = {name.upper(): number for number, name in enumerate(calendar.month_abbr) if name}
_DAYS = {"SUN": 1, "MON": 2, "TUE": 3, "WED": 4, "THU": 5, "FRI": 6, "SAT": 7}


class InvalidExpressionError(ValueError):
    """An expression, or a time zone, that AWS refuses."""


class UnsupportedExpressionError(ValueError):
    """An expression that AWS runs, and that is not understood here."""


class Expression(Protocol):
    """When to fire."""

    def following(self, moment: datetime, anchor: datetime) -> datetime | None:
        """The first time after the moment, for a schedule that is in force since the anchor."""


@dataclass(frozen=True)
class Rate:
    """Every so often, beginning at once."""

    interval: timedelta

    def following(self, moment: datetime, anchor: datetime) -> datetime | None:
        """Return the first time after the moment; the anchor is one."""
        if moment < anchor:
            return anchor
        return anchor + self.interval * ((moment - anchor) // self.interval + 1)


@dataclass(frozen=True)
class At:
    """The expression of one moment."""

    when: datetime

    def following(self, moment: datetime, anchor: datetime) -> datetime | None:  # noqa: ARG002
        """Return the one time, if it is after the moment."""
        return self.when if self.when > moment else None


@dataclass(frozen=True, kw_only=True)
class Cron:
    """The expression of moments by the calendar of a time zone."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int] | None
    months: frozenset[int]
    weekdays: frozenset[int] | None
    years: frozenset[int]
    zone: tzinfo

    def following(self, moment: datetime, anchor: datetime) -> datetime | None:  # noqa: ARG002
        """Return the first time of the calendar after the moment."""
        local = moment.astimezone(self.zone).replace(second=0, microsecond=0, tzinfo=None)
        candidate, last = local + timedelta(minutes=1), max(self.years)
        while candidate.year <= last:
            if candidate.year not in self.years:
                candidate = datetime(candidate.year + 1, 1, 1)  # noqa: DTZ001 - of the zone's clock
            elif candidate.month not in self.months:
                first = candidate.replace(day=1, hour=0, minute=0)
                candidate = (first + timedelta(days=31)).replace(day=1)
            elif not self._day(candidate):
                candidate = candidate.replace(hour=0, minute=0) + timedelta(days=1)
            elif candidate.hour not in self.hours:
                candidate = candidate.replace(minute=0) + timedelta(hours=1)
            elif candidate.minute not in self.minutes:
                candidate += timedelta(minutes=1)
            elif (found := self._in_utc(candidate)) is not None and found > moment:
                return found
            else:
                candidate += timedelta(minutes=1)
        return None

    def _in_utc(self, local: datetime) -> datetime | None:
        """Return when a clock of the zone first shows a time; None where it is put forward past
        it."""
        found = local.replace(tzinfo=self.zone).astimezone(UTC)
        shown = found.astimezone(self.zone).replace(tzinfo=None)
        return found if shown == local else None

    def _day(self, moment: datetime) -> bool:
        weekday = moment.isoweekday() % 7 + 1
        return (self.days is None or moment.day in self.days) and (
            self.weekdays is None or weekday in self.weekdays
        )


def parse(expression: str, timezone: str = "UTC") -> Expression:
    """Read an expression. Raises InvalidExpressionError or UnsupportedExpressionError, naming
    it."""
    try:
        # UTC needs no time zone database, which some slim containers lack.
        zone = UTC if timezone == "UTC" else ZoneInfo(timezone)
    except (KeyError, ValueError, OSError) as error:
        raise InvalidExpressionError(
            f"Invalid Schedule Expression Timezone {timezone}: there is no such time zone."
        ) from error
    try:
        return _expression(expression, zone)
    except UnsupportedExpressionError as error:
        raise UnsupportedExpressionError(
            f"The schedule expression {expression} is not supported: {error}."
        ) from error
    except ValueError as error:
        raise InvalidExpressionError(
            f"Invalid Schedule Expression {expression}: {error}."
        ) from error


def _expression(text: str, zone: tzinfo) -> Expression:
    found = re.fullmatch(r"(rate|at|cron)\((.*)\)", text)
    match found and found[1], found and found[2]:
        case "rate", str(value):
            return _rate(value)
        case "at", str(value):
            return _at(value, zone)
        case "cron", str(value):
            return _cron(value, zone)
    raise ValueError("it has to be rate(…), cron(…) or at(…)")


def _rate(text: str) -> Rate:
    found = re.fullmatch(r"([0-9]{1,9}) (minute|hour|day)s?", text)
    if found is None:
        raise ValueError("a rate is a number, and minutes, hours or days")
    interval = timedelta(seconds=int(found[1]) * _UNITS[found[2]])
    if not timedelta(0) < interval <= _LONGEST_RATE:
        raise ValueError("a rate is more than nothing, and at most 100 years")
    return Rate(interval)


def _at(text: str, zone: tzinfo) -> At:
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", text, re.ASCII):
        raise ValueError("a time is such as 2026-01-31T12:00:00")
    moment = datetime.fromisoformat(text).replace(tzinfo=zone)
    try:
        return At(moment.astimezone(UTC))
    except OverflowError as error:
        raise ValueError(str(error)) from error


def _cron(text: str, zone: tzinfo) -> Cron:
    fields = text.upper().split()
    if len(fields) != 6:  # noqa: PLR2004 - as AWS has it
        raise ValueError("cron has six fields")
    minute, hour, day, month, weekday, year = fields
    if (day == "?") == (weekday == "?"):
        raise ValueError("one of the day of the month and the day of the week has to be ?")
    if re.search(r"[LW#]", re.sub(r"WED|JUL", "", f"{day} {weekday}")):
        raise UnsupportedExpressionError("L, W and # are not imitated")
    return Cron(
        minutes=_values(minute, 0, 59),
        hours=_values(hour, 0, 23),
        days=None if day == "?" else _values(day, 1, 31),
        months=_values(month, 1, 12, _MONTHS),
        weekdays=None if weekday == "?" else _values(weekday, 1, 7, _DAYS),
        years=_values(year, 1970, 2199),
        zone=zone,
    )


def _values(field: str, low: int, high: int, names: dict[str, int] | None = None) -> frozenset[int]:
    """The numbers that a cron field names: ``*``, lists, ranges, steps and names."""

    def number(text: str) -> int:
        value = (names or {}).get(text)
        if value is None and re.fullmatch("[0-9]{1,4}", text):
            value = int(text)
        if value is None or not low <= value <= high:
            raise ValueError(f"{text or field} is not between {low} and {high}")
        return value

    values: set[int] = set()
    for part in field.split(","):
        found = re.fullmatch(r"([^-/]+)(?:-([^-/]+))?(?:/([1-9][0-9]{0,3}))?", part)
        if found is None:
            raise ValueError(f"{part or field} is no value, range or step")
        first, last, step = found.groups()
        if first == "*" and last is not None:
            raise ValueError(f"{part} is no value, range or step")
        start = low if first == "*" else number(first)
        # "5/15" runs to the end, as "*/15" does; "5" is 5 alone.
        open_end = high if first == "*" or step else start
        stop = number(last) if last else open_end
        if stop < start:
            raise UnsupportedExpressionError(f"{part} runs backwards")
        values.update(range(start, stop + 1, int(step or 1)))
    return frozenset(values)
