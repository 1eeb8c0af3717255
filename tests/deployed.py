"""A queue ``dev`` in moto's account, as far as its processor is concerned."""

from typing import Any

import boto3

from lifoq.client.connection import Connection
from lifoq.items.lifetimes import Lifetimes
from lifoq.operating.deployment import Deployment

PROCESSORS = 3


def deploy_dev() -> None:
    """Its processor runs 77 s at the most."""
    role = boto3.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument="{}")
    boto3.client("lambda").create_function(
        FunctionName="processor",
        Role=role["Role"]["Arn"],
        Runtime="python3.13",
        Handler="a.b",
        Code={"ZipFile": b""},
        Timeout=77,
    )
    topic = boto3.client("sns").create_topic(Name="kicks")["TopicArn"]
    settings = Connection(table="t", lifetimes=Lifetimes(), topics={"process": topic})
    deployed = Deployment(
        release="0.1.0",
        functions={"process_tasks": "processor"},
        processors=PROCESSORS,
        stream_mapping="",
        schedules=(),
        alarms=(),
        alarm_topic="",
        dead_letters="",
        export_bucket="",
    )
    for name, value in (("queue", settings), ("deployment", deployed)):
        boto3.client("ssm").put_parameter(
            Name=f"/lifoq/dev/{name}", Value=value.encode(), Type="String"
        )


def concurrency() -> Any:
    answer = boto3.client("lambda").get_function_concurrency(FunctionName="processor")
    return answer.get("ReservedConcurrentExecutions")
