"""A function whose credentials have expired ends its process, and nothing else does."""

import os
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from lifoq.environment import Variable
from lifoq.errors import StoreUnavailable
from lifoq.ingest.mapping import IngestMapping
from tests.ends import failures
from tests.functions import envelopes


class Ended(BaseException):
    """The process has ended."""


def refused(code: str) -> StoreUnavailable:
    error = StoreUnavailable("the answer")
    error.__cause__ = ClientError({"Error": {"Code": code, "Message": "m"}}, "PutItem")
    return error


@pytest.fixture
def ended(monkeypatch) -> type[BaseException]:
    def end(status: int) -> None:
        assert status == 1
        raise Ended

    monkeypatch.setattr(os, "_exit", end)
    return Ended


@pytest.mark.parametrize(
    ("function", "does", "event"),
    [
        ("sweep", "sweeper.run", {}),
        ("process_tasks", "processor.run", {}),
        ("trigger", "processor.kick", {"Records": [{"EventSource": "aws:sns"}]}),
        ("create_tasks", "store.put_many", {"taskType": "a"}),
        ("task_events", "topic.publish", {"Records": [failures().ends[0][0]]}),
    ],
)
def test_a_process_ends_with_its_credentials_and_with_no_other_failure(
    load, context, monkeypatch, topics, ended, function, does, event
):
    module = load(function, LIFOQ_QUEUE="prod", LIFOQ_EVENTS_TOPIC_ARN=topics["events"].arn)
    owner, _, name = does.partition(".")
    for code in ("ThrottlingException", "ExpiredToken", "ExpiredTokenException"):
        monkeypatch.setattr(getattr(module, owner), name, Mock(side_effect=refused(code)))
        with pytest.raises(ended if code.startswith("Expired") else StoreUnavailable):
            module.handle(event, context)


def test_an_api_that_cannot_answer_any_more_ends_too(load, context, monkeypatch, ended):
    api = load("api")
    event = {"routeKey": "GET /stats", "headers": {}}
    monkeypatch.setattr(api.queue, "stats", Mock(side_effect=refused("ExpiredTokenException")))
    with pytest.raises(ended):
        api.handle(event, context)
    monkeypatch.setattr(api.queue, "stats", Mock(side_effect=StoreUnavailable("x")))
    assert api.handle(event, context)["statusCode"] == 503


def test_what_goes_on_after_a_failure_ends_too(load, context, monkeypatch, ended):
    """Messages and load of which not all could be put, and ends that no state machine took."""
    expired = refused("ExpiredToken")
    mapping = {Variable.INGEST_MAPPING: IngestMapping().encode(), Variable.DEAD_LETTERS: "none"}
    ingest, creating, telling = load("ingest", **mapping), load("create_tasks"), load("task_events")
    monkeypatch.setattr(ingest.store, "put_many", Mock(side_effect=expired))
    outcome = Mock(error=expired, created=False)
    monkeypatch.setattr(creating.store, "put_many", Mock(return_value=[outcome]))
    answers = Mock(answer=Mock(side_effect=expired.__cause__))
    monkeypatch.setattr(telling, "step_functions", answers)
    message = envelopes.sqs(envelopes.sqs_record({}, taskType="a"))
    load_of_one = {"taskType": "a", "load": {"tasksPerSecond": 10, "seconds": 0.1}}
    for module, event in (
        (ingest, message),
        (creating, load_of_one),
        (telling, {"Records": [failures().ends[0][0]]}),
    ):
        with pytest.raises(ended):
            module.handle(event, context)
