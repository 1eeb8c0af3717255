"""Facts that the exports cannot tell: the queue's name, and what was done to it when.

    {
      "queue": "orders", "stage": "prod",
      "phases": [{"name": "sale", "from": "2026-11-20T09:00:00Z", "to": "2026-11-20T12:00:00Z"}],
      "events": [{"name": "paused", "at": "2026-11-20T10:30:00Z"}],
      "alarms": {"oldest_waiting_seconds": 2880}
    }

Everything may be left out.
"""

import json
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, Final

from lifoq.basics.times import iso
from lifoq_analytics import times
from lifoq_analytics.errors import OptionError

OPTION: Final = "--about"

NOTHING: Final[Mapping[str, Any]] = {
    "queue": None,
    "stage": None,
    "phases": [],
    "events": [],
    "alarms": {},
}
_ALARMS: Final = ("oldest_waiting_seconds",)


def read(given: str) -> dict[str, Any]:
    """Read what the option tells, from JSON or from a file that holds it. Raises
    ``OptionError``."""
    text = given
    if not given.lstrip().startswith("{"):
        try:
            text = Path(given).read_text()
        except OSError as error:
            raise OptionError(
                OPTION, given, "is neither a JSON object nor a file that can be read."
            ) from error
    try:
        return parse(json.loads(text))
    except json.JSONDecodeError as error:
        raise OptionError(OPTION, given, f"is not JSON: {error}.") from error
    except ValueError as error:
        raise OptionError(OPTION, given, f"{error}; see docs/analytics.md.") from error


def parse(data: Any) -> dict[str, Any]:
    """Return what was told, with all its keys, and times as the report writes them. Raises
    ``ValueError``."""
    given = _object("it", data, NOTHING)
    return {
        "queue": _text("queue", given.get("queue")),
        "stage": _text("stage", given.get("stage")),
        "phases": [
            _named(phase, f"phase {number}", "from", "to")
            for number, phase in enumerate(_list("phases", given), start=1)
        ],
        "events": [
            _named(event, f"event {number}", "at")
            for number, event in enumerate(_list("events", given), start=1)
        ],
        "alarms": {
            name: _seconds(name, seconds)
            for name, seconds in _object("alarms", given.get("alarms", {}), _ALARMS).items()
        },
    }


def _named(data: Any, what: str, *times_of: str) -> dict[str, Any]:
    given = _object(what, data, ("name", *times_of))
    for key in ("name", *times_of):
        if key not in given:
            raise ValueError(f"{what} has no {key!r}")
    moments = {key: _moment(f"{key!r} of {what}", given[key]) for key in times_of}
    return {"name": _text(f"'name' of {what}", given["name"]), **moments}


def _object(what: str, data: Any, keys: Container[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ValueError(f"{what} is no JSON object but {data!r}")  # noqa: TRY004 - bad input
    if unknown := [key for key in data if key not in keys]:
        raise ValueError(f"{what} has the unknown key {unknown[0]!r}")
    return data


def _list(key: str, data: Mapping[str, Any]) -> list[Any]:
    value = data.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key!r} is no list but {value!r}")  # noqa: TRY004 - bad input
    return value


def _text(what: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{what} is no text but {value!r}")
    return value


def _seconds(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ValueError(f"{what!r} is no number of seconds but {value!r}")
    return float(value)


def _moment(what: str, value: Any) -> str:
    try:
        return iso(times.from_iso(value))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{what} is {value!r}, which is no ISO time such as 2026-11-20T09:30:00Z"
        ) from error
