"""The small stack on a local cloud, and handy ways to use it."""

import io
import json
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from lifoq_localcloud import LocalCloud
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


def gone(pid: int) -> bool:
    """True for a process that is dead, or dead but for whoever should collect it."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


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
        sqs, url, bodies = self.client("sqs"), self.ids[queue], list[str]()
        while batch := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in batch:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                bodies.append(message["Body"])
        return bodies

    def records(self) -> list[Any]:
        """The records that the functions forwarded since the last time."""
        return [record for records in self.received() for record in json.loads(records)]

    def put(self, key: str, /, **attributes: Any) -> None:
        item = {"id": {"S": key}, **attributes}
        self.client("dynamodb").put_item(TableName=self.ids["Table"], Item=item)


def zipped(files: dict[str, str]) -> bytes:
    """Code as Lambda takes it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def deploy(cloud: LocalCloud, stack: str = STACK) -> dict[str, str]:
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket=CODE_BUCKET)
    folder = Path(__file__).parent
    code = zipped({name: (folder / name).read_text() for name in ("probe.py", "forwarding.py")})
    s3.put_object(Bucket=CODE_BUCKET, Key="probe.zip", Body=code)
    body = json.dumps(template.build(CODE_BUCKET, "probe.zip"))
    cloud.client("cloudformation").create_stack(
        StackName=stack, TemplateBody=body, Capabilities=["CAPABILITY_IAM"]
    )
    return cloud.outputs(stack)
