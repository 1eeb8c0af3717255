"""A function whose credentials have expired ends its process, and nothing else does."""

import os
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lifoq.errors import StoreUnavailable
from tests.ends import failures


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
@pytest.mark.parametrize("code", ["ExpiredTokenException", "ExpiredToken", "ThrottlingException"])
def test_a_process_ends_with_its_credentials_and_with_no_other_failure(
    load, context, monkeypatch, topics, ended, function, does, event, code
):
    module = load(
        function, LIFOQ_QUEUE="prod", LIFOQ_EVENTS_TOPIC_ARN=topics["events"].emptied().arn
    )

    def fail(*_: Any, **__: Any) -> None:
        raise refused(code)

    owner, _, name = does.partition(".")
    monkeypatch.setattr(getattr(module, owner), name, fail)
    with pytest.raises(ended if code.startswith("Expired") else StoreUnavailable):
        module.handle(event, context)


def test_an_api_that_cannot_answer_any_more_ends_too(load, context, monkeypatch, ended):
    api = load("api")
    event = {"routeKey": "GET /stats", "headers": {}}

    def fail(*_: Any, **__: Any) -> None:
        raise refused("ExpiredTokenException")

    monkeypatch.setattr(api.queue, "stats", fail)
    with pytest.raises(ended):
        api.handle(event, context)
    monkeypatch.setattr(api.queue, "stats", lambda: (_ for _ in ()).throw(StoreUnavailable("x")))
    assert api.handle(event, context)["statusCode"] == 503
