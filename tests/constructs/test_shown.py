"""What is added to a queue is seen where the queue itself is."""

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_sqs as sqs

from lifoq_cdk import LifoQueue, LongTasks, QueueApi, QueueIngest, TaskEvents
from tests.constructs.application import HERE, app_in, resources, template_of

IMAGE = ecs.ContainerImage.from_registry("public.ecr.aws/pictures/encoders")
ADDED = ("ApiFunction", "IngestFunction", "TaskEventsFunction")


def application(folder: Path, *, apart: bool) -> list[cdk.Stack]:
    """With all that can be added: to the queue's stack, or in a stack of its own."""
    app = app_in(folder)
    stack = cdk.Stack(app, "pictures")
    queue = LifoQueue(
        stack, "Queue", tasks=HERE / "thumbnails", events=None if apart else TaskEvents()
    )
    beside = cdk.Stack(app, "beside") if apart else stack
    QueueApi(beside, "Api", queue=queue)
    QueueIngest(beside, "Ingest", queue=queue, sources=[sqs.Queue(beside, "Orders")])
    LongTasks(beside, "Encoders", queue=queue, types=["video.encode"], image=IMAGE)
    return [stack, beside]


def told(template: dict[str, Any], type_name: str, prefix: str = "") -> str:
    """All that resources of a type say, as text."""
    return json.dumps(resources(template, type_name, prefix))


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return template_of(application(tmp_path_factory.mktemp("app"), apart=False)[0])


@pytest.mark.parametrize("function", ADDED)
def test_a_function_that_is_added_is_on_the_dashboard_and_before_queries_and_doctor(
    together: dict[str, Any], function: str
) -> None:
    assert told(together, "AWS::CloudWatch::Dashboard").count(function) >= 6
    for query in resources(together, "AWS::Logs::QueryDefinition"):
        assert sum(f"{function}Logs" in json.dumps(one) for one in query["LogGroupNames"]) == 1
    assert function in told(together, "AWS::SSM::Parameter", "QueueDeployment")


def test_their_alarms_mappings_and_workers_are_before_the_doctor(together: dict[str, Any]) -> None:
    parameter = told(together, "AWS::SSM::Parameter", "QueueDeployment")
    for part in (
        "ApiAlarmsFunctionErrors",
        "IngestAlarmsDroppedEvents",
        "EncodersAlarmsLongTasksWaiting",
        "IngestFunctionSqsEventSource",
        "TaskEventsFunctionTableStream",
        "EncodersService",
    ):
        assert part in parameter, part
    assert "TasksOpen" in told(together, "AWS::CloudWatch::Dashboard")


def test_what_lies_in_another_stack_is_not_asked_for_by_the_queues(tmp_path: Path) -> None:
    """They would each need the other to be deployed first."""
    stack, beside = application(tmp_path, apart=True)
    template = template_of(stack)
    assert not [name for name in ADDED if name in json.dumps(template)]
    assert 'long_tasks\\": {}' in told(template, "AWS::SSM::Parameter", "QueueDeployment")
    assert stack in beside.dependencies
