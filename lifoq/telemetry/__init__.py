"""Spans and metrics of puts and handlers, where the process uses OpenTelemetry.

``puts`` and ``calls`` make them. They import OpenTelemetry's API, so they are imported only where
``is_used``.
"""

import logging
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lifoq.items.task import NewTask, Task
    from lifoq.store.puts import PutOutcome
    from lifoq.telemetry.calls import CallSpan

log = logging.getLogger("lifoq.telemetry")


def is_used() -> bool:
    """Return True if somebody has imported OpenTelemetry's API in this process, as whoever sets up
    its SDK does. Without an SDK no span would go anywhere. Where nobody has, this imports nothing,
    and costs a look into a dictionary."""
    return "opentelemetry.trace" in sys.modules and _fits()


@cache
def _fits() -> bool:
    """Return True if the API has what is needed; else say so, once. A task runs without a span
    rather than not at all."""
    try:
        from lifoq.telemetry import conventions  # noqa: F401, PLC0415 - where it is used
    except ImportError as error:
        log.warning("no spans are made: OpenTelemetry's API is too old for lifoq (%s)", error)
        return False
    return True


def put(new: "NewTask", write: "Callable[[NewTask], Task]") -> "Task":
    """Put a task by ``write``, in a producer span that the task carries."""
    if not is_used():
        return write(new)
    from lifoq.telemetry import puts  # noqa: PLC0415 - where it is used

    return puts.put(new, write)


def put_many(
    new: "list[NewTask]", write: "Callable[[list[NewTask]], list[PutOutcome]]"
) -> "list[PutOutcome]":
    """Put tasks by ``write``, in one producer span that all of them carry."""
    if not is_used():
        return write(new)
    from lifoq.telemetry import puts  # noqa: PLC0415 - where it is used

    return puts.put_many(new, write)


def in_current_trace(new: "NewTask") -> "NewTask":
    """Return a task that is put by somebody else, with the caller's span in it."""
    if not is_used():
        return new
    from lifoq.telemetry import conventions  # noqa: PLC0415 - where it is used

    return conventions.within(new, conventions.traceparent())


def call_span(tasks: "Sequence[Task]", *, batched: bool, now: int) -> "CallSpan | None":
    """Begin the span of a handler's call for these tasks, at epoch microseconds ``now``. None where
    OpenTelemetry is not used. ``batched``: the type of the tasks has batches."""
    if not is_used():
        return None
    from lifoq.telemetry.calls import CallSpan  # noqa: PLC0415 - where it is used

    return CallSpan(tasks, batched=batched, now=now)
