"""The templates that a release is held to: of every stage of this repository, of a stage with
everything switched on, and of another team's application with everything switched on."""

import re
from collections.abc import Mapping
from typing import Any, Final

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_kms as kms

from lifoq_cdk import (
    LifoQueue,
    LongTasks,
    QueueApi,
    QueueGenerator,
    QueueIngest,
    QueueReports,
    RecurringTask,
    TaskCode,
)
from stacks.stages import STAGES
from tests.infrastructure.deployments import Deployment, deployment_of, new_app, synthesize
from tests.infrastructure.deployments import synthesized as stage_of
from tests.infrastructure.everything import everything, properties
from tests.infrastructure.updates import Templates

HASH: Final = re.compile(r"[0-9a-f]{64}")
"""The hash of an asset: it changes with each line of code, and says nothing of the template."""
KEPT: Final = {"Type", "Properties", "DeletionPolicy", "UpdateReplacePolicy"}
"""The parts of a resource by which CloudFormation updates it."""


def of_today() -> dict[str, Templates]:
    """Return the templates by application, as today's code synthesizes them."""
    stages = {name: synthesize(name) for name in STAGES}
    deployments = {**stages, "everything": stage_of(everything()), "pictures": _of_a_team()}
    return {name: normalised(found) for name, found in deployments.items()}


def normalised(deployment: Deployment) -> Templates:
    """Return what decides about an update, and does not change with each line of code."""
    return {stack: _template(found) for stack, found in sorted(deployment.templates.items())}


def _template(found: Mapping[str, Any]) -> dict[str, Any]:
    resources = {
        logical_id: {name: value for name, value in resource.items() if name in KEPT}
        for logical_id, resource in found["Resources"].items()
        if resource["Type"] != "AWS::CDK::Metadata"
    }
    template: dict[str, Any] = _without_hashes(
        {"Resources": resources, "Outputs": found.get("Outputs", {})}
    )
    return template


def _without_hashes(value: Any) -> Any:
    match value:
        case str():
            return HASH.sub("…", value)
        case dict():
            return {name: _without_hashes(one) for name, one in value.items()}
        case list():
            return [_without_hashes(one) for one in value]
    return value


def _of_a_team() -> Deployment:
    """One stack, with a queue that has its state in itself, and whatever can be put beside it."""
    app = new_app()
    stack = cdk.Stack(app, "pictures")
    code = TaskCode("tests/constructs/thumbnails", environment={"SIZE": "small"}, memory_size=1024)
    queue = LifoQueue(
        stack,
        "Queue",
        queue_name="pictures",
        tasks=code,
        encryption_key=kms.Key(stack, "Key"),
        large_payloads=True,
        removal_policy=cdk.RemovalPolicy.RETAIN,
        **properties(),
    )
    QueueApi(stack, "Api", queue=queue)
    rule = events.Rule(
        stack, "Created", event_pattern=events.EventPattern(detail_type=["order.created"])
    )
    QueueIngest(stack, "Ingest", queue=queue, sources=[rule])
    image = ecs.ContainerImage.from_registry("public.ecr.aws/pictures/encoders")
    LongTasks(stack, "Encoders", queue=queue, types=["video.encode"], image=image)
    nightly = RecurringTask(name="nightly", task_type="thumbnail", schedule="cron(0 3 * * ? *)")
    QueueGenerator(stack, "Generator", queue=queue, recurring=[nightly])
    QueueReports(stack, "Reports", queue=queue)
    return deployment_of(app)
