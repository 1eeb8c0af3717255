"""A queue in front of a language model."""

import os

import aws_cdk as cdk

from lifoq_cdk import LifoQueue, TaskCode

app = cdk.App()
stack = cdk.Stack(app, "questions")
seconds = cdk.Duration.seconds

LifoQueue(
    stack,
    "Queue",
    queue_name="questions",
    tasks=TaskCode(
        "tasks", environment={"MODEL": os.environ.get("MODEL", "http://127.0.0.1:8771")}
    ),
    deadline=seconds(20),  # nobody waits longer
    task_timeout=seconds(20),
    window=seconds(840),  # a run ends with its last answer: many short runs would lose time
    heartbeat=seconds(2),  # so soon does a task hear that its user has left
    in_flight=20,
)

app.synth()
