"""IngestFunction: messages of other services become tasks."""

import contextlib
import functools
import json
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifoq import InvalidInput, Status, StoreUnavailable
from lifoq.environment import Variable
from lifoq.ingest.mapping import IngestMapping
from lifoq.ingest.message import deliveries
from tests.faults.faults import answer
from tests.functions import envelopes
from tests.functions.conftest import Mailbox, strike

BODY = {"device": "d-17", "readings": [1, 2.5, "ü"]}
JSON = json.dumps(BODY).encode()
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
ALL_DONE: dict[str, Any] = {"batchItemFailures": []}


@pytest.fixture(scope="module")
def mailbox(moto_endpoint):
    return Mailbox(moto_endpoint, "dead-letters")


@pytest.fixture
def dead_letters(mailbox):
    return mailbox.emptied()


@pytest.fixture
def ingest(load, dead_letters):
    """The handler, freshly loaded, with a mapping."""

    def loaded(**mapping: str) -> ModuleType:
        text = IngestMapping(**mapping).encode()
        return load(
            "ingest", **{Variable.DEAD_LETTERS: dead_letters.url, Variable.INGEST_MAPPING: text}
        )

    return loaded


TYPE = {"taskType": "device.check"}
EVENT = envelopes.eventbridge(BODY, "device.check")
BY_SQS = envelopes.sqs_record(envelopes.notification(BODY, **TYPE))
ACTIVEMQ = envelopes.activemq(JSON, **TYPE)
KINDS = {
    "SQS": (envelopes.sqs(envelopes.sqs_record(BODY, **TYPE)), envelopes.SQS_ID),
    "SNS": (envelopes.sns(BODY, **TYPE), envelopes.SNS_ID),
    "SNS by SQS": (envelopes.sqs(BY_SQS), envelopes.SNS_ID),
    "EventBridge": (EVENT, envelopes.EVENT_ID),
    "EventBridge by SQS": (envelopes.sqs(envelopes.sqs_record(EVENT)), envelopes.EVENT_ID),
    "EventBridge by SNS": (envelopes.sns(EVENT), envelopes.EVENT_ID),
    "ActiveMQ": (ACTIVEMQ, envelopes.ACTIVEMQ_ID),
    "RabbitMQ": (envelopes.rabbitmq(JSON, "m-2", **TYPE), "m-2"),
}


def test_a_message_of_each_kind_becomes_one_task_however_often_it_comes_and_after_it_was_put_aside(
    ingest, context, queue, dead_letters, metrics, past
):
    function, aside = ingest(task_type="body.none"), {}
    for kind, (event, _) in KINDS.items():
        function.handle(event, context)
        (aside[kind],) = dead_letters.messages()
        assert (queue.peek(), metrics()) == ([], {"MessagesRefused": [1.0]}), kind
    function = ingest()
    for kind, (event, task_id) in KINDS.items():
        for again, created in ((aside[kind]["event"], 1.0), (event, 0.0)):
            assert function.handle(again, context) == ALL_DONE
            assert metrics().get("TasksCreated", [0]) == [created], kind
        (task,) = queue.peek()
        found = (task.task_id, task.task_type, task.payload)
        assert found == (task_id, "device.check", BODY), kind
        past.remove(task_id)


def test_a_rabbitmq_message_without_an_id_becomes_a_task_each_time(ingest, context, queue):
    function = ingest()
    event = envelopes.rabbitmq(b"hello", taskType="greet")
    function.handle(event, context)
    function.handle(event, context)
    assert [task.payload for task in queue.peek()] == ["hello", "hello"]


def test_attributes_say_id_key_deadline_delay_head_start_and_trace(ingest, context, queue):
    record = envelopes.sqs_record(
        BODY,
        taskType="device.check",
        taskId="d-17",
        taskKey="4711",  # a number, as SQS sends it
        deadline="60",
        delay="30",
        headStart="10",
        traceparent=TRACE,
    )
    untraced = envelopes.sqs_record(BODY, taskType="greet", taskId="u", traceparent="none")
    ingest().handle(envelopes.sqs(record, untraced), context)
    task = queue.get("d-17")
    assert task.traceparent == TRACE
    assert queue.get("u").traceparent is None
    assert (task.status, task.key, task.head_start) == (Status.DELAYED, "4711", 10_000_000)
    assert round((task.expires_at - task.due_at) / 1e6) == 60


