"""Two queues in one stack of a team's own application, deployed by the CDK CLI, each at work."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_lambda as lambda_
from moto.iam.access_control import IAMPolicy, PermissionResult

from lifoq_cdk import LifoQueue, TaskCode
from localcloud import LocalCloud
from tests.constructs.application import HERE, app_in

ROOT = HERE.parents[1]


def application(folder: Path) -> Path:
    """The assembly of a stack with two queues, and with a producer for each."""
    code = folder / "producer"
    shutil.copytree(HERE / "producer", code)
    shutil.copytree(ROOT / "lifoq", code / "lifoq")
    app = app_in(folder)
    stack = cdk.Stack(app, "pictures")
    for size, seconds in (("Small", 60), ("Large", 120)):
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
    return Path(app.synth().directory)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path_factory.mktemp("cloud")) as cloud:
        cloud.deploy(application(tmp_path_factory.mktemp("pictures")))
        yield cloud


def test_a_grant_allows_each_call_of_the_producer_and_no_more(cloud: LocalCloud) -> None:
    name = cloud.outputs("pictures")["SmallProducerName"]
    cloud.client("lambda").invoke(FunctionName=name, Payload=b'{"picture": "dog"}')
    calls = {
        (call["action"], resource)
        for call in map(json.loads, cloud.calls.read_text().splitlines())
        if call["caller"] == name
        for resource in call["resources"]
    }

    statements = permissions(cloud, name)
    policy = IAMPolicy(json.dumps({"Version": "2012-10-17", "Statement": statements}))
    assert {action for action, _ in calls} == {
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "ssm:GetParameter",
    }
    for action, resource in calls:
        permitted = policy.is_action_permitted(action, resource)
        assert permitted is PermissionResult.PERMITTED, (action, resource)
    # What put_many takes beside them.
    granted = {action for one in statements for action in as_list(one["Action"])}
    assert granted - {action for action, _ in calls} == {"dynamodb:BatchWriteItem"}


def permissions(cloud: LocalCloud, function: str) -> list[dict[str, Any]]:
    """The statements of the function's own policies, as deployed."""
    configuration = cloud.client("lambda").get_function_configuration(FunctionName=function)
    role = configuration["Role"].rsplit("/", 1)[-1]
    iam = cloud.client("iam")
    return [
        statement
        for policy in iam.list_role_policies(RoleName=role)["PolicyNames"]
        for statement in iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"][
            "Statement"
        ]
    ]


def as_list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize(("size", "deadline"), [("Small", 60), ("Large", 120)])
def test_a_producer_that_was_granted_puts_to_its_own_queue_and_sees_the_result(
    cloud: LocalCloud, size: str, deadline: float
) -> None:
    name = cloud.outputs("pictures")[f"{size}ProducerName"]

    answer = cloud.client("lambda").invoke(
        FunctionName=name, Payload=json.dumps({"picture": "cat"}).encode()
    )

    said: dict[str, Any] = json.loads(answer["Payload"].read())
    assert said == {"result": f"cat for {size}", "deadline": deadline}
