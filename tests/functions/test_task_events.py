"""TaskEventsFunction: which changes of the table are told, to whom, and what is tried again."""

import json
from types import ModuleType
from unittest.mock import Mock

import pytest

from lifoq.aws import step_functions_calls
from tests.ends import (
    ID,
    TOKEN,
    failures,
    replaced_while_it_ran,
    replaced_while_it_waited,
    shed_at_its_deadline,
    success,
)
from tests.functions.conftest import Topic


@pytest.fixture
def events_topic(topics) -> Topic:
    return topics["events"].emptied()


@pytest.fixture
def function(load_with, events_topic) -> ModuleType:
    return load_with("task_events", LIFOQ_QUEUE="prod", LIFOQ_EVENTS_TOPIC_ARN=events_topic.arn)


def test_the_ends_of_a_batch_are_told_and_nothing_else(function, context, events_topic):
    way = failures()
    records = [*way.others.values(), *(record for record, _ in way.ends)]
    replaced = [*replaced_while_it_ran().others.values()]
    for batch in (records, replaced):
        assert function.handle({"Records": batch}, context) == {"batchItemFailures": []}
    told = [json.loads(message) for message in events_topic.messages()]
    assert [(event["queue"], event["status"]) for event in told] == [("prod", "FAILURE")] * 2


def test_ends_from_before_events_were_switched_on_are_told_to_nobody_but_step_functions(
    load, context, monkeypatch, events_topic
):
    (early, _), (late, _) = failures().ends
    early["dynamodb"]["ApproximateCreationDateTime"] = 179
    late["dynamodb"]["ApproximateCreationDateTime"] = 180
    function = load(
        "task_events",
        LIFOQ_QUEUE="prod",
        LIFOQ_TASK_TOKENS="true",
        LIFOQ_EVENTS_TOPIC_ARN=events_topic.arn,
    )
    answered = []
    monkeypatch.setattr(
        function.step_functions, "answer", lambda end: answered.append(end.event_id)
    )
    assert function.handle({"Records": [early, late]}, context) == {"batchItemFailures": []}
    assert [json.loads(message)["id"] for message in events_topic.messages()] == [late["eventID"]]
    assert sorted(answered) == sorted([early["eventID"], late["eventID"]])


def test_lambda_is_told_which_records_to_try_again(function, context, monkeypatch):
    batch, info = [record for record, _ in failures().ends], Mock()
    monkeypatch.setattr(function.logger, "info", info)
    monkeypatch.setattr(function.topic, "publish", lambda ends: {ends[1].event_id})
    answer = function.handle({"Records": batch}, context)
    again = batch[1]["dynamodb"]["SequenceNumber"]
    assert answer == {"batchItemFailures": [{"itemIdentifier": again}]}
    info.assert_called_once_with("told", extra={"ends": 2, "failed": 1})


def test_answers_go_to_step_functions_alone_where_no_topic_was_asked_for(
    load, context, monkeypatch, events_topic
):
    """Who waits for a put that was replaced, too, is told so once."""
    function = load("task_events", LIFOQ_QUEUE="prod", LIFOQ_TASK_TOKENS="true")
    answered = []
    monkeypatch.setattr(
        function.step_functions,
        "answer",
        lambda end: answered.append((end.task_token, str(end.ending))),
    )
    ends = [record for record, _ in (*success().ends, *shed_at_its_deadline().ends)]
    ways = (replaced_while_it_waited(), replaced_while_it_ran())
    replaced = [record for way in ways for record in way.others.values()]
    for records in (ends, replaced):
        assert function.handle({"Records": records}, context) == {"batchItemFailures": []}
    assert sorted(answered) == [
        *((TOKEN, ending) for ending in ("REPLACED", "REPLACED", "SHED", "SUCCESS"))
    ]
    assert events_topic.messages() == []


def test_an_answer_that_does_not_arrive_is_tried_again(load_with, context, monkeypatch):
    monkeypatch.setattr(step_functions_calls, "ATTEMPTS", 1)
    function = load_with(
        "task_events",
        LIFOQ_QUEUE="prod",
        LIFOQ_TASK_TOKENS="true",
        AWS_ENDPOINT_URL_SFN="http://localhost:1",
        AWS_MAX_ATTEMPTS="1",
    )
    ((record, _),) = success().ends
    logged = Mock()
    monkeypatch.setattr(function.logger, "exception", logged)
    answer = function.handle({"Records": [record]}, context)
    logged.assert_called_once_with("task %s is not answered", ID)
    again = record["dynamodb"]["SequenceNumber"]
    assert answer == {"batchItemFailures": [{"itemIdentifier": again}]}