def test_a_mapping_takes_the_terms_from_anywhere_in_the_message(ingest, context, queue):
    function = ingest(
        task_type="'order.ship'",
        payload="body.order",
        task_id="join('-', ['ship', body.order.number])",
        deadline="body.before",
        if_exists="'replace'",
    )
    for n in (1, 2):
        body = {"order": {"number": "4711", "n": n}, "before": 60}
        function.handle(envelopes.sqs(envelopes.sqs_record(body)), context)
    (task,) = queue.peek()
    found = (task.task_id, task.task_type, task.payload)
    assert found == ("ship-4711", "order.ship", {"number": "4711", "n": 2})


def test_what_the_broker_says_of_a_message_can_be_used(ingest, context, queue):
    function = ingest(task_type="message.queue", task_id="message.correlationId")
    function.handle(envelopes.activemq(b"\xff\x00"), context)
    task = queue.get("myJMSCoID")
    assert (task.task_type, task.payload) == ("testQueue", "/wA=")


# What cannot be read

PAST = "2000-01-01T00:00:00Z"
UNREADABLE = [
    (envelopes.sqs_record(BODY), "task_type=None"),
    (envelopes.sqs_record(BODY, taskType="a", deadline="soon"), "neither seconds"),
    (envelopes.sqs_record(BODY, taskType="a", deadline=PAST), "it would never run"),
    (envelopes.sqs_record("[" * 10_000, taskType="a"), "event="),
    ({"eventSource": "aws:kinesis", "kinesis": {"data": "aGk="}}, "no message"),
]


def test_what_makes_no_task_is_put_aside_with_the_reason_and_holds_nobody_up(
    ingest, context, queue, dead_letters, metrics
):
    good = envelopes.sqs_record(BODY, message_id="good", **TYPE)
    bad = [record for record, _ in UNREADABLE]
    assert ingest().handle(envelopes.sqs(*bad, good), context) == ALL_DONE
    reasons = [(one["event"], one["reason"]) for one in dead_letters.messages()]
    assert len(reasons) == len(bad)
    for record, reason in UNREADABLE:
        assert [reason in why for event, why in reasons if event == envelopes.sqs(record)] == [True]
    assert [task.task_id for task in queue.peek()] == ["good"]
    assert metrics()["MessagesRefused"] == [len(bad)]


def test_an_id_that_an_item_has_which_is_no_task_does_not_come_back_for_ever(
    ingest, context, table, dead_letters
):
    table.put({"taskId": envelopes.SQS_ID, "taskStatus": "nonsense"})
    event = envelopes.sqs(envelopes.sqs_record(BODY, taskType="device.check"))
    assert ingest().handle(event, context) == ALL_DONE
    assert "damaged" in dead_letters.messages()[0]["reason"]


def test_what_sqs_has_no_room_for_is_put_aside_by_its_beginning(ingest, context, dead_letters):
    record = envelopes.sqs_record('"' * 700_000)
    ingest().handle(envelopes.sqs(record), context)
    (aside,) = dead_letters.messages()
    assert aside["eventBytes"] == len(json.dumps(envelopes.sqs(record)))
    assert json.dumps(envelopes.sqs(record)).startswith(aside["eventBegins"])


JUNK = st.sampled_from([None, True, -1, 1.5, "x", "\ud800", [], {}, [[]], {"a": []}])
FORMS = st.sampled_from([event for event, _ in KINDS.values()])


@given(event=FORMS, junk=JUNK, data=st.data())
@settings(deadline=None)
def test_whatever_stands_in_an_envelope_makes_a_task_or_a_reason(event, junk, data):
    """Any other error would bring a broker's batch back for ever."""
    damaged = json.loads(json.dumps(event))
    places = []

    def walk(value):
        if isinstance(value, dict | list):
            keys = value if isinstance(value, dict) else range(len(value))
            for key in keys:
                places.append((value, key))
                walk(value[key])

    walk(damaged)
    parent, key = data.draw(st.sampled_from(places))
    parent[key] = junk
    mapping = IngestMapping(task_id="body.id || attributes.taskId", payload="keys(body)")
    for delivery in deliveries(damaged):
        with contextlib.suppress(InvalidInput):
            mapping.new_task(delivery.message())


