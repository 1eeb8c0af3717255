"""What the ingest construct subscribes to, and what it refuses."""

from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_events as events
from aws_cdk import aws_kinesis as kinesis
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs

from lifoq.errors import InvalidInput
from lifoq.ingest.mapping import IngestMapping
from lifoq_cdk import BrokerQueue, LifoQueue, QueueIngest
from tests.constructs.application import HERE, app_in, resources, template_of

MAPPING = "AWS::Lambda::EventSourceMapping"
FUNCTION = "AWS::Lambda::Function"
BROKER = "arn:aws:mq:eu-west-1:123456789012:broker:orders:b-1234"


@pytest.fixture
def stack(tmp_path: Path) -> cdk.Stack:
    return cdk.Stack(app_in(tmp_path), "pictures")


@pytest.fixture
def queue(stack: cdk.Stack) -> LifoQueue:
    return LifoQueue(stack, "Queue", tasks=HERE / "thumbnails")


def of_ingest(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return resources(template, kind, "Ingest")


def test_each_kind_of_source_runs_the_one_function(stack: cdk.Stack, queue: LifoQueue) -> None:
    login = secretsmanager.Secret(stack, "Login")
    QueueIngest(
        stack,
        "Ingest",
        queue=queue,
        sources=[
            sqs.Queue(stack, "Orders"),
            sqs.Queue.from_queue_arn(stack, "Theirs", "arn:aws:sqs:eu-west-1:123456789012:theirs"),
            event_sources.SqsEventSource(sqs.Queue(stack, "Slow", fifo=True), max_concurrency=2),
            sns.Topic(stack, "News"),
            events.Rule(stack, "Rule", event_pattern=events.EventPattern(source=["shop"])),
            BrokerQueue(broker_arn=BROKER, queue_name="in", login=login),
            BrokerQueue(broker_arn=BROKER, queue_name="in", login=login, virtual_host="/"),
        ],
    )

    template = template_of(stack)
    (function,) = of_ingest(template, FUNCTION)
    assert function["Handler"] == "functions.ingest.handler.handle"
    mappings = of_ingest(template, MAPPING)
    of_queues = [one for one in mappings if "Queues" not in one]
    of_brokers = [one for one in mappings if "Queues" in one]
    assert len(of_queues) == 3
    assert all(one["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for one in of_queues)
    assert all("FunctionResponseTypes" not in one for one in of_brokers)
    assert [len(one["SourceAccessConfigurations"]) for one in of_brokers] == [1, 2]
    assert {one["Protocol"] for one in resources(template, "AWS::SNS::Subscription", "Ingest")} == {
        "lambda"
    }
    (rule,) = resources(template, "AWS::Events::Rule")
    assert "DeadLetterConfig" in rule["Targets"][0]


def test_only_messages_that_replace_tasks_need_to_change_them(
    stack: cdk.Stack, queue: LifoQueue
) -> None:
    QueueIngest(
        stack,
        "Ingest",
        queue=queue,
        sources=[sns.Topic(stack, "News")],
        mapping=IngestMapping(task_id="body.device", if_exists="'replace'"),
    )

    assert "dynamodb:UpdateItem" in str(of_ingest(template_of(stack), "AWS::IAM::Policy"))


def test_a_stream_is_refused_since_its_records_are_no_messages(
    stack: cdk.Stack, queue: LifoQueue
) -> None:
    clicks = event_sources.KinesisEventSource(
        kinesis.Stream(stack, "Clicks"), starting_position=lambda_.StartingPosition.LATEST
    )

    with pytest.raises(InvalidInput, match="no messages"):
        QueueIngest(stack, "Ingest", queue=queue, sources=[clicks])


def test_a_batch_that_cannot_be_put_in_time_is_refused(stack: cdk.Stack, queue: LifoQueue) -> None:
    large = event_sources.SqsEventSource(
        sqs.Queue(stack, "Orders"),
        batch_size=1_000,
        max_batching_window=cdk.Duration.seconds(5),
    )

    with pytest.raises(InvalidInput, match="at most 100"):
        QueueIngest(stack, "Ingest", queue=queue, sources=[large])


def test_a_mapping_that_is_no_expression_stops_the_synthesis() -> None:
    with pytest.raises(InvalidInput, match=r"mapping\.task_id.*no JMESPath expression"):
        IngestMapping(task_id="body.[")
    with pytest.raises(InvalidInput, match=r"mapping\.payload=.* holds half a surrogate"):
        IngestMapping(payload="'\ud800'")
