"""Spans and metrics of OpenTelemetry, as its SDK keeps them in memory: what a put and a handler's
call tell, by the semantic conventions for messaging."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from lifoq import (
    Busy,
    Cancelled,
    Cells,
    Done,
    Fail,
    InvalidInput,
    NewTask,
    Processor,
    Queue,
    Registry,
    Retry,
    StoreUnavailable,
    TaskError,
    WorkerSettings,
    telemetry,
)
from lifoq.items.traceparent import EXAMPLE
from lifoq.store.puts import PutOutcome
from lifoq.telemetry import conventions

Spans = Callable[[], list[ReadableSpan]]
DELTA = dict.fromkeys((Counter, Histogram), AggregationTemporality.DELTA)
COMMON = {"messaging.system": "lifoq", "messaging.destination.name": "a"}
SEND = {**COMMON, "messaging.operation.name": "put", "messaging.operation.type": "send"}
PROCESS = {**COMMON, "messaging.operation.name": "process", "messaging.operation.type": "process"}


@pytest.fixture
def spans(monkeypatch) -> Spans:
    """Returns the spans that have ended since it was asked last, the first to end first."""
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(conventions, "TRACER", provider.get_tracer("lifoq"))

    def ended() -> list[ReadableSpan]:
        found = list(kept.get_finished_spans())
        kept.clear()
        return found

    return ended


@pytest.fixture(scope="module")
def reader() -> InMemoryMetricReader:
    """The process has one set-up of metrics, and this is it."""
    reader = InMemoryMetricReader(preferred_temporality=DELTA)
    metrics.set_meter_provider(MeterProvider([reader]))
    return reader


@pytest.fixture
def points(reader) -> Callable[[], dict[str, list[Any]]]:
    """Returns the points that came since it was asked last, by the metric's name."""

    def told() -> dict[str, list[Any]]:
        data = reader.get_metrics_data()
        scopes = [] if data is None else data.resource_metrics[0].scope_metrics
        return {one.name: list(one.data.data_points) for scope in scopes for one in scope.metrics}

    told()
    return told


def current(name: str) -> Any:
    """A span of the caller's own."""
    return conventions.TRACER.start_as_current_span(name)


def named(found: list[ReadableSpan], name: str) -> ReadableSpan:
    (one,) = [span for span in found if span.name == name]
    return one


def own(span: ReadableSpan) -> str:
    """The span's traceparent."""
    found = conventions.traceparent(trace.set_span_in_context(trace.NonRecordingSpan(span.context)))
    assert found is not None
    return found


def links(span: ReadableSpan) -> list[tuple[int, Any]]:
    return [(link.context.span_id, link.attributes["messaging.message.id"]) for link in span.links]


# Puts


def test_a_put_is_a_producer_span_whose_context_the_task_carries(spans):
    queue = Queue.in_memory()
    with current("request"):
        task = queue.put("a", task_id="one")
    put, request = spans()
    assert (put.name, put.kind, put.parent) == ("put a", SpanKind.PRODUCER, request.context)
    assert put.attributes == {**SEND, "messaging.message.id": "one"}
    assert put.status.status_code is StatusCode.UNSET
    assert task.traceparent == queue.get("one").traceparent == own(put)


def test_a_traceparent_of_the_callers_is_carried_as_it_is_and_the_span_links_to_it(spans):
    assert Queue.in_memory().put("a", traceparent=EXAMPLE).traceparent == EXAMPLE
    (put,) = spans()
    assert put.kind is SpanKind.CLIENT
    (link,) = put.links
    assert f"{link.context.trace_id:x}-{link.context.span_id:016x}" in EXAMPLE


@pytest.mark.parametrize(
    "queue",
    [Queue.in_memory(), Cells([Queue.in_memory()])],
    ids=["queue", "cells"],
)
def test_many_puts_are_one_span_in_which_all_tasks_are_but_those_that_name_another(spans, queue):
    new = [NewTask(task_type="a"), NewTask(task_type="b", traceparent=EXAMPLE)]
    outcomes = queue.put_many(new)
    (put,) = spans()
    assert (put.name, put.kind) == ("put", SpanKind.PRODUCER)
    assert put.attributes["messaging.batch.message_count"] == 2
    assert [outcome.task.traceparent for outcome in outcomes] == [own(put), EXAMPLE]


def test_a_task_of_a_transaction_is_in_the_callers_span(spans):
    with current("order"):
        entry = Queue.in_memory().transaction_item(NewTask(task_type="a"))
    (order,) = spans()
    assert entry["Put"]["Item"]["traceparent"] == {"S": own(order)}


