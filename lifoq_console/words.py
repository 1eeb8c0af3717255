"""Numbers and times as a person would say them."""

import datetime as dt
import json
from typing import Any, Final

from lifoq.errors import InvalidInput
from lifoq_cli import moments

NONE: Final = "–"
_GAP: Final = "\N{NO-BREAK SPACE}"
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def duration(seconds: float | None) -> str:
    """``85 ms``, ``4.2 s``, ``3 min 20 s``, ``2 d 4 h``."""
    if seconds is None:
        return NONE
    if seconds < 1:
        return f"{max(0, round(seconds * 1_000))}{_GAP}ms"
    if seconds < 10:  # noqa: PLR2004 - below it a tenth of a second matters
        return f"{seconds:.1f}{_GAP}s"
    parts, rest = [], round(seconds)
    for size, unit in _UNITS:
        wholes, rest = divmod(rest, size)
        parts.append(f"{wholes}{_GAP}{unit}" if wholes else "")
    first = next(at for at, part in enumerate(parts) if part)
    return " ".join(part for part in parts[first : first + 2] if part)


def moment(microseconds: int | None) -> str:
    """In UTC, to the millisecond."""
    if microseconds is None:
        return NONE
    time = dt.datetime.fromtimestamp(microseconds / 1e6, dt.UTC)
    return f"{time:%Y-%m-%d %H:%M:%S}.{time.microsecond // 1000:03d}"


def clock(seconds: int) -> str:
    return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%H:%M}"


def number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def pretty(value: Any) -> str:
    """JSON that a person reads."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def seconds(field: str, text: str) -> float | None:
    """Of ``90``, ``90 s``, ``5 min``, ``2h``; None of nothing. InvalidInput of anything else."""
    try:
        return moments.duration(text) if text else None
    except ValueError as error:
        raise InvalidInput(field, text, "is no duration; write 90 s, 5 min, 2 h or 1 d") from error
