"""A queue whose producer and worker are TypeScript."""

import aws_cdk as cdk
from aws_cdk import aws_ssm as ssm
from targets import TARGETS

from lifoq_cdk import LifoQueue, QueueApi

app = cdk.App()
stack = cdk.Stack(app, "words")

queue = LifoQueue(
    stack,
    "Queue",
    queue_name="words",
    tasks="tasks",
    targets=TARGETS,
    deadline=cdk.Duration.minutes(2),
)
api = QueueApi(stack, "Api", queue=queue)
ssm.StringParameter(stack, "Address", parameter_name="/words/url", string_value=api.url)

app.synth()