def test_a_refused_put_is_an_error_that_sent_nothing_and_one_in_doubt_counts_as_sent(
    spans, points, monkeypatch
):
    queue = Queue.in_memory()
    with pytest.raises(InvalidInput):
        queue.put("a", deadline=-1)
    (put,) = spans()
    assert put.status.status_code is StatusCode.ERROR
    assert put.attributes["error.type"] == "InvalidInput"
    found = points()
    assert "messaging.client.sent.messages" not in found
    (duration,) = found["messaging.client.operation.duration"]
    assert duration.attributes == {**SEND, "error.type": "InvalidInput"}

    def unconfirmed(*_arguments, **_terms):
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(queue.store.table, "put", unconfirmed)
    with pytest.raises(StoreUnavailable):
        queue.put("a")
    outcomes = queue.put_many([NewTask(task_type="a", task_id="one")])
    assert [type(outcome.error) for outcome in outcomes] == [StoreUnavailable]
    with pytest.raises(StoreUnavailable):
        telemetry.put_many([NewTask(task_type="a")] * 3, unconfirmed)
    assert {(span.attributes["error.type"], span.status.description) for span in spans()} == {
        ("StoreUnavailable", "no answer")
    }
    (sent,) = points()["messaging.client.sent.messages"]
    assert (sent.value, sent.attributes["error.type"]) == (5, "StoreUnavailable")


def test_of_many_puts_those_that_were_stored_are_told_apart_from_one_that_failed(spans, points):
    lost, store = (
        PutOutcome(task=None, error=StoreUnavailable("no answer")),
        Queue.in_memory().store,
    )
    linked = [NewTask(task_type="a", traceparent=EXAMPLE)] * 2
    telemetry.put_many(
        [*linked, NewTask(task_type="a")], lambda new: [lost, *store.put_many(new[1:])]
    )
    (put,) = spans()
    assert (put.kind, len(put.links)) == (SpanKind.PRODUCER, 1)
    sent = points()["messaging.client.sent.messages"]
    told = {each.attributes.get("error.type"): each.value for each in sent}
    assert told == {None: 2, "StoreUnavailable": 1}


def test_puts_are_counted_and_timed(points):
    queue = Queue.in_memory()
    queue.put("a")
    queue.put_many([NewTask(task_type="a")] * 3)
    found = points()
    (sent,) = found["messaging.client.sent.messages"]
    assert (sent.value, sent.attributes) == (4, SEND)
    (duration,) = found["messaging.client.operation.duration"]
    assert (duration.count, duration.attributes) == (2, SEND)


# Attempts


def test_an_attempt_is_a_consumer_span_beneath_the_puts_and_linked_to_it(spans, bench):
    bench.handle("a", seconds=2)
    task_id = bench.put("a")
    bench.run()
    put, process = spans()
    assert (process.name, process.kind) == ("process a", SpanKind.CONSUMER)
    assert process.parent.span_id == put.context.span_id
    assert links(process) == [(put.context.span_id, task_id)]
    message = {"messaging.message.id": task_id, "messaging.lifoq.message.attempt": 1}
    assert process.attributes == {**PROCESS, **message}
    assert process.status.status_code is StatusCode.UNSET
    assert process.end_time - process.start_time == 2_000_000_000  # without claim and settlement


def test_a_task_without_a_traceparent_begins_a_trace_of_its_own(spans, bench):
    bench.handle("a")
    with pytest.MonkeyPatch.context() as patch:  # put by somebody who does not trace
        patch.setattr("lifoq.telemetry.is_used", lambda: False)
        bench.put("a")
    bench.run()
    (process,) = spans()
    assert (process.parent, process.links) == (None, ())


def test_the_handlers_own_spans_and_what_it_sends_on_are_beneath_the_attempts(spans, bench):
    told = []

    @bench.registry.task("a")
    def handler(_payload, context):
        told.append(context.traceparent)
        with current("ask the shop"):
            bench.put("b", task_id="put by hand")
        return Done(follow_ups=[NewTask(task_type="b", task_id="follow-up")])

    bench.put("a")
    bench.run(window=0.5)
    found = spans()
    process, asked, put = (named(found, name) for name in ("process a", "ask the shop", "put b"))
    assert told == [own(process)]
    assert asked.parent == process.context
    assert put.parent == asked.context
    assert bench.task("put by hand").traceparent == own(put)
    assert bench.task("follow-up").traceparent == own(process)


