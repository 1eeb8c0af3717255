"""A queue's settings travel with it: what it wrote to its parameter, its clients read."""

import json
import traceback
import uuid

import boto3
import pytest

from lab import dynamodb_local
from lifoq import (
    InvalidInput,
    Lifetimes,
    Queue,
    QueueMisconfigured,
    StoreUnavailable,
    WorkerSettings,
)
from lifoq.client.connection import VERSION, Connection, SharedLimits, parameter_name
from tests.faults.faults import answer

LIFETIMES = Lifetimes(deadline=120, success_retention=60, failure_retention=90.5)


@pytest.fixture
def arguments(moto_endpoint):
    return {"endpoint_url": moto_endpoint, **dynamodb_local.CREDENTIALS}


@pytest.fixture
def write(arguments):
    """Writes a parameter, as a deployment does; returns the queue's name."""

    def write(text):
        name = f"queue-{uuid.uuid4().hex[:8]}"
        client = boto3.client("ssm", **arguments)
        client.put_parameter(Name=parameter_name(name), Value=text, Type="String")
        return name

    return write


def test_a_queue_is_found_by_its_name_given_or_told_and_brings_its_deadline(
    write, arguments, moto_endpoint, new_dynamo_table, monkeypatch
):
    table = new_dynamo_table(moto_endpoint)
    name = write(Connection(table=table.name, lifetimes=LIFETIMES, region="us-east-1").encode())
    queue = Queue.connect(name, **arguments)
    assert queue.store.lifetimes == LIFETIMES
    assert table.get(queue.put("a").task_id)
    monkeypatch.setenv("LIFOQ_QUEUE", name)
    assert Queue.connect(**arguments).store.table.name == table.name
    monkeypatch.delenv("LIFOQ_QUEUE")
    with pytest.raises(InvalidInput, match=r"LIFOQ_QUEUE is not set; set one to .* or give table="):
        Queue.connect(**arguments)


def test_whoever_forgot_the_environment_reads_one_sentence_and_nothing_of_botocore(monkeypatch):
    for name in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for arguments in ({}, {"region_name": "eu-west-3"}):
        with pytest.raises(QueueMisconfigured, match=r"specify a region|no credentials") as raised:
            Queue.connect("prod", **arguments)
        told = "".join(traceback.format_exception(raised.value))
        assert "botocore/" not in told
        assert told.count("Traceback") == 1


@pytest.mark.parametrize(("own", "expected"), [({}, "eu-west-3"), ({"region_name": "x"}, "x")])
def test_the_parameters_region_is_the_tables_unless_the_caller_says_otherwise(
    arguments, monkeypatch, own, expected
):
    there = Connection(table="t", lifetimes=LIFETIMES, region="eu-west-3", bucket="large")
    monkeypatch.setattr("lifoq.client.connection.read", lambda *_, **__: there)
    del arguments["region_name"]
    queue = Queue.connect("prod", **arguments, **own)
    assert queue.store.table._calls.client.meta.region_name == expected
    assert queue.store.large.blobs.bucket == "large"


def test_only_a_queue_whose_workers_share_their_limits_tells_of_them():
    own = WorkerSettings(rate_limit=2.5)
    shared = WorkerSettings(rate_limit=2.5, shared_limits=True, total_in_flight=40)
    assert SharedLimits.of(own) is None
    assert SharedLimits.of(shared) == SharedLimits(rate_limit=2.5, total_in_flight=40)


def test_settings_are_read_as_they_were_written_and_what_a_later_release_adds_is_left_alone():
    written = Connection(
        table="tasks",
        lifetimes=LIFETIMES,
        region="us-east-1",
        topics={"process": "arn:1"},
        shared_limits=SharedLimits(rate_limit=2.5, total_in_flight=40),
        bucket="large",
    )
    settings = json.loads(written.encode())
    assert Connection.decode(json.dumps({**settings, "colour": "blue"}), source="x") == written
    assert (settings["bucket"], settings["objectPrefix"]) == ("large", "45-days/")


GOOD = json.loads(Connection(table="tasks", lifetimes=LIFETIMES).encode())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (" ", "does not hold a queue's settings"),
        ("[]", "does not hold a queue's settings"),
        ("{}", "'version'"),
        (json.dumps({**GOOD, "version": VERSION + 1}), f"version {VERSION + 1}, .* reads up to"),
        (json.dumps({**GOOD, "version": "1"}), "does not hold a queue's settings"),
        (json.dumps({**GOOD, "table": 7}), "7 is no text"),
        (json.dumps({**GOOD, "topics": None}), "does not hold a queue's settings"),
        (json.dumps({**GOOD, "deadlineSeconds": float("nan")}), "deadline=nan"),
        (json.dumps({**GOOD, "sharedLimits": {"totalInFlight": 0}}), "total_in_flight=0"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_parameter(write, arguments, text, sentence):
    name = write(text)
    with pytest.raises(QueueMisconfigured, match=sentence) as caught:
        Queue.connect(name, **arguments)
    assert parameter_name(name) in str(caught.value)


@pytest.mark.parametrize("name", ["", "a/b", "ä", "x" * 129, 7])
def test_a_name_that_cannot_be_one_is_refused_before_anything_is_asked(name):
    with pytest.raises(InvalidInput, match="must be letters"):
        Queue.connect(name)


@pytest.mark.parametrize(
    ("code", "error", "sentence"),
    [
        ("ParameterNotFound", QueueMisconfigured, "no SSM parameter /lifoq/p/queue .* AWS_R"),
        ("AccessDeniedException", QueueMisconfigured, "grant it ssm:GetParameter"),
        ("ThrottlingException", StoreUnavailable, "could not be read: ThrottlingException"),
    ],
)
def test_what_ssm_refuses_is_told_as_far_as_it_is_understood(
    monkeypatch, arguments, code, error, sentence
):
    monkeypatch.setattr("time.sleep", lambda _: None)  # between boto3's repeats
    session = boto3.Session()
    session.events.register(
        "before-send.ssm.GetParameter", lambda request, **_: answer(request, 400, code)
    )
    monkeypatch.setattr("boto3.DEFAULT_SESSION", session)
    with pytest.raises(error, match=sentence):
        Queue.connect("p", **arguments)


def test_name_and_table_exclude_each_other():
    with pytest.raises(InvalidInput, match="leave one of them out"):
        Queue.connect("prod", table="t")
    with pytest.raises(InvalidInput, match="come with the queue; leave them out"):
        Queue.connect("prod", lifetimes=Lifetimes())
