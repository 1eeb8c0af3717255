"""How much memory each function takes at work: its real handler, in a process that sees what a
Lambda function sees, on DynamoDB Local and a slow downstream."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import boto3
from moto.server import ThreadedMotoServer

from benchmarks.coldstart.results import Memory
from benchmarks.coldstart.sandbox import ENVIRONMENT, Sandbox
from demo import downstream
from lab.dynamodb_local import CREDENTIALS, running
from lifoq import NewTask, Queue
from lifoq.environment import Variable
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.store import Store
from lifoq.targets.configured import encode
from lifoq.targets.https import HttpsTarget
from lifoq.testing import create_table

PAYLOAD: Final = {"text": "x" * 100_000}
TASKS: Final = 250
STREAM_RECORDS: Final = 1000
STREAM_PAYLOAD_CHARACTERS: Final = 5_500
"""Of each record, so that the event has the 6 MB that Lambda allows."""
LIMIT_MB: Final[Mapping[str, int]] = {
    "trigger": 256,
    "process_tasks": 512,
    "sweep": 256,
    "create_tasks": 256,
}
"""What the stacks give a function."""


def at_work(sandbox: Sandbox) -> list[Memory]:
    """The functions' memory after their start, and the most while they handled an event each."""
    topics = ThreadedMotoServer(port=0, verbose=False)
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "dynamodb.log") as dynamodb,
        downstream.running(slots=50, service_seconds=0.005) as service,
    ):
        topics.start()
        try:
            _, port = topics.get_host_and_port()
            sns = f"http://127.0.0.1:{port}"
            prepare(dynamodb, sns)
            target = HttpsTarget(url=service.url, allowed_networks=("127.0.0.0/8",))
            environment = {
                "AWS_ENDPOINT_URL_DYNAMODB": dynamodb,
                "AWS_ENDPOINT_URL_SNS": sns,
                Variable.TARGETS: encode({"device.check": target}),
            }
            return [row(sandbox, name, event, environment) for name, event in events().items()]
        finally:
            topics.stop()


def prepare(dynamodb: str, sns: str) -> None:
    client = boto3.client("dynamodb", endpoint_url=dynamodb, **CREDENTIALS)
    create_table(client, ENVIRONMENT[Variable.TABLE])
    table = DynamoTable(name=ENVIRONMENT[Variable.TABLE], client=client, once=client)
    queue = Queue(Store(table))
    queue.put_many([NewTask(task_type="device.check", payload=PAYLOAD)] * TASKS)
    for topic in ("trigger", "process"):
        boto3.client("sns", endpoint_url=sns, **CREDENTIALS).create_topic(Name=topic)


def events() -> dict[str, Any]:
    """One event of a full size for each function, in this order: the processor comes last."""
    record = {
        "eventName": "INSERT",
        "dynamodb": {
            "NewImage": {
                "taskStatus": {"S": "PENDING"},
                "payload": {"S": "x" * STREAM_PAYLOAD_CHARACTERS},
            }
        },
    }
    load = {"profile": "constant", "tasksPerSecond": 100, "seconds": 2}
    return {
        "trigger": {"Records": [record] * STREAM_RECORDS},
        "create_tasks": {"taskType": "device.check", "payload": PAYLOAD, "load": load},
        "sweep": {},
        "process_tasks": {},
    }


def row(sandbox: Sandbox, function: str, event: Any, environment: Mapping[str, str]) -> Memory:
    found = sandbox.start(function, events=[event], **environment)
    return Memory(
        function=function,
        after_start_mb=round(found["resident_bytes"] / 2**20, 1),
        peak_mb=round(found["peak_bytes"] / 2**20, 1),
        configured_mb=LIMIT_MB[function],
    )
