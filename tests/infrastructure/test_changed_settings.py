"""Settings are switched on and off again by deploying one over the other, with the real CDK CLI.

The local cloud refuses to delete an export that another stack imports, as CloudFormation does.
"""

import json
from pathlib import Path
from typing import Any

from localcloud import LocalCloud
from tests.infrastructure.deployments import synthesize

LASTING: dict[str, Any] = {"deadline_seconds": 3600}
ON: dict[str, Any] = {
    "analytics": {"window_minutes": 60},
    "customer_managed_key": True,
    "large_payloads": True,
    "api": {},
    "ingest": {"events": [{"source": ["com.example.shop"]}]},
    "long_tasks": {"Encoders": {"types": ["video.encode"], "repository": "videos", "tag": "v1"}},
}
OFF: dict[str, Any] = {
    "analytics": None,
    "customer_managed_key": False,
    "large_payloads": False,
    "api": None,
    "ingest": None,
    "long_tasks": {},
}
CHANGES: list[dict[str, Any]] = [
    ON,
    {**ON, "analytics": None, "api": {"requests_per_second": 5}, "ingest": None},
    {**ON, "customer_managed_key": False},
    OFF,
    ON,
]


def test_every_change_can_be_deployed_over_what_was_before(tmp_path: Path) -> None:
    with LocalCloud(tmp_path) as cloud:
        outputs = []
        for settings in CHANGES:
            cloud.deploy(synthesize("demo", json.dumps({**LASTING, **settings})).assembly)
            outputs.append(cloud.outputs("lifoq-demo-state"))
        functions = {one["FunctionName"] for one in _functions(cloud)}
        told = cloud.outputs("lifoq-demo-queue")

    assert {told["ApiFunctionName"], told["IngestFunctionName"]} <= functions, "made once more"
    assert all(each == outputs[0] for each in outputs), "table, bucket and topic stay the same"


def _functions(cloud: LocalCloud) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cloud.client("lambda").list_functions()["Functions"]
    return found
