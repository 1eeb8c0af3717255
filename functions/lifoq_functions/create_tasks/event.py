"""The event that a schedule invokes the function with."""

from collections.abc import Mapping
from typing import Any, Final

from lifoq.errors import InvalidInput
from lifoq.items.task import NewTask
from lifoq.items.terms import Door, at

LOAD: Final = "load"
TERMS: Final = {term.at(Door.RECURRING): term.name for term in at(Door.RECURRING)}
"""The library's name of each term of the event."""


def new_task(event: Mapping[str, Any]) -> NewTask:
    """Return the task that the event puts, or of which it makes load. InvalidInput."""
    known = (*TERMS, LOAD)
    if unknown := sorted(set(event) - set(known)):
        raise InvalidInput("event", unknown, f"are unknown; known are {', '.join(known)}")
    terms = {TERMS[name]: value for name, value in event.items() if name in TERMS}
    return NewTask(**{"task_type": "", **terms})