def test_retries_and_a_redrive_stay_in_the_trace_of_the_put(spans, bench):
    bench.registry.task("a", max_attempts=2)(raising(ValueError("no")))
    task_id = bench.put("a")
    for _ in range(2):
        bench.run()
        bench.sleep(60)
    bench.queue.redrive(task_id)
    bench.run()
    put, *attempts = spans()
    assert {span.parent.span_id for span in attempts} == {put.context.span_id}
    numbers = [span.attributes["messaging.lifoq.message.attempt"] for span in attempts]
    assert numbers[:2] == [1, 2]
    assert len(numbers) > 2


def raising(error: BaseException) -> Callable[..., None]:
    def handler(_payload: object, _context: object) -> None:
        raise error

    return handler


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        (Fail("no such article"), "Fail", StatusCode.ERROR),
        (Retry("not yet"), "Retry", StatusCode.ERROR),
        (ValueError("a bug"), "ValueError", StatusCode.ERROR),
        (Busy("the shop is full"), "Busy", StatusCode.UNSET),  # it costs no attempt
    ],
)
def test_what_a_handler_raises_is_the_type_of_the_error(spans, points, bench, error, kind, status):
    bench.registry.task("a", max_attempts=2)(raising(error))
    bench.put("a")
    bench.run(window=0.5)
    process = named(spans(), "process a")
    assert process.attributes["error.type"] == kind
    assert process.status.status_code is status
    (event,) = process.events
    assert (event.name, event.timestamp) == ("exception", process.end_time)
    assert "Traceback" in event.attributes["exception.stacktrace"]
    told = (event.attributes["exception.type"], event.attributes["exception.message"])
    assert told == (kind, str(error))
    (duration,) = points()["messaging.process.duration"]
    assert duration.attributes == {**PROCESS, "error.type": kind}


def test_a_handler_that_hangs_ends_its_span_when_its_time_is_over(spans, bench):
    bench.handle("a", seconds=100, timeout=3, max_attempts=1)
    bench.put("a")
    bench.run()
    process = named(spans(), "process a")
    assert process.attributes["error.type"] == "TimeoutError"
    assert process.status.status_code is StatusCode.ERROR
    assert 3 <= (process.end_time - process.start_time) / 1e9 < 4


def test_a_span_ends_though_the_time_of_its_task_was_over_before_it_began(
    spans, bench, monkeypatch
):
    begin = telemetry.call_span

    def late(*tasks, **terms):
        bench.sleep(3.5)  # OpenTelemetry is imported by the first span
        return begin(*tasks, **terms)

    monkeypatch.setattr(telemetry, "call_span", late)
    bench.handle("a", timeout=3, max_attempts=1)
    bench.put("a")
    bench.run(linger=5)
    assert named(spans(), "process a").attributes["error.type"] == "TimeoutError"


def test_a_cancelled_attempt_and_one_that_lost_its_lease_say_so(spans, bench):
    @bench.registry.task("a")
    def cancelled(_payload, context):
        bench.queue.cancel(context.task_id)
        while not context.cancelled:
            bench.sleep(1)
        raise Cancelled(context.task_id)

    bench.put("a")
    bench.run(heartbeat=5)
    process = named(spans(), "process a")
    assert process.status.status_code is StatusCode.UNSET
    assert process.attributes["error.type"] == "Cancelled"

    @bench.registry.task("b")
    def frozen(_payload, context):
        bench.table.damage({**bench.table.get(context.task_id), "claimId": "another's"})

    bench.put("b")
    bench.run()
    process = named(spans(), "process b")
    assert process.status.status_code is StatusCode.ERROR
    assert process.attributes["error.type"] == "LeaseLost"


def test_a_task_that_is_handed_back_is_no_fault_and_one_without_an_outcome_is(spans, bench):
    bench.handle("a", seconds=1_000, timeout=2_000)
    bench.put("a")
    processor = bench.processor(task_timeout=2_000)
    bench.beside(lambda: processor.stop(grace=1), at=1)
    processor.serve()
    process = named(spans(), "process a")
    assert process.status.status_code is StatusCode.UNSET
    assert process.attributes["error.type"] == "HandedBack"

    bench.registry.clear()
    bench.handle("b")
    bench.put("b")
    bench.table.fails["SUCCESS"] = StoreUnavailable("no answer")
    bench.run(time_limit=120)
    process = named(spans(), "process b")
    assert process.status.status_code is StatusCode.ERROR
    assert process.attributes["error.type"] == "Unsettled"


