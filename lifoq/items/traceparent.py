"""The trace that a task belongs to, as the W3C writes it (https://www.w3.org/TR/trace-context/)."""

import re
from typing import Any, Final

from lifoq.errors import InvalidInput

EXAMPLE: Final = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
FORM: Final = r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
"""Version, trace, span and flags; neither trace nor span is all zeros."""


def check(value: Any) -> None:
    """Raise InvalidInput where the value is no traceparent."""
    if not is_one(value):
        problem = f"is no W3C traceparent, such as {EXAMPLE}; leave it out where there is no trace"
        raise InvalidInput("traceparent", value, problem)


def if_one(value: Any) -> str | None:
    """Return the trace context that a header or an attribute says; None where it is malformed. The
    W3C has malformed ones ignored, so a task is not refused for it."""
    return value if is_one(value) else None


def is_one(value: Any) -> bool:
    """Return True for a W3C traceparent."""
    return isinstance(value, str) and re.fullmatch(FORM, value) is not None
