"""The life of a deployment, by the real CDK CLI: deploy, no difference, neighbour, update, end."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from deployments import Deployment, synthesize

from localcloud import LocalCloud
from localcloud.cloud import DeploymentError
from stacks.operate import DeployedStage

ANALYTICS = {"analytics": {"window_minutes": 60}}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path_factory.mktemp("cloud")) as cloud:
        yield cloud


def dev(**settings: Any) -> Deployment:
    return synthesize("dev", json.dumps({**ANALYTICS, **settings}))


def stacks(cloud: LocalCloud) -> set[str]:
    found = cloud.client("cloudformation").describe_stacks()["Stacks"]
    return {stack["StackName"] for stack in found} - {"CDKToolkit"}


DEV = {f"lifoq-dev-{name}" for name in ("state", "queue", "generator", "analytics")}
DEMO = {f"lifoq-demo-{name}" for name in ("state", "queue", "generator")}


def test_a_deployment_lives_from_bootstrap_to_destroy(
    cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = dev()
    cloud.deploy(first.assembly)
    assert stacks(cloud) == DEV
    cloud.cdk(first.assembly, "diff", "--fail", "--method=template")

    cloud.deploy(synthesize("demo").assembly)
    assert stacks(cloud) == DEV | DEMO
    tables = cloud.client("dynamodb").list_tables()["TableNames"]
    assert len(tables) == 2

    table = cloud.outputs("lifoq-dev-state")["TableName"]
    item = {"taskId": {"S": "kept"}, "taskStatus": {"S": "SUCCESS"}}
    cloud.client("dynamodb").put_item(TableName=table, Item=item)
    changed = dev(deadline_seconds=7200)
    with pytest.raises(DeploymentError, match="LIFOQ_DEADLINE_SECONDS"):
        cloud.cdk(changed.assembly, "diff", "--fail", "--method=template")
    cloud.deploy(changed.assembly)
    assert cloud.outputs("lifoq-dev-state")["TableName"] == table
    answer = cloud.client("dynamodb").get_item(TableName=table, Key={"taskId": {"S": "kept"}})
    assert answer["Item"] == item
    variables = cloud.client("lambda").get_function_configuration(
        FunctionName=cloud.outputs("lifoq-dev-queue")["TriggerFunctionName"]
    )["Environment"]["Variables"]
    assert variables["LIFOQ_DEADLINE_SECONDS"] == "7200"

    bucket = cloud.outputs("lifoq-dev-state")["ExportBucketName"]
    cloud.client("s3").put_object(Bucket=bucket, Key="exports/one", Body=b"1")
    for name, value in cloud.environment().items():
        monkeypatch.setenv(name, value)
    DeployedStage("dev").empty_export_bucket()
    assert "Contents" not in cloud.client("s3").list_objects_v2(Bucket=bucket)
    cloud.cdk(changed.assembly, "destroy", "--all", "--force")
    assert stacks(cloud) == DEMO
    assert table not in cloud.client("dynamodb").list_tables()["TableNames"]
