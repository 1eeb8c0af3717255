"""The life of a deployment, by the real CDK CLI: deploy, no difference, neighbour, update, end."""

import functools
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import aws_cdk as cdk
import pytest

from lifoq.environment import Environment
from lifoq.metrics import DIMENSION, NAMESPACE, Metric, service
from localcloud import LocalCloud
from localcloud.cloud import DeploymentError
from stacks.operate import DeployedStage
from tests.infrastructure.deployments import Deployment, a_stage, synthesize, synthesized
from tests.localcloud.harness import eventually


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path_factory.mktemp("cloud")) as cloud:
        yield cloud


@functools.cache
def dev(hours: int = 1) -> Deployment:
    """With deadlines of so many hours."""
    return synthesized(a_stage("dev", reports=True, deadline=cdk.Duration.hours(hours)))


def stacks(cloud: LocalCloud) -> set[str]:
    found = cloud.client("cloudformation").describe_stacks()["Stacks"]
    return {stack["StackName"] for stack in found} - {"CDKToolkit"}


DEV = {f"lifoq-dev-{name}" for name in ("state", "queue", "generator", "analytics")}
DEMO = {f"lifoq-demo-{name}" for name in ("state", "queue", "generator")}


@pytest.fixture(scope="module")
def side_by_side(cloud: LocalCloud) -> LocalCloud:
    """Two stages in one account and region."""
    cloud.deploy(dev().assembly)
    cloud.deploy(synthesize("demo").assembly)
    return cloud


def test_two_stages_live_side_by_side(side_by_side: LocalCloud) -> None:
    assert stacks(side_by_side) == DEV | DEMO
    assert len(side_by_side.client("dynamodb").list_tables()["TableNames"]) == 2


def test_after_a_deployment_there_is_no_difference(side_by_side: LocalCloud) -> None:
    side_by_side.cdk(dev().assembly, "diff", "--fail", "--method=template")


def test_an_update_in_place_keeps_the_table_and_its_tasks(side_by_side: LocalCloud) -> None:
    dynamodb = side_by_side.client("dynamodb")
    table = side_by_side.outputs("lifoq-dev-state")["TableName"]
    item = {"taskId": {"S": "kept"}, "taskStatus": {"S": "SUCCESS"}}
    dynamodb.put_item(TableName=table, Item=item)
    changed = dev(hours=2)
    with pytest.raises(DeploymentError, match="LIFOQ_LIFETIMES"):
        side_by_side.cdk(changed.assembly, "diff", "--fail", "--method=template")

    side_by_side.deploy(changed.assembly)

    assert side_by_side.outputs("lifoq-dev-state")["TableName"] == table
    answer = dynamodb.get_item(TableName=table, Key={"taskId": {"S": "kept"}})
    assert answer["Item"] == item
    function = side_by_side.outputs("lifoq-dev-queue")["TriggerFunctionName"]
    configuration = side_by_side.client("lambda").get_function_configuration(FunctionName=function)
    told = Environment(configuration["Environment"]["Variables"])
    assert told.lifetimes().deadline == 7200


def test_functions_that_are_deployed_anew_do_not_count_again_what_was_shed(
    side_by_side: LocalCloud,
) -> None:
    """The new trigger reads the stream of the table, which stayed, from its beginning."""
    table = side_by_side.outputs("lifoq-dev-state")["TableName"]

    def shed(*task_ids: str, counted: int) -> None:
        ttl = {"N": str(round(time.time()) - 60)}
        for task_id in task_ids:
            item = {"taskId": {"S": task_id}, "taskStatus": {"S": "DELAYED"}, "ttl": ttl}
            side_by_side.client("dynamodb").put_item(TableName=table, Item=item)
        eventually(lambda: sheds(side_by_side) >= counted, within_seconds=60)

    shed("one", "two", "three", counted=3)
    side_by_side.cdk(dev().assembly, "destroy", "lifoq-dev-queue", "--force")
    assert "lifoq-dev-queue" not in stacks(side_by_side)
    side_by_side.deploy(dev().assembly)
    side_by_side.deploy(dev(hours=2).assembly)  # an update counts on
    shed("four", counted=4)

    assert sheds(side_by_side) == 4


def sheds(cloud: LocalCloud) -> int:
    """What all triggers of the stage have counted."""
    now = datetime.now(UTC)
    points = cloud.client("cloudwatch").get_metric_statistics(
        Namespace=NAMESPACE,
        MetricName=Metric.TASKS_SHED,
        Dimensions=[{"Name": DIMENSION, "Value": service("dev")}],
        StartTime=now - timedelta(hours=1),
        EndTime=now + timedelta(minutes=1),
        Period=60,
        Statistics=["Sum"],
    )["Datapoints"]
    return round(sum(point["Sum"] for point in points))


def test_destroying_a_stage_leaves_nothing_of_it_and_all_of_its_neighbour(
    side_by_side: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = side_by_side.outputs("lifoq-dev-state")
    s3 = side_by_side.client("s3")
    s3.put_object(Bucket=state["ExportBucketName"], Key="exports/one", Body=b"1")
    for name, value in side_by_side.environment().items():
        monkeypatch.setenv(name, value)

    DeployedStage("dev").empty_buckets({"StackName": "lifoq-dev-state"})
    side_by_side.cdk(dev().assembly, "destroy", "--all", "--force")

    assert stacks(side_by_side) == DEMO
    assert state["TableName"] not in side_by_side.client("dynamodb").list_tables()["TableNames"]
    buckets = {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}
    assert state["ExportBucketName"] not in buckets
