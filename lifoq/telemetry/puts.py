"""The producer span of a put, and what is counted of it.

The span's context is what the task carries, so that each attempt leads back to it. Where the caller
gives a traceparent, the task carries that: the span then links to it, and is no producer's.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from opentelemetry.trace import Span, SpanKind, StatusCode

from lifoq.errors import InvalidInput
from lifoq.items import traceparent
from lifoq.items.task import NewTask, Task
from lifoq.store.puts import PutOutcome
from lifoq.telemetry import conventions as c


def put(new: NewTask, write: Callable[[NewTask], Task]) -> Task:
    """Put a task by ``write``, within a span."""
    attributes = _attributes([new])
    with _sending([new], attributes) as span:
        task = write(c.within(new, c.traceparent()))
        span.set_attribute(c.MESSAGE_ID, task.task_id)
        c.SENT.add(1, attributes)
        return task


def put_many(
    new: list[NewTask], write: Callable[[list[NewTask]], list[PutOutcome]]
) -> list[PutOutcome]:
    """Put tasks by ``write``, within one span."""
    attributes = _attributes(new)
    with _sending(new, attributes) as span:
        span.set_attribute(c.BATCH, len(new))
        own = c.traceparent()
        outcomes = write([c.within(each, own) for each in new])
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        if stored := len(outcomes) - len(errors):
            c.SENT.add(stored, attributes)
        for error in errors:
            _fail(span, error, attributes)
        return outcomes


@contextmanager
def _sending(new: Sequence[NewTask], attributes: c.Attributes) -> Iterator[Span]:
    """Let the puts be sent within a current span. An error that is raised in it is told, and
    counted as one of each task."""
    given = [own for each in new if (own := traceparent.if_one(getattr(each, "traceparent", None)))]
    destination = attributes.get(c.DESTINATION)
    began, failed = perf_counter(), c.Attributes()
    with c.TRACER.start_as_current_span(
        "put" if destination is None else f"put {destination}",
        kind=SpanKind.CLIENT if len(given) == len(new) else SpanKind.PRODUCER,
        attributes=attributes,
        links=[c.link(each) for each in dict.fromkeys(given)],
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except Exception as error:
            failed = {c.ERROR_TYPE: type(error).__name__}
            sent = 0 if isinstance(error, InvalidInput) else len(new)
            _fail(span, error, attributes, sent=sent)
            raise
        finally:
            c.PUT_DURATION.record(perf_counter() - began, {**attributes, **failed})


def _attributes(new: Sequence[NewTask]) -> c.Attributes:
    types = {str(getattr(each, "task_type", None)) for each in new}
    one = {c.DESTINATION: types.pop()} if len(types) == 1 else {}
    return {c.SYSTEM: "lifoq", c.OPERATION: "put", c.OPERATION_TYPE: "send", **one}


def _fail(span: Span, error: Exception, attributes: c.Attributes, *, sent: int = 1) -> None:
    """``sent``: tasks of which nobody knows whether they were stored."""
    kind = type(error).__name__
    span.set_attribute(c.ERROR_TYPE, kind)
    span.set_status(StatusCode.ERROR, str(error))
    if sent:
        c.SENT.add(sent, {**attributes, c.ERROR_TYPE: kind})
