"""TaskEventsFunction: which changes of the table are told, to whom, and what is tried again."""

import json
from types import ModuleType

import pytest

from lifoq.tables import without_boto3
from tests.ends import (
    TOKEN,
    WAYS,
    Way,
    failures,
    replaced_while_it_ran,
    replaced_while_it_waited,
    shed_by_the_sweep,
    success,
)
from tests.functions.conftest import Topic


@pytest.fixture
def events_topic(topics) -> Topic:
    return topics["events"].emptied()


@pytest.fixture
def function(load_with, events_topic) -> ModuleType:
    return load_with("task_events", LIFOQ_QUEUE="prod", LIFOQ_EVENTS_TOPIC_ARN=events_topic.arn)


def told(topic: Topic) -> list[dict]:
    return [json.loads(message) for message in topic.messages()]


@pytest.mark.parametrize("way", [one() for one in WAYS], ids=[one.__name__ for one in WAYS])
def test_each_end_is_told_once_and_nothing_else(function, context, events_topic, way):
    for record in way.others.values():
        assert function.handle({"Records": [record]}, context) == {"batchItemFailures": []}
    assert told(events_topic) == []
    batch = [record for record, _ in way.ends]
    assert function.handle({"Records": batch}, context) == {"batchItemFailures": []}
    events = told(events_topic)
    assert [event["status"] for event in events] == [ending for _, ending in way.ends]
    assert [event["id"] for event in events] == [record["eventID"] for record in batch]
    assert {(event["queue"], event["taskId"]) for event in events} == {("prod", "t")}


def test_a_success_is_told_with_its_times_and_result(function, context, events_topic):
    way = success()
    ((record, _),) = way.ends
    function.handle({"Records": [record]}, context)
    start = way.host.now() - 8 * 86_400_000_000
    assert told(events_topic) == [
        {
            "version": 1,
            "id": record["eventID"],
            "queue": "prod",
            "taskId": "t",
            "taskType": "a",
            "taskKey": "device",
            "status": "SUCCESS",
            "attempts": 1,
            "enqueuedAt": start,
            "firstTakenAt": start,
            "takenAt": start,
            "endedAt": start,
            "result": {"n": 1},
        }
    ]


def test_a_failure_is_told_with_its_error_and_what_was_shed_with_its_deadline(
    function, context, events_topic
):
    (failed, _), _ = failures().ends
    way = shed_by_the_sweep()
    ((shed, _),) = way.ends
    function.handle({"Records": [failed, shed]}, context)
    failure, shedding = told(events_topic)
    assert failure["error"] == {"type": "ValueError", "message": "boom"}
    assert shedding["endedAt"] == way.host.now()


def test_a_result_that_is_stored_compressed_is_told_as_it_was(function, context, events_topic):
    way, words = Way(), ["the same again"] * 500
    way.goes("put", way.put)
    way.claim()
    way.ends_as("SUCCESS", lambda: way.store.succeed(way.task, json.dumps(words)))
    ((record, _),) = way.ends
    assert "B" in record["dynamodb"]["NewImage"]["result"]
    function.handle({"Records": [record]}, context)
    (event,) = told(events_topic)
    assert event["result"] == words


@pytest.mark.parametrize(
    "value", [{"NULL": True}, {"BS": ["AA=="]}, {"M": {"x": {"BS": ["AA=="]}}}]
)
def test_the_end_of_a_damaged_task_is_told_whatever_it_holds(
    function, context, events_topic, value
):
    ((record, _),) = success().ends
    record["dynamodb"]["NewImage"]["taskKey"] = value
    function.handle({"Records": [record]}, context)
    (event,) = told(events_topic)
    assert event["error"]["type"] == "DamagedTask"


def test_lambda_is_told_which_records_to_try_again(function, context, monkeypatch):
    batch = [record for record, _ in failures().ends]
    monkeypatch.setattr(function.topic, "publish", lambda ends: {ends[1].event_id})
    answer = function.handle({"Records": batch}, context)
    again = batch[1]["dynamodb"]["SequenceNumber"]
    assert answer == {"batchItemFailures": [{"itemIdentifier": again}]}


def test_answers_go_to_step_functions_alone_where_no_topic_was_asked_for(
    load, context, monkeypatch, events_topic
):
    function = load("task_events", LIFOQ_QUEUE="prod", LIFOQ_TASK_TOKENS="true")
    answered = []
    monkeypatch.setattr(
        function.step_functions,
        "answer",
        lambda end: answered.append((end.task_token, str(end.ending))),
    )
    batch = [record for record, _ in (*success().ends, *shed_by_the_sweep().ends)]
    assert function.handle({"Records": batch}, context) == {"batchItemFailures": []}
    assert sorted(answered) == [(TOKEN, "SHED"), (TOKEN, "SUCCESS")]
    assert events_topic.messages() == []


@pytest.mark.parametrize("way", [replaced_while_it_waited, replaced_while_it_ran])
def test_who_waits_for_a_put_that_was_replaced_is_told_so_once(load, context, monkeypatch, way):
    function = load("task_events", LIFOQ_QUEUE="prod", LIFOQ_TASK_TOKENS="true")
    answered = []
    monkeypatch.setattr(
        function.step_functions,
        "answer",
        lambda end: answered.append((end.task_token, str(end.ending), end.error)),
    )
    function.handle({"Records": list(way().others.values())}, context)
    assert answered == [(TOKEN, "REPLACED", None)]


def test_an_answer_that_does_not_arrive_is_tried_again(load_with, context, monkeypatch):
    monkeypatch.setattr(without_boto3, "ATTEMPTS", 1)
    function = load_with(
        "task_events",
        LIFOQ_QUEUE="prod",
        LIFOQ_TASK_TOKENS="true",
        AWS_ENDPOINT_URL_SFN="http://localhost:1",
        AWS_MAX_ATTEMPTS="1",
    )
    ((record, _),) = success().ends
    answer = function.handle({"Records": [record]}, context)
    again = record["dynamodb"]["SequenceNumber"]
    assert answer == {"batchItemFailures": [{"itemIdentifier": again}]}
