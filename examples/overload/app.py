"""A queue in front of a slow system. Its times are seconds, so that an overload is seen soon."""

import aws_cdk as cdk
from targets import TARGETS

from lifoq import Backoff
from lifoq_cdk import LifoQueue

app = cdk.App()
stack = cdk.Stack(app, "overload")
seconds = cdk.Duration.seconds

LifoQueue(
    stack,
    "Queue",
    queue_name="overload",
    tasks="tasks",
    targets=TARGETS,
    deadline=seconds(10),  # a task that has waited longer is shed
    in_flight=4,  # the slow system takes as many requests at a time
    task_timeout=seconds(5),
    window=seconds(12),
    lease=seconds(6),
    heartbeat=seconds(2),
    backoff=Backoff(min_seconds=0.5, max_seconds=5),
)

app.synth()
