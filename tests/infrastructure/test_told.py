"""The documented examples of being told. What is told at all, the acceptance test shows."""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifoq_localcloud import LocalCloud
from tests.infrastructure.commands import ROOT, run
from tests.localcloud.harness import eventually

pytestmark = pytest.mark.prove


def synthesized(folder: Path, out: Path) -> Path:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CDK_OUTDIR": str(out)}
    run(sys.executable, "app.py", cwd=folder, env=env)
    return out


def test_the_example_of_a_topic_filters_by_what_messages_have(tmp_path):
    page = (ROOT / "docs" / "task-events.md").read_text()
    for title, code in re.findall(r'```python title="(.+?)"\n(.*?)```', page, flags=re.DOTALL):
        (tmp_path / title).parent.mkdir(exist_ok=True)
        (tmp_path / title).write_text(code)
    template = synthesized(tmp_path, tmp_path / "cdk.out") / "pictures.template.json"
    resources = json.loads(template.read_text())["Resources"].values()
    filters = [one.get("Properties", {}).get("FilterPolicy", {}) for one in resources]
    assert [one for one in filters if one] == [
        {"status": ["SUCCESS"], "taskType": ["thumbnail"]},
        {"status": ["FAILURE", "SHED"]},
    ]


@pytest.fixture
def cloud(tmp_path) -> Iterator[LocalCloud]:
    """With the example of Step Functions. TTL is late, as on AWS: the sweep finds what was shed."""
    example = ROOT / "examples" / "order-fulfilment"
    with LocalCloud(tmp_path / "cloud", ttl_delay_seconds=3600) as cloud:
        cloud.deploy(synthesized(example, tmp_path / "orders"))
        yield cloud


def test_a_branch_that_is_lost_is_compensated_and_said(cloud):
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
