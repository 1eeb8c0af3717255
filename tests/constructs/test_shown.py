"""What is added to a queue in another stack is not asked for by the queue's own. What is added in
the queue's stack is seen where the queue is: ``tests/infrastructure/test_monitoring.py``."""

import json

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_sqs as sqs

from lifoq_cdk import LifoQueue, LongTasks, QueueApi, QueueIngest
from tests.constructs.application import HERE, app_in, resources, template_of

IMAGE = ecs.ContainerImage.from_registry("public.ecr.aws/pictures/encoders")


def test_neither_stack_needs_the_other_to_be_deployed_first(tmp_path):
    app = app_in(tmp_path)
    stack, beside = cdk.Stack(app, "pictures"), cdk.Stack(app, "beside")
    queue = LifoQueue(stack, "Queue", tasks=HERE / "thumbnails")
    QueueApi(beside, "Api", queue=queue)
    QueueIngest(beside, "Ingest", queue=queue, sources=[sqs.Queue(beside, "Orders")])
    LongTasks(beside, "Encoders", queue=queue, types=["video.encode"], image=IMAGE)

    template = template_of(stack)

    assert "ApiFunction" not in json.dumps(template)
    assert "IngestFunction" not in json.dumps(template)
    parameter = json.dumps(resources(template, "AWS::SSM::Parameter", "QueueDeployment"))
    assert 'long_tasks\\": {}' in parameter
    assert stack in beside.dependencies
