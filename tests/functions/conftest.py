"""The functions as Lambda would load them, against moto's table, topics and queues."""

import importlib
import itertools
import json
import logging
import math
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any, Self

import boto3
import pytest

from lab import dynamodb_local
from lifoq import Backoff, Lifetimes, Queue, WorkerSettings, environment
from lifoq.aws import authorities
from lifoq.aws import client_choice as own
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.environment import Variable
from lifoq.metrics import NAMESPACE, OF_TYPE, Metric, service
from lifoq.store.store import Store
from lifoq.worker.handlers import task_id_in_logs as logged
from tests.conftest import table_of_all
from tests.faults.faults import answer

WORKER = WorkerSettings(window=10, task_timeout=5, in_flight=4, backoff=Backoff(min_seconds=60))


class Mailbox:
    """An SQS queue."""

    def __init__(self, endpoint: str, name: str) -> None:
        self._sqs = boto3.client("sqs", endpoint_url=endpoint, **dynamodb_local.CREDENTIALS)
        self.url = self._sqs.create_queue(QueueName=name)["QueueUrl"]

    def messages(self) -> list[Any]:
        """Return the messages that have come since the last call."""
        answer = self._sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10)
        messages = answer.get("Messages", [])
        for message in messages:
            self._sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])
        return [json.loads(message["Body"]) for message in messages]

    def emptied(self) -> Self:
        """Without what another test has sent."""
        while self.messages():
            pass
        return self


class Topic(Mailbox):
    """An SNS topic, with a queue behind it that shows what was published."""

    def __init__(self, endpoint: str, name: str) -> None:
        super().__init__(endpoint, name)
        sns = boto3.client("sns", endpoint_url=endpoint, **dynamodb_local.CREDENTIALS)
        self.arn = sns.create_topic(Name=name)["TopicArn"]
        queue = self._sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["QueueArn"])
        sns.subscribe(TopicArn=self.arn, Protocol="sqs", Endpoint=queue["Attributes"]["QueueArn"])

    def messages(self) -> list[Any]:
        return [body["Message"] for body in super().messages()]


@pytest.fixture
def table(moto_endpoint: str) -> DynamoTable:
    return table_of_all(moto_endpoint)


@pytest.fixture
def queue(table: DynamoTable) -> Queue:
    return Queue(Store(table))


@pytest.fixture(scope="session")
def topics(moto_endpoint: str) -> dict[str, Topic]:
    return {name: Topic(moto_endpoint, name) for name in ("process", "trigger", "events")}


@pytest.fixture
def processor_topic(topics: dict[str, Topic]) -> Topic:
    return topics["process"].emptied()


@pytest.fixture
def trigger_topic(topics: dict[str, Topic]) -> Topic:
    return topics["trigger"].emptied()


@pytest.fixture
def _loggers_as_before() -> Iterator[None]:
    """A handler that is loaded takes over the logs of its process, and its service's logger writes
    to the output of the test that made it."""
    library = logging.getLogger("lifoq")
    level, propagates, handlers = library.level, library.propagate, [*library.handlers]
    yield
    library.setLevel(level)
    library.propagate, library.handlers = propagates, handlers
    logging.Logger.manager.loggerDict.pop(service("test"), None)
    for handler in logging.getLogger().handlers:
        handler.removeFilter(logged.with_task_id)


@pytest.fixture
def load(
    _loggers_as_before: None,
    monkeypatch: pytest.MonkeyPatch,
    moto_endpoint: str,
    table: DynamoTable,
    topics: dict[str, Topic],
) -> Iterator[Callable[..., ModuleType]]:
    """Loads a function's handler afresh, as a cold start does."""
    variables = {
        **environment.of_queue(table.name, Lifetimes()),
        Variable.TASKS: "functions.tasks",
        Variable.DEPLOYED: "1970-01-01T00:03:00.500Z",
        Variable.PROCESS_TOPIC: topics["process"].arn,
        Variable.TRIGGER_TOPIC: topics["trigger"].arn,
        "POWERTOOLS_SERVICE_NAME": service("test"),
        "POWERTOOLS_METRICS_NAMESPACE": NAMESPACE,
        "AWS_ENDPOINT_URL": moto_endpoint,
    }

    def load_function(name: str, worker: WorkerSettings = WORKER, **more: str) -> ModuleType:
        for variable, value in {**variables, **environment.of_worker(worker), **more}.items():
            monkeypatch.setenv(variable, value)
        for module in (
            f"lifoq_functions.{name}.handler",
            "lifoq_functions.records_before_deployment",
        ):
            sys.modules.pop(module, None)
        return importlib.import_module(f"lifoq_functions.{name}.handler")

    yield load_function
    for name in [name for name in sys.modules if name.endswith(".handler")]:
        del sys.modules[name]


@pytest.fixture(params=["boto3", "the own client"])
def load_with(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, load: Callable[..., ModuleType]
) -> Callable[..., ModuleType]:
    """Loads it where its environment asks for boto3, and where it does not, as on Lambda."""
    if request.param == "boto3":
        monkeypatch.setenv(own.CHOICE, own.BOTO3)
    else:
        monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "function")
        for name in (*own.ONLY_BOTO3S, *own.PROXIES, *authorities.VARIABLES):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(own, "patched_part", lambda: None)  # other tests may import moto

    def load_function(name: str, **variables: str) -> ModuleType:
        function = load(name, **variables)
        assert (own.in_function("sns") is None) is (request.param == "boto3")
        return function

    return load_function


@pytest.fixture
def context() -> Any:
    return SimpleNamespace(
        function_name="function",
        memory_limit_in_mb=256,
        invoked_function_arn="arn:aws:lambda:us-east-1:123456789012:function:function",
        aws_request_id="request",
        get_remaining_time_in_millis=lambda: 60_000,
    )


@pytest.fixture
def metrics(capsys: pytest.CaptureFixture[str]) -> Callable[[], dict[str, list[float]]]:
    """The values that the functions have written since the last call, by the metric's name."""

    def read() -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for line in capsys.readouterr().out.splitlines():
            entry = json.loads(line)
            for described in entry.get("_aws", {}).get("CloudWatchMetrics", []):
                assert described["Namespace"] == "lifoq"
                assert described["Dimensions"] in ([["service"]], [[OF_TYPE, "service"]])
                assert entry["service"] == "lifoq-test"
                of_type = f" {entry[OF_TYPE]}" if OF_TYPE in entry else ""
                for one in described["Metrics"]:
                    assert one["Unit"] == Metric(one["Name"]).unit
                    found.setdefault(one["Name"] + of_type, []).extend(entry[one["Name"]])
        return found

    return read


def strike(
    table: DynamoTable, code: str, *, of: str = "", after: int = 0, times: float = math.inf
) -> None:
    """DynamoDB refuses calls that hold this text, so many after so many."""
    calls, status = itertools.count(), 500 if code == "InternalServerError" else 400

    def send(request: Any, **_: Any) -> Any:
        struck = of.encode() in request.body and after <= next(calls) < after + times
        return answer(request, status, code) if struck else None

    table._calls = table._once  # boto3's own repeats would take long
    table._once.client.meta.events.register("before-send.dynamodb", send)
