"""The small stack on a local cloud, and handy ways to use it."""

import io
import json
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from localcloud import LocalCloud
from tests.localcloud import template

STACK = "probe"
CODE_BUCKET = "code"
PATIENCE_SECONDS = 300.0


def eventually(probe: Callable[[], Any], *, within_seconds: float = PATIENCE_SECONDS) -> Any:
    """The first true answer; fails if there is none in time."""
    deadline = time.monotonic() + within_seconds
    while time.monotonic() < deadline:
        if answer := probe():
            return answer
        time.sleep(0.05)
    pytest.fail(f"nothing within {within_seconds} s")


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """The cloud, and the physical ids of the stack's resources."""

    cloud: LocalCloud
    ids: dict[str, str]

    def client(self, service: str) -> Any:
        return self.cloud.client(service)

    def invoke(self, name: str, event: Any, **options: Any) -> tuple[Any, str | None]:
        answer = self.client("lambda").invoke(
            FunctionName=self.ids[name], Payload=json.dumps(event), **options
        )
        return json.loads(answer["Payload"].read() or b"null"), answer.get("FunctionError")

    def received(self, queue: str = "Received") -> list[Any]:
        """Takes all messages out of a queue."""
        messages: list[Any] = []
        while batch := self._receive(queue):
            messages += batch
        return messages

    def records(self) -> list[Any]:
        """The records that the functions forwarded since the last time."""
        return [record for message in self.received() for record in message["records"]]

    def put(self, key: str, **attributes: Any) -> None:
        item = {"id": {"S": key}, **attributes}
        self.client("dynamodb").put_item(TableName=self.ids["Table"], Item=item)

    def _receive(self, queue: str) -> list[Any]:
        sqs = self.client("sqs")
        answer = sqs.receive_message(QueueUrl=self.ids[queue], MaxNumberOfMessages=10)
        messages = answer.get("Messages", [])
        for message in messages:
            sqs.delete_message(QueueUrl=self.ids[queue], ReceiptHandle=message["ReceiptHandle"])
        return [json.loads(message["Body"]) for message in messages]


def asset() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.write(Path(__file__).with_name("probe.py"), "probe.py")
    return buffer.getvalue()


def deploy(cloud: LocalCloud, stack: str = STACK) -> dict[str, str]:
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket=CODE_BUCKET)
    s3.put_object(Bucket=CODE_BUCKET, Key="probe.zip", Body=asset())
    body = json.dumps(template.build(CODE_BUCKET, "probe.zip"))
    cloud.client("cloudformation").create_stack(StackName=stack, TemplateBody=body)
    return cloud.outputs(stack)
