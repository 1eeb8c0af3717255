"""Long workers, deployed by the CDK CLI to the local cloud. It runs no container, so the test runs
what the container would: its command, in its environment, with its role's permissions."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from moto.iam.access_control import IAMPolicy, PermissionResult

from lifoq import Queue
from lifoq_cdk import LifoQueue, LongTasks, TaskCode
from localcloud import LocalCloud
from tests.cli.test_work import Agent
from tests.constructs.application import HERE, app_in


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    stack = cdk.Stack(app_in(tmp_path_factory.mktemp("app")), "pictures")
    queue = LifoQueue(
        stack,
        "Queue",
        queue_name="pictures",
        tasks=TaskCode(HERE / "thumbnails", environment={"SIZE": "lambda"}),
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
    LongTasks(
        stack,
        "Makers",
        queue=queue,
        types=["thumbnail"],
        image=ecs.ContainerImage.from_registry("public.ecr.aws/pictures/makers"),
        environment={"SIZE": "fargate"},
    )
    app = stack.node.root
    assert isinstance(app, cdk.App)
    with LocalCloud(tmp_path_factory.mktemp("cloud")) as cloud:
        cloud.deploy(Path(app.synth().directory))
        yield cloud


def test_the_local_cloud_says_that_it_runs_no_container(cloud: LocalCloud) -> None:
    assert any("runs no container; start `lifoq work`" in line for line in cloud.not_imitated())


def test_a_worker_does_its_types_by_what_its_role_permits_and_no_more(cloud: LocalCloud) -> None:
    definition = _definition(cloud)
    (container,) = definition["containerDefinitions"]
    queue = Queue.connect("pictures", **cloud.arguments())
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
            "PYTHONPATH": str(HERE.parents[1]),
        },
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        done = queue.wait(task_id, timeout=60)
    finally:
        worker.send_signal(signal.SIGTERM)
        _, told = worker.communicate(timeout=60)
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
    iam = cloud.client("iam")
    (name,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
    document = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
    policy = IAMPolicy(json.dumps(document))
    calls = {
        (call["action"], resource)
        for call in map(json.loads, cloud.calls.read_text().splitlines()[before:])
        if not call["caller"] and call["action"].partition(":")[0] in {"dynamodb", "ssm"}
        for resource in call["resources"]
    }
    granted = {one for each in document["Statement"] for one in _list(each["Action"])}
    assert {action for action, _ in calls} == granted - {
        "ecs:GetTaskProtection",  # the agent asks for these
        "ecs:UpdateTaskProtection",
    }
    for action, resource in calls:
        assert policy.is_action_permitted(action, resource) is PermissionResult.PERMITTED, action


def _definition(cloud: LocalCloud) -> dict[str, object]:
    client = cloud.client("ecs")
    (arn,) = client.list_task_definitions()["taskDefinitionArns"]
    found: dict[str, object] = client.describe_task_definition(taskDefinition=arn)["taskDefinition"]
    return found


def _list(value: object) -> list[str]:
    return value if isinstance(value, list) else [str(value)]
