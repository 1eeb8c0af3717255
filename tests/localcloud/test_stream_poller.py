"""Event source mappings: batches, filters, retries, bisecting, giving up."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from localcloud import stream_poller
from localcloud.function import Outcome, ThrottledError
from localcloud.journal import Journal, Write
from localcloud.moto_adapter import MappingConfig
from localcloud.stream_poller import StreamPoller
from tests.localcloud.harness import eventually

CONFIG = MappingConfig(
    uuid="mapping",
    enabled=True,
    function_name="follower",
    source_arn="arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/now",
    batch_size=100,
    window_seconds=0,
    filters=(),
    max_record_age_seconds=None,
    max_retries=2,
    bisect=False,
    report_item_failures=False,
    on_failure="arn:aws:sqs:us-east-1:123456789012:failures",
)
OK = Outcome(payload=b"null")
FAILED = Outcome.failure("ValueError", "poison")


class Stream:
    """A stream of numbered records."""

    id = "shard"

    def __init__(self) -> None:
        self.journal = Journal()
        self.age = 0

    def write(self, *keys: str) -> None:
        for key in keys:
            self.journal.stage(key={"id": {"S": key}}, old=None, new={"id": {"S": key}})
        self.journal.commit()

    def record(self, write: Write) -> dict[str, Any]:
        return {
            "eventID": str(write.position),
            "eventName": "INSERT",
            "dynamodb": {
                "Keys": write.key,
                "SequenceNumber": str(write.position),
                "ApproximateCreationDateTime": write.micros // 1_000_000 - self.age,
            },
        }


class Follower:
    """Stands for the function's pool: notes the batches, and answers as it was told."""

    def __init__(self, answer: Callable[[list[str]], Outcome]) -> None:
        self.batches: list[list[str]] = []
        self.config = type("Config", (), {"arn": "arn:aws:lambda:us-east-1:1:function:follower"})
        self._answer = answer

    def invoke(self, event: bytes) -> Outcome:
        keys = [one["dynamodb"]["Keys"]["id"]["S"] for one in json.loads(event)["Records"]]
        self.batches.append(keys)
        return self._answer(keys)


class Following:
    """A poller at work."""

    def __init__(self) -> None:
        self.stream = Stream()
        self.failures: list[dict[str, Any]] = []
        self._pollers: list[StreamPoller] = []

    def start(self, answer: Callable[[list[str]], Outcome], **settings: Any) -> Follower:
        follower = Follower(answer)
        self._pollers.append(
            StreamPoller(
                config=replace(CONFIG, **settings),
                stream=self.stream,
                pool=lambda _name: follower,  # type: ignore[arg-type, return-value]
                send=lambda _arn, body: self.failures.append(json.loads(body)) is None,
                keep=lambda: True,
            )
        )
        return follower

    def stop(self) -> None:
        for poller in self._pollers:
            poller.stop()


@pytest.fixture
def following(monkeypatch) -> Iterator[Following]:
    monkeypatch.setattr(stream_poller, "FIRST_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(stream_poller, "POLL_SECONDS", 0.01)
    one = Following()
    yield one
    one.stop()


def test_what_was_written_before_is_read_from_the_beginning_in_batches(following):
    following.stream.write("a", "b", "c")
    follower = following.start(lambda _: OK, batch_size=2)

    eventually(lambda: len(follower.batches) == 2)
    assert follower.batches == [["a", "b"], ["c"]]


def test_records_that_no_filter_accepts_are_skipped(following):
    pattern = {"dynamodb": {"Keys": {"id": {"S": ["b"]}}}}
    following.stream.write("a", "b", "c")
    follower = following.start(lambda _: OK, filters=(pattern,))

    eventually(lambda: follower.batches)
    assert follower.batches == [["b"]]


def test_a_batching_window_collects(following):
    follower = following.start(lambda _: OK, window_seconds=0.5)
    following.stream.write("a")
    following.stream.write("b")

    eventually(lambda: follower.batches)
    assert follower.batches == [["a", "b"]]


def test_a_failing_batch_is_tried_again_then_given_up_and_does_not_block(following):
    following.stream.write("a", "b")
    follower = following.start(lambda keys: FAILED if "a" in keys else OK)
    eventually(lambda: following.failures)
    following.stream.write("c")

    eventually(lambda: ["c"] in follower.batches)
    assert follower.batches == [["a", "b"], ["a", "b"], ["a", "b"], ["c"]]
    (failure,) = following.failures
    assert failure["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert failure["requestContext"]["approximateInvokeCount"] == 3
    assert failure["DDBStreamBatchInfo"]["batchSize"] == 2
    assert failure["DDBStreamBatchInfo"]["startSequenceNumber"] == "0"


def test_bisecting_gives_up_the_poison_alone(following):
    following.stream.write(*"abcdefgh")
    follower = following.start(
        lambda keys: FAILED if "c" in keys else OK, bisect=True, max_retries=0
    )

    eventually(lambda: following.failures)
    eventually(lambda: ["e", "f", "g", "h"] in follower.batches)
    (failure,) = following.failures
    assert failure["DDBStreamBatchInfo"]["batchSize"] == 1
    assert failure["DDBStreamBatchInfo"]["startSequenceNumber"] == "2"


def test_reported_failures_are_retried_from_the_first_on(following):
    following.stream.write("a", "b", "c")
    refusals = iter(["1"])

    def answer(_keys: list[str]) -> Outcome:
        failures = [{"itemIdentifier": one} for one in [next(refusals, None)] if one]
        return Outcome(payload=json.dumps({"batchItemFailures": failures}).encode())

    follower = following.start(answer, report_item_failures=True)

    eventually(lambda: len(follower.batches) == 2)
    assert follower.batches == [["a", "b", "c"], ["b", "c"]]


def test_records_that_are_too_old_are_told_and_not_delivered(following):
    following.stream.age = 100
    following.stream.write("a")
    follower = following.start(lambda _: OK, max_record_age_seconds=60)

    (failure,) = eventually(lambda: following.failures)
    assert failure["requestContext"]["condition"] == "RecordAgeExceeded"
    assert follower.batches == []


def test_a_throttled_batch_is_delivered_once_there_is_room(following):
    following.stream.write("a")
    refusals = iter([True, True, True, True])

    def answer(_keys: list[str]) -> Outcome:
        if next(refusals, False):
            raise ThrottledError("follower")
        return OK

    follower = following.start(answer, max_retries=0)

    eventually(lambda: len(follower.batches) == 5)
    assert following.failures == []
