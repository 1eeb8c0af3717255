"""Times and durations, as people write and read them, and as machines do."""

import re
from datetime import UTC, datetime
from typing import Final

from lifoq.basics.host import MICROSECONDS
from lifoq.basics.times import spoken

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

_UNITS: Final = {"": 1, "s": 1, "m": MINUTE, "min": MINUTE, "h": HOUR, "d": DAY}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
EXAMPLE: Final = "2026-11-20T09:30:00Z"


def duration(text: str) -> float:
    """Seconds of ``90``, ``90s``, ``1.5m``, ``2h`` or ``1d``. ValueError."""
    found = _DURATION.fullmatch(text.strip())
    if not found or found[2] not in _UNITS:
        raise ValueError(f"{text!r} is no duration: give one such as 30s, 5m, 2h or 1d")
    return float(found[1]) * _UNITS[found[2]]


def moment(text: str) -> datetime:
    """The moment of an ISO time; without a zone, it is this machine's. ValueError."""
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone() if found.tzinfo is None else found
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no ISO time: give one such as {EXAMPLE}") from None


def moment_to_come(text: str) -> datetime:
    """Return a moment to come. Raises ValueError, also for one that has passed."""
    found = moment(text)
    if found <= datetime.now(UTC):
        raise ValueError(f"{text} has passed: leave it out, and the task enters the queue at once")
    return found


def duration_or_moment(text: str) -> float | datetime:
    """Return a duration or a moment. Raises ValueError."""
    for convert in (duration, moment):
        try:
            return convert(text)
        except ValueError:
            continue
    raise ValueError(
        f"{text!r} is neither a duration such as 30s, 5m, 2h or 1d, nor an ISO time such as "
        f"{EXAMPLE}"
    )


def local(microseconds: int, *, now: int) -> str:
    """Return a time by this machine's clock, and how far away it is: ``09:30:00, 3 min ago``."""
    there = datetime.fromtimestamp(microseconds / MICROSECONDS).astimezone()
    today = datetime.fromtimestamp(now / MICROSECONDS).astimezone().date()
    clock = f"{there:%H:%M:%S}" if there.date() == today else f"{there:%Y-%m-%d %H:%M:%S}"
    return f"{clock}, {distance(microseconds, now=now)}"


def distance(microseconds: int, *, now: int) -> str:
    """``3 min ago``, ``in 5 s``."""
    away = (microseconds - now) / MICROSECONDS
    return f"in {spoken(away)}" if away > 0 else f"{spoken(-away)} ago"
