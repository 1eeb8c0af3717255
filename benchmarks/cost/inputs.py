"""``python -m benchmarks.cost.inputs``: what the ways in cost, beside the task itself.

The real handlers run in this process on DynamoDB Local. A run's processor time is measured, at a
full processor; Lambda gives 256 MB a seventh of one. Each call of DynamoDB is taken to last 5 ms.
What is documented of the services around (requests, publishes, events) is added to it.
"""

import contextlib
import io
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import boto3

from benchmarks.cost import bill
from lifoq import environment
from lifoq.environment import Variable
from lifoq.items.lifetimes import Lifetimes
from lifoq.testing import create_table
from tests import dynamodb_local
from tests.functions import envelopes

ROUNDS: Final = 60
MEMORY_MEGABYTES: Final = 256
FULL_PROCESSOR_MEGABYTES: Final = 1769
"""(https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html)"""
CALL_SECONDS: Final = 0.005
LOG_BYTES: Final = {"api": 350}
"""Of an HTTP API's access log, a request; what functions write comes beside."""

Event = Callable[[int], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Way:
    """``tasks`` of one run, ``calls`` of DynamoDB in it, and what services take for the run."""

    name: str
    event: Event
    around: dict[str, float]
    function: str = "ingest"
    tasks: int = 1
    calls: int = 1


def message(number: int) -> dict[str, Any]:
    name = f"m-{time.monotonic_ns()}-{number}"
    return envelopes.sqs_record({"device": "d-17"}, message_id=name, taskType="device.check")


def notification(_: int) -> dict[str, Any]:
    event = envelopes.sns({"device": "d-17"}, taskType="device.check")
    event["Records"][0]["Sns"]["MessageId"] = f"n-{time.monotonic_ns()}"
    return event


def happening(_: int) -> dict[str, Any]:
    event = envelopes.eventbridge({"device": "d-17"}, "device.check")
    return {**event, "id": f"e-{time.monotonic_ns()}"}


def request(method: str, path: str, body: Any = None) -> Event:
    http = {"method": method, "path": path}
    event = {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json"},
        "requestContext": {"http": http, "stage": "$default"},
        "isBase64Encoded": False,
        "body": json.dumps(body),
    }
    return lambda _: event


TASK: Final = {"type": "device.check", "payload": {"device": "d-17"}}
HTTP: Final = {"HTTP API requests": 1, "logs": LOG_BYTES["api"] / bill.GIGABYTE}
WAYS: Final = (
    Way(
        name="SQS, batches of 10",
        event=lambda _: envelopes.sqs(*(message(number) for number in range(10))),
        tasks=10,
        calls=10,
        around={"SQS requests": 3},
    ),
    Way(
        name="SQS, one at a time",
        event=lambda number: envelopes.sqs(message(number)),
        around={"SQS requests": 3},
    ),
    Way(name="SNS", event=notification, around={"kicks": 1}),
    Way(name="EventBridge", event=happening, around={"EventBridge events": 1}),
    Way(name="HTTP, put one", event=request("POST", "/tasks", TASK), function="api", around=HTTP),
    Way(
        name="HTTP, put 100 at a time",
        event=request("POST", "/tasks/batch", {"tasks": [TASK] * 100}),
        function="api",
        tasks=100,
        calls=4,
        around=HTTP,
    ),
)


def main() -> None:
    with handlers() as handle:
        for way in WAYS:
            run_seconds = seconds(handle(way.function), way)
            quantities = {
                **way.around,
                "function runs": 1,
                "function time": run_seconds * MEMORY_MEGABYTES / 1024,
            }
            usd = sum(line["usd"] for line in bill.lines(quantities)) / way.tasks
            print(
                f"{way.name}: {run_seconds * 1000:.0f} ms a run, "
                f"{usd * bill.MILLION:.2f} dollars per million tasks"
            )
    wait = 20 * MEMORY_MEGABYTES / 1024
    usd = bill.usd("function time", wait) + bill.usd("HTTP API requests", 1)
    print(f"HTTP, a wait of 20 s: {usd * bill.MILLION:.2f} dollars per million waits")


def seconds(handle: Callable[[Any, Any], Any], way: Way) -> float:
    """Of a warm run at the function's memory; the median."""
    context = SimpleNamespace(
        function_name="function",
        memory_limit_in_mb=MEMORY_MEGABYTES,
        invoked_function_arn="arn:aws:lambda:us-east-1:123456789012:function:function",
        aws_request_id="request",
        get_remaining_time_in_millis=lambda: 29_000,
    )
    spent = []
    for number in range(ROUNDS):
        event = way.event(number)
        with contextlib.redirect_stdout(io.StringIO()):
            began = time.process_time()
            answer = handle(event, context)
            spent.append(time.process_time() - began)
        if answer.get("batchItemFailures") or answer.get("statusCode", 200) >= 300:  # noqa: PLR2004
            raise RuntimeError(f"{way.name}: {answer}")
    processor = statistics.median(spent) * FULL_PROCESSOR_MEGABYTES / MEMORY_MEGABYTES
    return processor + way.calls * CALL_SECONDS


@contextlib.contextmanager
def handlers() -> Iterator[Callable[[str], Callable[[Any, Any], Any]]]:
    """The functions' handlers, by name, on an engine of their own."""
    with (
        tempfile.TemporaryDirectory() as directory,
        dynamodb_local.running(Path(directory) / "dynamodb.log") as endpoint,
    ):
        client = boto3.client("dynamodb", endpoint_url=endpoint, **dynamodb_local.CREDENTIALS)
        create_table(client, "tasks")
        os.environ |= {
            **environment.of_queue("tasks", Lifetimes()),
            Variable.DEAD_LETTERS: "https://sqs.us-east-1.amazonaws.com/123456789012/none",
            Variable.INGEST_MAPPING: "{}",
            "POWERTOOLS_SERVICE_NAME": "lifoq-bench",
            "POWERTOOLS_METRICS_NAMESPACE": "lifoq",
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
        }
        from functions.api import handler as api  # noqa: PLC0415 - reads the environment
        from functions.ingest import handler as ingest  # noqa: PLC0415

        yield {"api": api.handle, "ingest": ingest.handle}.__getitem__


if __name__ == "__main__":
    main()
