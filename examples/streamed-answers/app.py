"""A queue of questions."""

import aws_cdk as cdk

from lifoq_cdk import LifoQueue

app = cdk.App()
stack = cdk.Stack(app, "questions")

LifoQueue(
    stack,
    "Queue",
    queue_name="questions",
    tasks="tasks",
    deadline=cdk.Duration.seconds(20),  # so long does somebody wait for the first word
)

app.synth()