# What DynamoDB does not confirm


@pytest.fixture
def striking(ingest):
    """The function, and that DynamoDB does not confirm what it puts of an id or a type."""
    function = ingest()
    function.PAUSES = (0.0,) * len(function.PAUSES)
    return function, functools.partial(strike, function.store.table, "InternalServerError")


def records(*ids: str, **groups: str) -> dict[str, Any]:
    """Messages of a queue, and of a FIFO queue those that have groups."""
    grouped = {**dict.fromkeys(ids), **groups}
    return envelopes.sqs(
        *(envelopes.sqs_record(BODY, message_id=i, group=g, **TYPE) for i, g in grouped.items())
    )


def ids_failed(answered: dict[str, Any]) -> list[str]:
    return [failure["itemIdentifier"] for failure in answered["batchItemFailures"]]


def test_in_a_fifo_queue_those_behind_in_the_group_come_again_too(striking, context, queue):
    function, strike_puts = striking
    strike_puts(of="m1")
    answered = function.handle(records(m1="a", m2="b", m3="a"), context)
    assert ids_failed(answered) == ["m1", "m3"]
    assert [task.task_id for task in queue.peek()] == ["m2"]


@pytest.mark.parametrize("event", [envelopes.sns(BODY, **TYPE), ACTIVEMQ])
def test_where_single_messages_cannot_be_told_the_whole_event_comes_again(striking, context, event):
    function, strike_puts = striking
    strike_puts(of="device.check")
    with pytest.raises(StoreUnavailable):
        function.handle(event, context)


def test_a_message_is_put_as_long_as_there_is_time_for_it(ingest, context, queue):
    """Lambda gives the function 30 s; each put takes one of a table that is slow."""
    function = ingest()
    left = [30_000]

    def send(**_):
        left[0] -= 1_000

    function.store.table._calls.client.meta.events.register("before-send.dynamodb.PutItem", send)
    context.get_remaining_time_in_millis = lambda: left[0]
    failed = ids_failed(function.handle(records(*(f"m-{n}" for n in range(20))), context))
    assert failed == [f"m-{n}" for n in range(16, 20)]
    assert len(queue.peek(limit=100)) == 16


@pytest.mark.parametrize(("left", "failed"), [(15_009, ["m1"]), (15_010, [])])
def test_what_was_not_confirmed_is_tried_again_as_long_as_there_is_time_for_it(
    striking, context, left, failed
):
    function, strike_puts = striking
    function.PAUSES = (0.0, 0.01)
    strike_puts(of="m1", times=1)
    context.get_remaining_time_in_millis = lambda: left
    assert ids_failed(function.handle(records("m1"), context)) == failed


def test_what_is_never_confirmed_is_tried_by_single_calls_after_growing_pauses(
    ingest, context, monkeypatch
):
    """Lambda gives the function 30 s, of which each call takes one."""
    function, calls, slept = ingest(), [], []

    def refuse(request, **_):
        calls.append(request)
        return answer(request, 500, "InternalServerError")

    function.store.table._calls.client.meta.events.register("before-send.dynamodb", refuse)
    monkeypatch.setattr(function, "time", Mock(sleep=slept.append))
    context.get_remaining_time_in_millis = lambda: 30_000 - 1_000 * (sum(slept) + len(calls))
    assert ids_failed(function.handle(records("m1"), context)) == ["m1"]
    assert len(calls) == len(slept) == 4
    assert slept == sorted({0, *slept})


def test_what_was_not_confirmed_is_tried_again_behind_the_others_and_logged(
    striking, context, queue, monkeypatch
):
    function, strike_puts = striking
    warned = Mock()
    monkeypatch.setattr(function.logger, "warning", warned)
    strike_puts(of="m1", times=2)
    assert function.handle(records("m1", "m2"), context) == ALL_DONE
    assert [task.task_id for task in queue.peek()] == ["m1", "m2"]
    assert warned.call_count == 2
