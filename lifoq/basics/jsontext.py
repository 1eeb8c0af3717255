"""JSON as the queue stores it: compact text that reads back as exactly the value written."""

import json
import math
from typing import Any

from lifoq.errors import InvalidInput

MAX_DEPTH = 200
"""Nesting that every reader's stack can bear."""


def encode(value: Any, field: str) -> str:
    """Compact JSON text of ``value``.

    Raises InvalidInput, naming the place below ``field``, for what JSON cannot carry exactly: NaN
    and infinities, keys that are not strings, foreign types, half surrogate pairs, cycles.
    Tuples become lists, the one exception.
    """
    _check(value, field)
    try:
        return _ENCODER.encode(value)
    except ValueError as error:  # an integer of more digits than Python prints
        raise InvalidInput(field, "…", f"{error}; send it as a string") from error


def decode(text: str) -> Any:
    """The value of JSON text; ValueError where it is not JSON."""
    return _DECODER.decode(text)


def size(text: str) -> int:
    """Bytes of ``text`` in UTF-8, which is how DynamoDB counts."""
    return len(text) if text.isascii() else len(text.encode())


def is_text(value: str) -> bool:
    """True if the string can be written as UTF-8, which half a surrogate pair cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check(value: Any, field: str) -> None:
    places = [(value, field, 0)]
    while places:
        here, place, depth = places.pop()
        if depth > MAX_DEPTH:
            problem = f"is nested deeper than {MAX_DEPTH} levels (or contains itself); flatten it"
            raise InvalidInput(field, "…", problem)
        if isinstance(here, dict):
            _check_keys(here, place)
            places.extend((inner, f"{place}.{key}", depth + 1) for key, inner in here.items())
        elif isinstance(here, list | tuple):
            places.extend((inner, f"{place}[{i}]", depth + 1) for i, inner in enumerate(here))
        else:
            _check_leaf(here, place)


def _check_keys(value: dict[Any, Any], place: str) -> None:
    for key in value:
        if not isinstance(key, str) or not is_text(key):
            raise InvalidInput(place, key, "is not a JSON key; keys must be strings of Unicode")


def _check_leaf(value: Any, place: str) -> None:
    if isinstance(value, str):
        if not is_text(value):
            raise InvalidInput(place, value, "holds half a surrogate pair; send valid Unicode")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(place, value, "is not a JSON number; send null or a string")
    elif value is not None and not isinstance(value, bool | int):
        kind = type(value).__name__
        problem = f"{kind} is not JSON; use str, int, float, bool, None, list or dict"
        raise InvalidInput(place, value, problem)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""Made once: ``json.dumps`` and ``json.loads`` make new ones for each call."""
