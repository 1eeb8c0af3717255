"""Somebody's own application, checked by cdk-nag: what is right as it is says so itself."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from lifoq_cdk import (
    BrokerQueue,
    HttpsTarget,
    LifoQueue,
    Load,
    LongTasks,
    QueueApi,
    QueueGenerator,
    QueueIngest,
    QueueReports,
    QueueState,
    TaskCode,
    TaskEvents,
)
from tests.constructs.application import HERE, app_in

BROKER = "arn:aws:mq:eu-west-1:123456789012:broker:orders:b-1234"


def everything(app: cdk.App) -> None:
    """A queue with all there is, in one stack."""
    stack = cdk.Stack(app, "pictures")
    login = secretsmanager.Secret.from_secret_name_v2(stack, "Login", "broker/login")
    queue = LifoQueue(
        stack,
        "Queue",
        state=QueueState(stack, "State", large_payload_retention=cdk.Duration.days(60)),
        tasks=TaskCode(HERE / "thumbnails", secrets={"LOGIN": login}),
        targets={
            "a": HttpsTarget(url="https://shop.example", secret_headers={"X-Key": "shop/key"})
        },
        events=TaskEvents(step_functions=True),
        tracing=lambda_.Tracing.ACTIVE,
    )
    rule = events.Rule(stack, "Rule", event_pattern=events.EventPattern(source=["shop"]))
    broker = BrokerQueue(broker_arn=BROKER, queue_name="orders", login=login)
    QueueIngest(stack, "Ingest", queue=queue, sources=[rule, broker])
    QueueApi(stack, "Api", queue=queue)
    QueueGenerator(stack, "Generator", queue=queue, load=Load(task_type="a", tasks_per_second=1))
    QueueReports(stack, "Reports", queue=queue)
    image = ecs.ContainerImage.from_registry("public.ecr.aws/pictures/encoders")
    LongTasks(stack, "Encoders", queue=queue, types=["video.encode"], image=image)
    queue.grant_put(iam.Role(stack, "Mine", assumed_by=iam.AccountRootPrincipal()))


def test_no_check_objects(tmp_path):
    app = app_in(tmp_path)
    everything(app)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(), ServerlessChecks())

    app.synth()


def test_what_others_add_is_judged_all_the_same(tmp_path):
    app = app_in(tmp_path)
    cats = iam.PolicyStatement(actions=["s3:GetObject"], resources=["arn:aws:s3:::cats/*"])
    LifoQueue(
        cdk.Stack(app, "pictures"),
        "Queue",
        tasks=TaskCode(HERE / "thumbnails", initial_policy=[cats]),
    )
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks())

    with pytest.raises(RuntimeError, match=r"IAM5\[Resource::arn:aws:s3:::cats/\*\]") as refused:
        app.synth()
    assert str(refused.value).count("Acknowledge with") == 1
