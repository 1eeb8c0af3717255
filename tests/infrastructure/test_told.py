"""The documented examples of being told, deployed by the CDK CLI to the local cloud, at work."""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifoq import Lifetimes, Queue, Store
from lifoq.tables.dynamo import DynamoTable
from localcloud import LocalCloud
from tests.infrastructure.commands import run
from tests.infrastructure.deployments import ROOT
from tests.localcloud.harness import eventually


def written(page: str, folder: Path) -> Path:
    """The page's example in a folder of its own; where it is synthesized to."""
    text = (ROOT / "docs" / page).read_text()
    for title, code in re.findall(r'```python title="(.+?)"\n(.*?)```', text, flags=re.DOTALL):
        file = folder / title
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(code)
    return synthesized(folder, folder / "cdk.out")


def synthesized(folder: Path, out: Path) -> Path:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CDK_OUTDIR": str(out)}
    run(sys.executable, "app.py", cwd=folder, env=env)
    return out


@pytest.fixture(scope="module")
def cloud(tmp_path_factory) -> Iterator[LocalCloud]:
    """TTL is late, as on AWS: what is told as shed, the sweep has found at its deadline."""
    with LocalCloud(tmp_path_factory.mktemp("cloud"), ttl_delay_seconds=3600) as cloud:
        yield cloud


pytestmark = pytest.mark.prove

# The topic


def test_subscribers_are_told_what_they_asked_for(cloud, tmp_path_factory):
    cloud.deploy(written("task-events.md", tmp_path_factory.mktemp("pictures")))
    outputs, sqs = cloud.outputs("pictures"), cloud.client("sqs")
    dynamodb = cloud.client("dynamodb")
    table = DynamoTable.of_clients(outputs["TableName"], client=dynamodb, once=dynamodb)
    queue = Queue(Store(table, lifetimes=Lifetimes(shed_at_deadline=True)))
    queue.put("thumbnail", "cat", task_id="made", key="cats")
    queue.put("thumbnail", None, task_id="failed")
    queue.put("thumbnail", "dog", task_id="shed", deadline=0.000_001)
    queue.put("thumbnail", "dog", task_id="cancelled", delay=60)
    queue.cancel("cancelled")

    def received(name: str, number: int) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def look() -> bool:
            cloud.client("lambda").invoke(FunctionName=outputs["SweepName"], Payload=b"{}")
            answer = sqs.receive_message(QueueUrl=outputs[name], MaxNumberOfMessages=10)
            messages = [json.loads(one["Body"]) for one in answer.get("Messages", [])]
            found.update({message["taskId"]: message for message in messages})
            return len(found) >= number

        eventually(look)
        return found

    lost, made = received("LostUrl", 2), received("MadeUrl", 1)
    assert {task_id: told["status"] for task_id, told in lost.items()} == {
        "failed": "FAILURE",
        "shed": "SHED",
    }
    assert lost["failed"]["error"] == {"type": "Fail", "message": "no picture"}
    assert {task_id: told["result"] for task_id, told in made.items()} == {"made": "small cat"}
    assert made["made"]["taskKey"] == "cats"
    assert queue.get("shed") is None


# Step Functions


def test_a_branch_that_is_lost_is_compensated_and_said(cloud, tmp_path_factory):
    example = ROOT / "examples" / "order-fulfilment"
    cloud.deploy(synthesized(example, tmp_path_factory.mktemp("orders")))
    outputs, states = cloud.outputs("orders"), cloud.client("stepfunctions")
    order = {"number": 4711, "article": "book", "cents": 1250}
    within = {"reserveWithin": 600, "chargeWithin": 0.000_001, "shipWithin": 600, "undoWithin": 600}
    execution = states.start_execution(
        stateMachineArn=outputs["OrderArn"], input=json.dumps({"order": order, **within})
    )["executionArn"]

    def ended() -> dict[str, Any] | None:
        cloud.client("lambda").invoke(FunctionName=outputs["SweepName"], Payload=b"{}")
        found = states.describe_execution(executionArn=execution)
        return None if found["status"] == "RUNNING" else found

    found = eventually(ended)
    assert (found["status"], found["error"]) == ("FAILED", "lifoq.Shed")
    history = states.get_execution_history(executionArn=execution)["events"]
    causes = [one["taskFailedEventDetails"] for one in history if "taskFailedEventDetails" in one]
    assert json.loads(causes[-1]["cause"])["attempts"] == 0
    left = [one["stateExitedEventDetails"] for one in history if "stateExitedEventDetails" in one]
    assert [one["name"] for one in left[-2:]] == ["Undo what was done", "Compensate"]
