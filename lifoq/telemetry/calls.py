"""The span of a handler's call, for one task or for a batch, and what is counted of it."""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode

from lifoq.basics.host import MICROSECONDS
from lifoq.items.task import Task
from lifoq.items.task_error import TaskError
from lifoq.items.traceparent import if_one
from lifoq.telemetry import conventions as c


class CallSpan:
    """The span of one call of a handler. It begins before the handler, and ends with the latest
    outcome of its tasks: that of a handler that hangs ends when its time is over. Thread-safe.

    It links to the span in which each task was put. For one task, that is its parent as well, so
    that one trace shows the whole way. A batch has tasks of many traces, so it is in none of them;
    nor is a batch of one, or the form of a trace would depend on the load.
    """

    def __init__(self, tasks: Sequence[Task], *, batched: bool, now: int) -> None:
        """Begin the span, at epoch microseconds ``now``. ``batched``: the type has batches."""
        first = tasks[0]
        self._attributes: c.Attributes = {
            c.SYSTEM: "lifoq",
            c.OPERATION: "process",
            c.OPERATION_TYPE: "process",
            c.DESTINATION: first.task_type,
        }
        own = {c.BATCH: len(tasks)} if batched else _of_message(first)
        parent = None if batched else if_one(first.traceparent)
        self._span: Span = c.TRACER.start_span(
            f"process {first.task_type}",
            context=None if parent is None else c.context_of(parent),
            kind=SpanKind.CONSUMER,
            attributes={**self._attributes, **own},
            links=[
                c.link(put_in, _of_message(task))
                for task in tasks
                if (put_in := if_one(task.traceparent)) is not None
            ],
            start_time=_nanoseconds(now),
        )
        self.traceparent: str | None = c.traceparent(trace.set_span_in_context(self._span))
        """The W3C traceparent of the span. What an attempt sends on, and its follow-up tasks, lead
        back to it."""
        c.CONSUMED.add(len(tasks), self._attributes)
        self._began = self._ended = now

        # Written under the lock.
        self._lock = threading.Lock()
        self._open = {task.task_id for task in tasks}
        """Ids of the tasks whose outcome is not known."""
        self._error_types = set[str]()
        self._fault: str | None = None
        """The message of the first error that counts as a failure."""

    def current(self) -> AbstractContextManager[object]:
        """Return a context manager in which this is the current span."""
        return trace.use_span(
            self._span,
            end_on_exit=False,
            record_exception=False,
            set_status_on_exception=False,
        )

    def settled(
        self, task_id: str, error: TaskError | None, *, is_fault: bool, decided: int
    ) -> None:
        """Tell the outcome of a task, which was decided at epoch microseconds ``decided``.

        ``error``: None after a success. ``is_fault``: the attempt counts as failed. A task that was
        cancelled, refused for lack of room or handed back has an error that is no fault.
        """
        with self._lock:
            if task_id not in self._open:
                return
            self._open.remove(task_id)
            self._ended = max(self._ended, decided)
            if error is not None:
                self._error_types.add(error.type)
                self._span.add_event("exception", _exception(task_id, error), _nanoseconds(decided))
                if is_fault and self._fault is None:
                    self._fault = error.message
            if not self._open:
                self._end()

    def _end(self) -> None:
        if self._error_types:
            one = next(iter(self._error_types)) if len(self._error_types) == 1 else c.SEVERAL
            self._attributes[c.ERROR_TYPE] = one
            self._span.set_attribute(c.ERROR_TYPE, one)
        if self._fault is not None:
            self._span.set_status(StatusCode.ERROR, self._fault)
        self._span.end(_nanoseconds(self._ended))
        c.PROCESS_DURATION.record((self._ended - self._began) / MICROSECONDS, self._attributes)


def _nanoseconds(microseconds: int) -> int:
    """Return a time as OpenTelemetry has it."""
    return microseconds * 1_000


def _of_message(task: Task) -> c.Attributes:
    return {c.MESSAGE_ID: task.task_id, c.ATTEMPT: task.attempts}


def _exception(task_id: str, error: TaskError) -> dict[str, str]:
    """Return the attributes of the event that tells an error."""
    where = {} if error.traceback is None else {"exception.stacktrace": error.traceback}
    return {
        c.MESSAGE_ID: task_id,
        "exception.type": error.type,
        "exception.message": error.message,
        **where,
    }
