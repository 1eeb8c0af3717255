"""A team's own stack with three queues, deployed by the CDK CLI: two that the local cloud runs, and
one with long workers. It runs no container: the test runs what the container would, its command in
its environment, and judges it by its role's permissions."""

import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_lambda as lambda_

from lifoq import Queue
from lifoq_cdk import LifoQueue, LongTasks, TaskCode
from localcloud import LocalCloud
from tests.cli.test_work import Agent
from tests.constructs.application import HERE, app_in
from tests.infrastructure import roles

pytestmark = pytest.mark.prove

ROOT = HERE.parents[1]
DEADLINES = {"Small": 60.0, "Large": 120.0}


def application(folder: Path) -> Path:
    """The assembly of the stack, with a producer for each queue that works here."""
    code = folder / "producer"
    shutil.copytree(HERE / "producer", code)
    shutil.copytree(ROOT / "lifoq", code / "lifoq")
    app = app_in(folder)
    stack = cdk.Stack(app, "pictures")
    for size, seconds in DEADLINES.items():
        queue = LifoQueue(
            stack,
            f"{size}Queue",
            tasks=TaskCode(HERE / "thumbnails", environment={"SIZE": size}),
            deadline=cdk.Duration.seconds(seconds),
            window=cdk.Duration.seconds(5),
            task_timeout=cdk.Duration.seconds(5),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        producer = lambda_.Function(
            stack,
            f"{size}Producer",
            code=lambda_.Code.from_asset(str(code)),
            handler="producer.handle",
            runtime=lambda_.Runtime.PYTHON_3_14,
            timeout=cdk.Duration.seconds(30),
        )
        queue.grant_put(producer)
        cdk.CfnOutput(stack, f"{size}ProducerName", value=producer.function_name)
    long = LifoQueue(
        stack,
        "LongQueue",
        queue_name="long",
        tasks=TaskCode(HERE / "thumbnails", environment={"SIZE": "lambda"}),
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
    LongTasks(
        stack,
        "Makers",
        queue=long,
        types=["thumbnail"],
        image=ecs.ContainerImage.from_registry("public.ecr.aws/pictures/makers"),
        environment={"SIZE": "fargate"},
    )
    return Path(app.synth().directory)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path_factory.mktemp("cloud")) as cloud:
        cloud.deploy(application(tmp_path_factory.mktemp("pictures")))
        yield cloud


@pytest.mark.parametrize(("size", "deadline"), DEADLINES.items())
def test_a_producer_that_was_granted_puts_to_its_own_queue_and_does_nothing_else(
    cloud, size, deadline
):
    name = cloud.outputs("pictures")[f"{size}ProducerName"]
    answer = cloud.client("lambda").invoke(FunctionName=name, Payload=b'{"picture": "cat"}')
    said: dict[str, Any] = json.loads(answer["Payload"].read())
    assert said == {"result": f"cat for {size}", "deadline": deadline}

    calls, statements = roles.calls(cloud, name), roles.of_function(cloud, name)
    assert roles.refused(calls, statements) == set()
    unused = {action for action, _ in roles.granted(statements)} - {action for action, _ in calls}
    assert unused == {"dynamodb:BatchWriteItem"}  # put_many's


def test_the_local_cloud_says_that_it_runs_no_container(cloud):
    assert any("runs no container; start `lifoq work`" in line for line in cloud.not_imitated())


def test_a_worker_does_its_types_by_what_its_role_permits_and_no_more(cloud):
    api = cloud.client("ecs")
    (arn,) = api.list_task_definitions()["taskDefinitionArns"]
    definition = api.describe_task_definition(taskDefinition=arn)["taskDefinition"]
    (container,) = definition["containerDefinitions"]
    queue = Queue.connect("long", **cloud.arguments())
    before = len(cloud.calls.read_text().splitlines())
    task_id = queue.put("thumbnail", "cat").task_id
    agent = http.server.HTTPServer(("127.0.0.1", 0), Agent)
    threading.Thread(target=agent.serve_forever, daemon=True).start()
    worker = subprocess.Popen(
        [sys.executable, "-m", *container["entryPoint"], *container["command"]],
        cwd=HERE,
        env={
            **os.environ,
            **cloud.environment(),
            **{one["name"]: one["value"] for one in container["environment"]},
            "ECS_AGENT_URI": f"http://127.0.0.1:{agent.server_port}",
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
        agent.shutdown()
        agent.server_close()
    assert done == "cat for fargate", told
    assert worker.returncode == 0, told

    resources = cloud.client("cloudformation").list_stack_resources(StackName="pictures")
    (role,) = (
        one["PhysicalResourceId"]
        for one in resources["StackResourceSummaries"]
        if one["LogicalResourceId"].startswith("MakersTaskTaskRole")
        and one["ResourceType"] == "AWS::IAM::Role"
    )
    statements = roles.of_role(cloud, role)
    calls = {
        call
        for call in roles.calls(cloud, "", since=before)
        if call[0].startswith(("dynamodb:", "ssm:"))
    }
    assert roles.refused(calls, statements) == set()
    unused = {action for action, _ in roles.granted(statements)} - {action for action, _ in calls}
    assert unused == {"ecs:GetTaskProtection", "ecs:UpdateTaskProtection"}  # the agent's
