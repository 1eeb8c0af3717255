"""A team's own stack, deployed by the CDK CLI to the local cloud: queue, producer, long workers.

The local cloud runs no container: the test runs what it would, its command in its environment, and
judges it by its role's permissions."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_lambda as lambda_

from lifoq import Queue
from lifoq_cdk import LifoQueue, LongTasks, TaskCode
from lifoq_localcloud import LocalCloud
from tests.constructs.application import HERE, app_in
from tests.infrastructure import roles

pytestmark = pytest.mark.prove

ROOT = HERE.parents[1]
DEADLINE = 120.0


def application(folder: Path) -> Path:
    """The assembly of the stack."""
    code = folder / "producer"
    shutil.copytree(HERE / "producer", code)
    shutil.copytree(ROOT / "lifoq", code / "lifoq")
    app = app_in(folder)
    stack = cdk.Stack(app, "pictures")
    queue = LifoQueue(
        stack,
        "Queue",
        queue_name="pictures",
        tasks=TaskCode(HERE / "thumbnails", environment={"SIZE": "small"}),
        deadline=cdk.Duration.seconds(DEADLINE),
        window=cdk.Duration.seconds(5),
        task_timeout=cdk.Duration.seconds(5),
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
    producer = lambda_.Function(
        stack,
        "Producer",
        code=lambda_.Code.from_asset(str(code)),
        handler="producer.handle",
        runtime=lambda_.Runtime.PYTHON_3_14,
        timeout=cdk.Duration.seconds(300),
    )
    queue.grant_put(producer)
    cdk.CfnOutput(stack, "ProducerName", value=producer.function_name)
    LongTasks(
        stack,
        "Makers",
        queue=queue,
        types=["poster"],
        image=ecs.ContainerImage.from_registry("public.ecr.aws/pictures/makers"),
        environment={"SIZE": "large"},
    )
    return Path(app.synth().directory)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path_factory.mktemp("cloud")) as cloud:
        cloud.deploy(application(tmp_path_factory.mktemp("pictures")))
        yield cloud


def unused(calls: set[roles.Call], statements: list[roles.Statement]) -> set[str]:
    """Actions that are allowed; all calls are."""
    assert roles.refused(calls, statements) == set()
    return {action for action, _ in roles.granted(statements)} - {action for action, _ in calls}


def test_a_producer_that_was_granted_puts_to_its_queue_and_does_nothing_else(cloud):
    name = cloud.outputs("pictures")["ProducerName"]
    answer = cloud.client("lambda").invoke(FunctionName=name, Payload=b'{"picture": "cat"}')
    said = json.loads(answer["Payload"].read())
    assert said == {"result": "small cat", "and of many": "small cat", "deadline": DEADLINE}

    put_many = {"dynamodb:BatchWriteItem"}
    assert unused(roles.calls(cloud, name), roles.of_function(cloud, name)) == put_many


def test_the_local_cloud_says_that_it_runs_no_container(cloud):
    assert any("runs no container; start `lifoq work`" in line for line in cloud.not_imitated())


def test_a_worker_does_its_types_by_what_its_role_permits_and_no_more(cloud):
    api = cloud.client("ecs")
    (arn,) = api.list_task_definitions()["taskDefinitionArns"]
    definition = api.describe_task_definition(taskDefinition=arn)["taskDefinition"]
    (container,) = definition["containerDefinitions"]
    queue = Queue.connect("pictures", **cloud.arguments())
    before = len(cloud.calls.read_text().splitlines())
    task_id = queue.put("poster", "cat").task_id
    assert container["entryPoint"] == ["lifoq"]  # the command that an installed lifoq brings
    worker = subprocess.Popen(
        [sys.executable, "-m", "lifoq_cli", *container["command"]],
        cwd=HERE,
        env={
            **os.environ,
            **cloud.environment(),
            **{one["name"]: one["value"] for one in container["environment"]},
            "ECS_AGENT_URI": "http://127.0.0.1:1",  # that nobody answers there is logged
            "PYTHONPATH": str(ROOT),
        },
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        done = queue.wait(task_id, timeout=600)
    finally:
        worker.send_signal(signal.SIGTERM)
        _, told = worker.communicate(timeout=600)
    assert done == "large cat", told
    assert worker.returncode == 0, told

    named = [one["RoleName"] for one in cloud.client("iam").list_roles()["Roles"]]
    (role,) = [name for name in named if name.startswith("pictures-MakersTaskTaskRole")]
    calls = {
        call
        for call in roles.calls(cloud, "", since=before)
        if call[0].startswith(("dynamodb:", "ssm:"))
    }
    by_the_agent = {"ecs:GetTaskProtection", "ecs:UpdateTaskProtection"}
    assert unused(calls, roles.of_role(cloud, role)) == by_the_agent