def test_a_batch_is_one_span_in_no_trace_of_its_tasks_and_links_to_each(spans, points, bench):
    @bench.registry.task("a", batch=5)
    def handler(payloads, _contexts):
        return [None if payload == 1 else Fail("no number") for payload in payloads]

    ids = [bench.put("a", number) for number in range(3)]
    points()
    bench.run()
    *puts, process = spans()
    assert process.parent is None
    assert sorted(links(process)) == sorted(
        (put.context.span_id, task_id) for put, task_id in zip(puts, ids, strict=True)
    )
    batch = {"messaging.batch.message_count": 3, "error.type": "Fail"}
    assert process.attributes == {**PROCESS, **batch}
    assert process.status.status_code is StatusCode.ERROR
    failed = {event.attributes["messaging.message.id"] for event in process.events}
    assert failed == {ids[0], ids[2]}
    found = points()
    (consumed,) = found["messaging.client.consumed.messages"]
    assert (consumed.value, consumed.attributes) == (3, PROCESS)
    (duration,) = found["messaging.process.duration"]
    assert (duration.count, duration.attributes["error.type"]) == (1, "Fail")


def test_a_calls_span_ends_with_its_latest_outcome_and_tells_the_first_fault(spans):
    tasks = [Queue.in_memory().put("a", task_id=task_id) for task_id in ("one", "two")]
    spans()
    span = telemetry.call_span(tasks, batched=True, now=1_000)
    for task_id, message, decided in (("one", "A", 9_000), ("one", "B", 99_000), ("two", "C", 5)):
        error = TaskError(type="ValueError", message=message)
        span.settled(task_id, error, is_fault=True, decided=decided)
    (process,) = spans()
    assert (process.start_time, process.end_time) == (1_000_000, 9_000_000)
    assert process.status.description == "A"
    assert [event.attributes["exception.message"] for event in process.events] == ["A", "C"]


def test_a_batch_with_errors_of_several_types_has_none_of_them(spans, bench):
    bench.registry.task("a", batch=2)(lambda payloads, _: [Fail("no"), ValueError("no")])
    bench.put_many("a", 2)
    bench.run(window=0.5)
    assert named(spans(), "process a").attributes["error.type"] == "_OTHER"


def test_a_coroutine_runs_within_the_span(spans):
    queue, registry = Queue.in_memory(), Registry()

    @registry.task("a")
    async def handler(_payload, _context):
        with current("ask the shop"):
            return "done"

    queue.put("a")
    assert Processor(queue.store, registry, WorkerSettings(linger=0)).run().succeeded == 1
    _, asked, process = spans()
    assert asked.parent == process.context


def test_the_time_of_handlers_is_told_in_seconds_in_the_conventions_buckets(points, bench):
    bench.handle("a", seconds=2)
    bench.put_many("a", 2)
    bench.run()
    (duration,) = points()["messaging.process.duration"]
    assert (duration.count, duration.sum) == (2, pytest.approx(4))
    bounds, counts = duration.explicit_bounds, duration.bucket_counts
    assert [bound for bound, count in zip(bounds, counts, strict=False) if count] == [2.5]


# Without


def test_with_the_api_alone_a_task_keeps_the_traceparent_that_it_has(bench):
    told = []
    bench.registry.task("a", batch=2)(lambda _, contexts: told.append(contexts[0].traceparent))
    bench.put("a", traceparent=EXAMPLE)
    bench.put("b", task_id="without")
    bench.run(window=0.5)
    assert told[0] == EXAMPLE
    assert bench.task("without").traceparent is None


NOBODY_TRACES = """
import sys
from lifoq import Processor, Queue, Registry, WorkerSettings

registry, queue = Registry(), Queue.in_memory()
registry.task("a")(lambda payload, context: None)
{first}
queue.put("a")
print(Processor(queue.store, registry, WorkerSettings(linger=0)).run().succeeded)
print(*(name for name in sys.modules if name.startswith(("opentelemetry", "lifoq.telemetry."))))
"""


USES = "import opentelemetry.trace"


@pytest.mark.parametrize(
    ("first", "imports", "too_old"),
    [
        ("", False, 0),
        (USES, True, 0),
        (f"{USES}; sys.modules['opentelemetry.metrics'] = None", True, 1),
    ],
)
def test_opentelemetry_is_imported_only_by_who_uses_it_and_one_that_is_too_old_is_told_once(
    first, imports, too_old
):
    code = NOBODY_TRACES.format(first=first)
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ran, *imported = told.stdout.split()
    assert (ran, bool(imported)) == ("1", imports)
    assert ("lifoq.telemetry.calls" in imported) == (imports and not too_old)
    assert told.stderr.count("OpenTelemetry's API is too old") == too_old
