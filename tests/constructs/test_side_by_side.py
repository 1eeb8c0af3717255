"""Two queues in one stack of a team's own application, deployed by the CDK CLI, each at work."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_lambda as lambda_

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
