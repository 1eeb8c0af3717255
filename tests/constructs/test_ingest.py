"""What the ingest construct may do, and what it refuses; ``tests/infrastructure/snapshot.txt``
shows what it subscribes to."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kinesis as kinesis
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs

from lifoq.errors import InvalidInput
from lifoq.ingest.mapping import IngestMapping
from lifoq_cdk import QueueIngest
from tests.constructs.application import resources, template_of


def test_only_messages_that_replace_tasks_need_to_change_them(stack, queue):
    replacing = IngestMapping(task_id="body.device", if_exists="'replace'")
    news = [sns.Topic(stack, "News")]
    QueueIngest(stack, "Ingest", queue=queue, sources=news)
    QueueIngest(stack, "Replacing", queue=queue, sources=news, mapping=replacing)

    template = template_of(stack)
    for ingest, may_change in (("Ingest", False), ("Replacing", True)):
        policies = str(resources(template, "AWS::IAM::Policy", ingest))
        assert ("dynamodb:UpdateItem" in policies) is may_change


def test_what_is_no_message_or_cannot_be_put_in_time_is_refused(stack, queue):
    clicks = event_sources.KinesisEventSource(
        kinesis.Stream(stack, "Clicks"), starting_position=lambda_.StartingPosition.LATEST
    )
    large = event_sources.SqsEventSource(
        sqs.Queue(stack, "Orders"),
        batch_size=1_000,
        max_batching_window=cdk.Duration.seconds(5),
    )

    with pytest.raises(InvalidInput, match="no messages"):
        QueueIngest(stack, "Clicking", queue=queue, sources=[clicks])
    with pytest.raises(InvalidInput, match="at most 100"):
        QueueIngest(stack, "Ordering", queue=queue, sources=[large])


def test_a_mapping_that_is_no_expression_stops_the_synthesis():
    with pytest.raises(InvalidInput, match=r"mapping\.task_id.*no JMESPath expression"):
        IngestMapping(task_id="body.[")
    with pytest.raises(InvalidInput, match=r"mapping\.payload=.* holds half a surrogate"):
        IngestMapping(payload="'\ud800'")
