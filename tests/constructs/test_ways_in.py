"""Ways into a queue: the HTTP API and messages. ``tests/infrastructure/snapshot.txt`` shows what
these subscribe to."""

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kinesis as kinesis
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs

from lifoq.api.operations import OPERATIONS
from lifoq.errors import InvalidInput
from lifoq.ingest.mapping import IngestMapping
from lifoq_cdk import AsyncInvocation, BrokerQueue, LifoQueue, LongTasks, QueueApi, QueueIngest
from tests.constructs.application import HERE, app_in, resources, template_of

GRANTS = {
    QueueApi.grant_put: {"POST/tasks", "POST/tasks/batch"},
    QueueApi.grant_read: {"GET/tasks/*", "GET/tasks", "GET/stats"},
    QueueApi.grant_operate: {"POST/tasks/*/cancel", "POST/tasks/*/redrive"},
}
ACTIVEMQ = "arn:aws:mq:eu-west-1:123456789012:broker:old:b-1"
OPEN = ("Shop", "Partners")
"""APIs that let in everybody."""


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> dict[str, Any]:
    """A stack with a queue and ways into it. Others are in a stack beside it."""
    app = app_in(tmp_path_factory.mktemp("app"))
    stack, beside = (cdk.Stack(app, name) for name in ("pictures", "beside"))
    queue = LifoQueue(stack, "Queue", tasks=HERE / "thumbnails")
    api = QueueApi(stack, "Api", queue=queue)
    for number, grant in enumerate(GRANTS):
        grant(api, iam.Role(stack, f"Mine{number}", assumed_by=iam.AccountRootPrincipal()))
    for name in OPEN:
        QueueApi(stack, name, queue=queue, authorizer=apigateway.HttpNoneAuthorizer())
    news = [sns.Topic(stack, "News")]
    replacing = IngestMapping(task_id="body.device", if_exists="'replace'")
    QueueIngest(stack, "Ingest", queue=queue, sources=news)
    login = secretsmanager.Secret.from_secret_name_v2(stack, "Login", "broker/login")
    broker = BrokerQueue(broker_arn=ACTIVEMQ, queue_name="orders", login=login, batch_size=7)
    QueueIngest(
        stack,
        "Replacing",
        queue=queue,
        sources=[*news, broker],
        mapping=replacing,
        asynchronous=AsyncInvocation(max_event_age=cdk.Duration.minutes(9), retry_attempts=1),
    )

    image = ecs.ContainerImage.from_registry("public.ecr.aws/pictures/encoders")
    QueueApi(beside, "BesideApi", queue=queue)
    QueueIngest(beside, "BesideIngest", queue=queue, sources=[sqs.Queue(beside, "Orders")])
    LongTasks(beside, "Encoders", queue=queue, types=["video.encode"], image=image)
    template = template_of(stack)
    assert stack in beside.dependencies
    return template


def test_every_operation_has_a_route_that_asks_iam_and_a_grant_lets_in_to_what_its_name_says(
    template,
):
    routes = resources(template, "AWS::ApiGatewayV2::Route", "Api")
    assert {one["RouteKey"] for one in routes} == {f"{one.method} {one.path}" for one in OPERATIONS}
    assert {one["AuthorizationType"] for one in routes} == {"AWS_IAM"}
    for number, paths in enumerate(GRANTS.values()):
        (policy,) = resources(template, "AWS::IAM::Policy", f"Mine{number}")
        statements = policy["PolicyDocument"]["Statement"]
        assert {one["Action"] for one in statements} == {"execute-api:Invoke"}
        assert {path for one in statements for path in _allowed(one["Resource"])} == paths


def _allowed(resource: Any) -> list[str]:
    """Method and path of each ARN that a statement is about."""
    arns = resource if isinstance(resource, list) else [resource]
    ends = ["".join(part for part in arn["Fn::Join"][1] if isinstance(part, str)) for arn in arns]
    return [end.rpartition(":/*/")[2] for end in ends]


def test_two_apis_of_a_queue_with_an_authorizer_of_ones_own_have_logs_that_forget(template):
    for name in OPEN:
        routes = resources(template, "AWS::ApiGatewayV2::Route", name)
        assert {one["AuthorizationType"] for one in routes} == {"NONE"}
    named = [
        group
        for group in template["Resources"].values()
        if group["Type"] == "AWS::Logs::LogGroup" and "LogGroupName" in group["Properties"]
    ]
    names = {group["Properties"]["LogGroupName"] for group in named}
    assert len(names) == 1 + len(OPEN)
    # Others would need an entry each in the region's resource policy.
    assert all(name.startswith("/aws/vendedlogs/") for name in names)
    # Kept, it would be in the way of an API that is switched on again.
    assert {group["DeletionPolicy"] for group in named} == {"Delete"}


def test_only_messages_that_replace_tasks_need_to_change_them(template):
    for ingest, may_change in (("Ingest", False), ("Replacing", True)):
        policies = str(resources(template, "AWS::IAM::Policy", ingest))
        assert ("dynamodb:UpdateItem" in policies) is may_change


def test_messages_are_tried_as_often_and_requests_let_in_as_many_as_asked(template):
    for ingest, tried in (("Ingest", (21600, 2)), ("Replacing", (540, 1))):
        (told,) = resources(template, "AWS::Lambda::EventInvokeConfig", ingest)
        assert (told["MaximumEventAgeInSeconds"], told["MaximumRetryAttempts"]) == tried
    (stage,) = resources(template, "AWS::ApiGatewayV2::Stage", "Api")
    limits = {"ThrottlingBurstLimit": 200, "ThrottlingRateLimit": 100}
    assert stage["DefaultRouteSettings"] == limits


def test_a_queue_of_activemq_is_followed_by_its_login_alone(template):
    (mapping,) = resources(template, "AWS::Lambda::EventSourceMapping", "Replacing")
    assert (mapping["EventSourceArn"], mapping["Queues"]) == (ACTIVEMQ, ["orders"])
    (access,) = mapping["SourceAccessConfigurations"]
    assert (access["Type"], mapping["BatchSize"]) == ("BASIC_AUTH", 7)
    assert "FunctionResponseTypes" not in mapping


def test_what_is_no_message_or_cannot_be_put_in_time_is_refused(aside, queue):
    clicks = event_sources.KinesisEventSource(
        kinesis.Stream(aside, "Clicks"), starting_position=lambda_.StartingPosition.LATEST
    )
    large = event_sources.SqsEventSource(
        sqs.Queue(aside, "Orders"),
        batch_size=1_000,
        max_batching_window=cdk.Duration.seconds(5),
    )

    with pytest.raises(InvalidInput, match="no messages"):
        QueueIngest(aside, "Clicking", queue=queue, sources=[clicks])
    with pytest.raises(InvalidInput, match="at most 100"):
        QueueIngest(aside, "Ordering", queue=queue, sources=[large])
    with pytest.raises(InvalidInput, match=r"sources\[0\]='orders': is no queue, topic, rule"):
        QueueIngest(aside, "Guessing", queue=queue, sources=["orders"])


def test_a_mapping_that_is_no_expression_stops_the_synthesis():
    with pytest.raises(InvalidInput, match=r"mapping\.task_id.*no JMESPath expression"):
        IngestMapping(task_id="body.[")
    with pytest.raises(InvalidInput, match=r"mapping\.payload=.* holds half a surrogate"):
        IngestMapping(payload="'\ud800'")


def test_what_is_added_in_another_stack_is_not_asked_for_by_the_queues_own(template):
    text = json.dumps(template)
    for added in ("BesideApiFunction", "BesideIngestFunction", "EncodersService"):
        assert added not in text
