"""OpenTelemetry's semantic conventions for messaging, as far as lifoq follows them: names of
attributes, tracer and instruments, and the traceparent of tasks.

https://opentelemetry.io/docs/specs/semconv/messaging/
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import Histogram
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from lifoq.items.task import NewTask

Attributes = dict[str, str | int]

SYSTEM: Final = "messaging.system"
OPERATION: Final = "messaging.operation.name"
OPERATION_TYPE: Final = "messaging.operation.type"
DESTINATION: Final = "messaging.destination.name"
"""The task type. Handlers are registered for a type, as consumers are for a topic of a broker."""
MESSAGE_ID: Final = "messaging.message.id"
BATCH: Final = "messaging.batch.message_count"
ATTEMPT: Final = "messaging.lifoq.message.attempt"
"""The number of the attempt, from 1."""
ERROR_TYPE: Final = "error.type"
SEVERAL: Final = "_OTHER"
"""The conventions' ``error.type`` where no single one applies."""

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""The buckets that the conventions name."""

_VERSION: Final = str(import_module("lifoq").__version__)  # the room above all of the library's
# The process may set up its SDK after this: until then these are the API's proxies for it.
TRACER: Final = trace.get_tracer("lifoq", _VERSION)
_METER: Final = metrics.get_meter("lifoq", _VERSION)


def _histogram(name: str, description: str) -> Histogram:
    try:
        return _METER.create_histogram(
            name, "s", description, explicit_bucket_boundaries_advisory=_SECONDS
        )
    except TypeError:  # API or SDK are older than 1.30, as a layer of Lambda may bring them
        return _METER.create_histogram(name, "s", description)


SENT: Final = _METER.create_counter(
    "messaging.client.sent.messages", "{message}", "Tasks that were put."
)
PUT_DURATION: Final = _histogram("messaging.client.operation.duration", "Duration of puts.")
CONSUMED: Final = _METER.create_counter(
    "messaging.client.consumed.messages", "{message}", "Tasks that handlers were called for."
)
PROCESS_DURATION: Final = _histogram("messaging.process.duration", "Duration of handlers' calls.")

_W3C: Final = TraceContextTextMapPropagator()
"""Tasks carry the W3C's form, whichever the process uses elsewhere."""


def traceparent(context: Context | None = None) -> str | None:
    """Return the W3C traceparent of the span in ``context``, by default the current one; None if
    there is none."""
    carrier: dict[str, str] = {}
    _W3C.inject(carrier, context)
    return carrier.get("traceparent")


def context_of(traceparent: str) -> Context:
    """Return a context with the span that a traceparent names."""
    return _W3C.extract({"traceparent": traceparent}, Context())


def link(traceparent: str, attributes: Mapping[str, Any] | None = None) -> trace.Link:
    """Return a link to the span that a traceparent names."""
    span = trace.get_current_span(context_of(traceparent))
    return trace.Link(span.get_span_context(), attributes)


def within(new: NewTask, traceparent: str | None) -> NewTask:
    """Return a task with this span in it, unless it names one, or is no task: its put says so."""
    return new.within(traceparent) if isinstance(new, NewTask) else new
