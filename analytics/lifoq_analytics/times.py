"""Epoch microseconds, which everything is computed in, and the ISO text that people read."""

import datetime as dt
from typing import Final

MICROS: Final = 1_000_000
"""Microseconds in a second."""

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


def from_iso(text: str) -> int:
    """Epoch microseconds of an ISO time; without an offset it is UTC.

    Raises ``ValueError`` for anything else.
    """
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return (moment - _EPOCH) // _MICROSECOND
