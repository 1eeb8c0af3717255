"""Payloads, results and checkpoints in the queue's bucket: in memory, and in moto's S3."""

import uuid
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.stub import Stubber

from lab import dynamodb_local
from lifoq import Done, NewTask, Processor, Queue, Registry, Status, WorkerSettings
from lifoq.aws.bucket import S3Blobs
from lifoq.basics import jsontext
from lifoq.errors import DamagedTask, InvalidInput, QueueMisconfigured, Retry, StoreUnavailable
from lifoq.items.change import Change
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.packed import Large
from lifoq.items.schema import LARGE_DELAY, MAX_ITEM_BYTES, MAX_LARGE_BYTES, Attribute
from lifoq.items.task import Task
from lifoq.items.task_error import TaskError, TaskFailed
from lifoq.store.large_values import INLINE, Blobs, LargeValues, MemoryBlobs
from lifoq.store.store import Store
from lifoq.store.table_protocol import Table
from lifoq.testing.hosts import ManualHost
from lifoq.worker.handlers.backoff import Backoff
from tests.fixtures import noise

LARGE = noise(3 * MAX_ITEM_BYTES)
MEDIUM = noise(2 * INLINE)
SMALL = noise(INLINE // 2)


in_s3_too = pytest.mark.parametrize("blobs", ["memory", "S3"], indirect=True)


@pytest.fixture
def blobs(request: pytest.FixtureRequest) -> Blobs:
    if getattr(request, "param", "memory") == "memory":
        return MemoryBlobs()
    name = f"large-{uuid.uuid4().hex}"
    arguments: Any = {
        "endpoint_url": request.getfixturevalue("moto_endpoint"),
        **dynamodb_local.CREDENTIALS,
        "region_name": "us-east-1",
    }
    boto3.client("s3", **arguments).create_bucket(Bucket=name)
    return S3Blobs(name, **arguments)


@pytest.fixture
def bucket(blobs: Blobs) -> Mock:
    return Mock(wraps=blobs)


def calls(bucket: Mock) -> list[str]:
    return [call[0] for call in bucket.method_calls]


def break_down(bucket: Mock) -> None:
    for call in (bucket.get, bucket.put, bucket.renew, bucket.delete):
        call.side_effect = StoreUnavailable("S3 is out")


@pytest.fixture
def queue(table: Table, bucket: Mock, host: ManualHost) -> Queue:
    return Queue(Store(table, host=host, large=LargeValues(bucket, host=host)), host=host)


def claimed(queue: Queue, task_id: str, payload: Any = MEDIUM, **terms: Any) -> Task:
    queue.put("a", payload, task_id=task_id, **terms)
    return queue.store.claim(task_id, claim_id=task_id, lease=30)


def worker(queue: Queue, handler: Any = lambda payload, _: payload, **terms: Any) -> Processor:
    registry = Registry()
    registry.task("a", **terms)(handler)
    return Processor(queue.store, registry, WorkerSettings(window=5))


MEDIUM_RESULT = jsontext.encode(MEDIUM, "result")
BOOM = TaskError(type="ValueError", message="boom")


@in_s3_too
def test_what_no_item_holds_comes_to_the_handler_and_back(queue, host, table, bucket):
    seen = []

    def echo(payload, context):
        seen.append(payload)
        follow_up = NewTask(task_type="nobody's", payload=[payload], task_id="follow-up", delay=9)
        return Done(result={"echo": payload}, follow_ups=[follow_up])

    put = queue.put("a", LARGE, task_id="t")
    assert put.payload == LARGE
    assert calls(bucket) == ["put"]
    assert isinstance(queue.look("t").payload, Large)
    assert len(str(table.get("t")["payload"])) < 300
    worker(queue, echo).run()
    assert seen == [LARGE]
    assert queue.wait("t", timeout=0) == {"echo": LARGE}
    task = queue.get("t")
    assert (task.payload, task.result) == (LARGE, {"echo": LARGE})
    assert queue.get("follow-up").payload == [LARGE]


def test_an_item_keeps_what_is_small_and_what_it_holds_is_not_read_from_the_bucket(queue, bucket):
    queue.put("a", SMALL, task_id="small")
    queue.put("a", "x" * 10 * INLINE, task_id="compressed")
    assert queue.get("small").payload == SMALL
    assert queue.get("compressed").payload == "x" * 10 * INLINE
    assert calls(bucket) == []
    queue.put("a", MEDIUM, task_id="medium")
    assert calls(bucket) == ["put"]


def test_an_item_of_before_the_bucket_is_read_and_one_in_it_says_what_a_client_lacks(
    queue, table, host
):
    without = Queue(Store(table, host=host), host=host)
    without.put("a", MEDIUM, task_id="inside")
    assert queue.get("inside").payload == MEDIUM
    queue.put("a", MEDIUM, task_id="outside")
    with pytest.raises(QueueMisconfigured, match="connect by the queue's name, or give bucket"):
        without.get("outside")
    with pytest.raises(InvalidInput, match="deploy the queue with large_payloads"):
        without.put("a", LARGE)


def test_many_are_put_each_with_its_payload(queue, bucket):
    tasks = [NewTask(task_type="a", payload=[n, MEDIUM]) for n in range(3)]
    tasks.append(NewTask(task_type="a", payload=[3, MEDIUM], task_id="own"))
    tasks.append(NewTask(task_type="a", payload="small"))
    outcomes = queue.put_many(tasks)
    assert [each.task.payload for each in outcomes] == [task.payload for task in tasks]
    assert [queue.get(each.task.task_id).payload for each in outcomes] == [
        task.payload for task in tasks
    ]
    assert calls(bucket).count("put") == 4


def test_nothing_is_put_whose_payload_was_not_confirmed(queue, bucket, table):
    break_down(bucket)
    with pytest.raises(StoreUnavailable):
        queue.put("a", MEDIUM, task_id="t")
    many = [NewTask(task_type="a", payload=it) for it in (MEDIUM, "small")]
    lost, stored = queue.put_many(many)
    assert isinstance(lost.error, StoreUnavailable)
    assert stored.created
    assert table.get("t") is None


def test_a_put_again_keeps_the_first_payload_and_one_that_replaces_brings_its_own(queue, host):
    queue.put("a", [1, MEDIUM], task_id="t")
    again = queue.put("a", [2, MEDIUM], task_id="t")
    assert again.payload == queue.get("t").payload == [1, MEDIUM]
    host.advance(1)
    queue.put("a", [3, MEDIUM], task_id="t", if_exists="replace")
    assert queue.get("t").payload == [3, MEDIUM]
    running = queue.store.claim("t", claim_id="c", lease=30)
    host.advance(1)
    queue.put("a", [4, MEDIUM], task_id="t", if_exists="replace")
    assert queue.store.whole(running).payload == [3, MEDIUM]
    queue.store.succeed(running, MEDIUM_RESULT)
    assert queue.get("t").payload == [4, MEDIUM]


def test_a_put_that_finds_its_task_there_leaves_nothing_in_the_bucket(queue, bucket, host):
    task = claimed(queue, "t", LARGE)
    again = NewTask(task_type="a", payload=[LARGE], task_id="t")
    assert queue.put("a", LARGE, task_id="t").payload == LARGE
    assert not queue.put_many([again])[0].created
    queue.put("a", 1, task_id="u")
    queue.store.succeed(task, "1", [replace(again, task_id="u")])
    assert calls(bucket).count("put") == 1
    host.advance(3_601)  # the other is shed by then, and its id is free
    assert queue.put("a", MEDIUM, task_id="u").payload == MEDIUM


def test_a_checkpoint_beside_a_large_payload_is_handed_to_the_next_attempt(queue):
    seen = []

    def steps(payload, context):
        seen.append(context.last_checkpoint)
        if context.last_checkpoint is None:
            context.checkpoint([payload, LARGE])
            raise Retry(after=0)

    queue.put("a", LARGE, task_id="t")
    worker(queue, steps).run()
    assert seen == [None, [LARGE, LARGE]]
    assert queue.look("t").status is Status.SUCCESS


@in_s3_too
@pytest.mark.parametrize("gone", [True, False], ids=["gone", "another"])
def test_an_object_that_is_gone_or_another_fails_its_task_and_says_so(queue, bucket, gone):
    large = Large.decode(queue.store.table.get(queue.put("a", MEDIUM).task_id)["payload"])
    bucket.delete(large.key)
    if not gone:
        bucket.put(large.key, b'"something else"')
    queue.put("a", "fine", task_id="beside")

    report = worker(queue).run()
    (failed,) = queue.peek(status=Status.FAILURE)
    assert (failed.error.type, failed.attempts) == ("DamagedTask", 1)
    told = "is not there" if gone else "is not what was written"
    assert told in failed.error.message
    assert (report.failed, report.succeeded) == (1, 1)
    with pytest.raises(TaskFailed, match=told):
        queue.wait(failed.task_id, timeout=0)


def test_a_bucket_that_is_out_costs_a_task_time_and_no_attempt(queue, bucket):
    queue.put("a", MEDIUM, task_id="t")
    break_down(bucket)
    worker(queue, backoff=Backoff.fixed(0.3), max_attempts=1).run(time_limit=70)
    waiting = queue.look("t")
    assert (waiting.status, waiting.attempts) == (Status.DELAYED, 0)
    assert waiting.error.type == "StoreUnavailable"


@in_s3_too
def test_a_redrive_lets_the_object_live_on_and_refuses_a_task_that_lost_it(queue, bucket):
    queue.store.fail(claimed(queue, "t"), BOOM)
    assert queue.redrive("t").status is Status.PENDING
    assert calls(bucket)[-1] == "renew"
    assert queue.get("t").payload == MEDIUM

    queue.store.fail(queue.store.claim("t", claim_id="d", lease=30), BOOM)
    bucket.delete(queue.look("t").payload.key)
    with pytest.raises(DamagedTask, match="not there any more"):
        queue.redrive("t")
    assert queue.look("t").status is Status.FAILURE


@in_s3_too
def test_what_is_deleted_goes_with_its_objects_though_the_bucket_may_be_out(queue, bucket):
    for task_id in ("t", "u"):
        queue.store.succeed(claimed(queue, task_id), MEDIUM_RESULT)
    task = queue.look("t")
    queue.delete("t")
    assert bucket.get(task.payload.key) is bucket.get(task.result.key) is None
    break_down(bucket)
    queue.delete("u")
    assert queue.look("u") is None


def test_the_bucket_has_bounds_of_its_own(queue, host):
    with pytest.raises(InvalidInput, match=f"the limit is {MAX_LARGE_BYTES:,}"):
        queue.put("a", "x" * MAX_LARGE_BYTES)
    with pytest.raises(InvalidInput, match="delayed by more than 30 days"):
        queue.put("a", LARGE, delay=LARGE_DELAY + 1)
    queue.put("a", MEDIUM, task_id="far", delay=LARGE_DELAY + 1)
    assert not isinstance(queue.look("far").payload, Large)
    with pytest.raises(InvalidInput, match=f"the limit is {MAX_LARGE_BYTES:,}"):
        queue.store.succeed(claimed(queue, "t"), jsontext.encode("x" * MAX_LARGE_BYTES, "result"))


def test_who_waits_with_a_token_finds_the_result_in_the_item(table, bucket, host):
    lifetimes, large = Lifetimes(task_tokens=True), LargeValues(bucket, host=host)
    queue = Queue(Store(table, lifetimes=lifetimes, host=host, large=large), host=host)
    task = claimed(queue, "t", task_token="token")  # noqa: S106 - nobody's
    queue.store.succeed(task, MEDIUM_RESULT)
    assert queue.look("t").result == MEDIUM


def test_only_who_asks_for_the_item_is_sent_its_payload_again(
    dynamodb_local_endpoint, new_dynamo_table
):
    table, answers = new_dynamo_table(dynamodb_local_endpoint), []
    table._calls.client.meta.events.register(
        "after-call.dynamodb.UpdateItem", lambda parsed, **_: answers.append(set(parsed))
    )
    table.put({"taskId": "t", "payload": "x" * 300_000})
    change = Change(when=(), set={Attribute.TASK_UPDATED: 7})
    table.update("t", change)
    table.update_and_get("t", change)
    assert answers == [{"ResponseMetadata"}, {"ResponseMetadata", "Attributes"}]


def test_an_object_is_kept_for_as_long_as_the_lifetimes_need_under_which_it_was_put(
    bucket, table, host
):
    """Whatever becomes of them: by its prefix, whose rule never gets shorter."""
    for number, (retention, prefix) in enumerate(
        ((14, "45-days/"), (180, "270-days/"), (3_650, "7400-days/"))
    ):
        lifetimes = Lifetimes(failure_retention=retention * 86_400)
        store = Store(table, lifetimes=lifetimes, host=host, large=LargeValues(bucket, host=host))
        Queue(store, host=host).put("a", noise(100_000), task_id=f"t{number}")
        key = bucket.put.call_args.args[0]
        assert key.startswith(prefix)
        days = int(prefix.partition("-")[0])
        assert days * 86_400 >= lifetimes.of_objects


def test_what_s3_refuses_is_told_in_a_sentence():
    blobs = S3Blobs("large", **dynamodb_local.CREDENTIALS)
    for code, error, told in (
        ("SlowDown", StoreUnavailable, "PutObject on bucket 'large': SlowDown"),
        ("AccessDenied", QueueMisconfigured, "may not do it: let the queue's grant_put"),
        ("NoSuchBucket", QueueMisconfigured, "there is no such bucket: deploy the queue"),
    ):
        with Stubber(blobs._client) as s3:
            s3.add_client_error("put_object", code)
            with pytest.raises(error, match=told):
                blobs.put("k", b"{}")
