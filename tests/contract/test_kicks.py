"""Kicks by a producer: a lone task wakes its processor, and a lost kick costs no task."""

import json
import logging
from unittest import mock

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError

from lifoq import Cells, Queue, TaskShed
from lifoq.client.connection import Connection
from lifoq.client.kicks import Kicks
from lifoq.items.lifetimes import Lifetimes
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing import create_table
from lifoq.testing.hosts import ManualHost

TOPIC = "arn:aws:sns:eu-west-1:123456789012:processor"


@pytest.fixture
def sns():
    """SNS, as boto3 would call it."""
    with mock.patch("lifoq.aws.boto3_clients.new_client") as new_client:
        client = new_client.return_value
        client.made_by = new_client
        yield client


@pytest.fixture
def queue(host: ManualHost) -> Queue:
    store = Store(MemoryTable(), host=host)
    return Queue(store, host=host, kicks=Kicks(TOPIC, host=host, endpoint_url="http://here"))


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "Publish")


def test_a_put_kicks_where_it_is_asked_to_and_a_call_unless_it_is_asked_not_to(sns, queue, host):
    queue.put("a")
    assert not sns.made_by.called
    queue.put("a", kick=True)
    sns.publish.assert_called_once_with(TopicArn=TOPIC, Message=mock.ANY)
    for kick in (False, True):
        host.advance(10)
        with pytest.raises(TaskShed):
            queue.call("a", timeout=1, kick=kick)
        assert sns.publish.call_count == 1 + kick


def test_the_client_is_the_producers_own_in_the_region_of_the_topic_and_gives_up_soon(sns, queue):
    queue.put("a", kick=True)
    (service, defaults), arguments = sns.made_by.call_args
    assert service == "sns"
    assert arguments == {"endpoint_url": "http://here", "region_name": "eu-west-1"}
    assert (defaults.connect_timeout, defaults.read_timeout) == (1, 1)
    assert defaults.retries["total_max_attempts"] == 1


def test_no_more_than_one_kick_a_second_is_sent_and_none_for_what_is_not_to_start(sns, queue, host):
    queue.put("a", kick=True, delay=60)
    assert sns.publish.call_count == 0
    for _ in range(30):
        queue.put("a", kick=True)
        host.advance(0.1)
    assert sns.publish.call_count == 3


def test_a_call_for_a_task_that_is_there_kicks_nobody(sns, queue):
    queue.put("a", task_id="t", deadline=1)
    with pytest.raises(TaskShed):
        queue.call("a", timeout=2, task_id="t")
    assert sns.publish.call_count == 0


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (refused("AuthorizationError"), False),
        (refused("NotFound"), False),
        (refused("KMSAccessDenied"), False),
        (refused("InvalidClientTokenId"), False),
        (refused("Throttling"), True),
        (refused("SomethingNew"), True),
        (ConnectTimeoutError(endpoint_url="http://here"), True),
    ],
)
def test_a_kick_that_fails_fails_no_put_and_what_does_not_pass_is_not_tried_again(
    sns, queue, host, caplog, error, again
):
    caplog.set_level(logging.DEBUG, "lifoq.kicks")
    sns.publish.side_effect = error
    queue.put("a", task_id="t", kick=True)
    assert queue.get("t").waiting
    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    assert "left to the stream" in caplog.text
    host.advance(60)
    queue.put("a", kick=True)
    assert sns.publish.call_count == 1 + again


def test_a_queue_in_memory_or_of_a_table_has_nobody_to_kick_and_cells_kick_their_own(sns, host):
    Queue.in_memory().put("a", kick=True)
    kicks = {name: mock.Mock() for name in ("north", "south")}
    queues = [
        Queue(Store(MemoryTable(name), host=host), host=host, kicks=kicks[name]) for name in kicks
    ]
    cells = Cells(queues, host=host)
    home = cells.home("t").store.table.name
    cells.put("a", task_id="t", kick=True)
    assert {name: kick.kick.call_count for name, kick in kicks.items()} == {
        name: int(name == home) for name in kicks
    }


def test_the_queue_that_is_found_by_its_name_kicks_the_topic_of_its_settings(
    moto_endpoint, monkeypatch
):
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto_endpoint)
    sns, sqs = (boto3.client(name, region_name="us-east-1") for name in ("sns", "sqs"))
    create_table(boto3.client("dynamodb", region_name="us-east-1"), "kicked")
    topic = sns.create_topic(Name="kicked")["TopicArn"]
    url = sqs.create_queue(QueueName="kicked")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn["QueueArn"])
    settings = Connection(
        table="kicked", region="us-east-1", lifetimes=Lifetimes(), topics={"process": topic}
    )
    boto3.client("ssm", region_name="us-east-1").put_parameter(
        Name="/lifoq/kicked/queue", Value=settings.encode(), Type="String"
    )
    Queue.connect("kicked", region_name="us-east-1").put("a", kick=True)
    (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    assert "somebody waits" in json.loads(message["Body"])["Message"]
