"""Event source mappings: batches, filters, retries, bisecting, giving up."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from lifoq_localcloud.events import stream_poller
from lifoq_localcloud.events.sources import MappingConfig
from lifoq_localcloud.events.stream_poller import StreamPoller
from lifoq_localcloud.functions.function import Outcome, ThrottledError
from lifoq_localcloud.moto_adapter import deployed
from lifoq_localcloud.tables.journal import Journal, Write
from tests.localcloud.harness import eventually

SETTINGS: dict[str, Any] = {
    "uuid": "mapping",
    "enabled": True,
    "function_name": "follower",
    "source_arn": "arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/now",
    "batch_size": 100,
    "window_seconds": 0,
    "filters": (),
    "max_record_age_seconds": None,
    "max_retries": 2,
    "bisect": False,
    "report_item_failures": False,
    "on_failure": "arn:aws:sqs:us-east-1:123456789012:failures",
}
OK = Outcome(payload=b"null")
FAILED = Outcome.failure("ValueError", "poison")
THROTTLED = None

Answer = Callable[[str], Outcome | None]
"""To a batch, by its records' keys."""


class Following:
    """A mapping at work. It is the stream, whose records have keys of one letter and this age, and
    the pool of the function that follows it."""

    id = "shard"
    beginning = 0
    config = SimpleNamespace(arn="arn:aws:lambda:us-east-1:1:function:follower")

    def __init__(
        self, written: str, answer: Answer, *, age: int = 0, pause: float = 0, **settings: Any
    ) -> None:
        self.journal = Journal()
        self.batches: list[str] = []
        self.failures: list[dict[str, Any]] = []
        self._answer, self._age = answer, age
        self.write(written)
        self.poller = StreamPoller(
            config=MappingConfig(**SETTINGS | settings),
            stream=self,
            pool=lambda _name: self,  # type: ignore[arg-type, return-value]
            send=lambda _arn, body: self.failures.append(json.loads(body)) is None,
            keep=lambda: True,
            pause_seconds=pause,
        )

    def write(self, keys: str) -> None:
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
                "ApproximateCreationDateTime": write.micros // 1_000_000 - self._age,
            },
        }

    def invoke(self, event: bytes) -> Outcome:
        records = json.loads(event)["Records"]
        self.batches.append("".join(one["dynamodb"]["Keys"]["id"]["S"] for one in records))
        if (answer := self._answer(self.batches[-1])) is THROTTLED:
            raise ThrottledError("follower")
        return answer


@pytest.fixture
def follow(monkeypatch) -> Iterator[Callable[..., Following]]:
    monkeypatch.setattr(stream_poller, "FIRST_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(stream_poller, "POLL_SECONDS", 0.01)
    begun: list[Following] = []

    def follow(*what: Any, **settings: Any) -> Following:
        begun.append(Following(*what, **settings))
        return begun[-1]

    yield follow
    for one in begun:
        one.poller.stop()


def failing(key: str) -> Answer:
    return lambda keys: FAILED if key in keys else OK


def first(*answers: Outcome | None) -> Answer:
    left = iter(answers)
    return lambda _: next(left, OK)


REFUSED = Outcome(payload=b'{"batchItemFailures": [{"itemIdentifier": "1"}]}')
STRANGE = Outcome(payload=b'{"batchItemFailures": [{"itemIdentifier": "9"}]}')
ONLY_B = {"dynamodb": {"Keys": {"id": {"S": ["b"]}}}}
NOT_B = {"dynamodb": {"Keys": {"id": {"S": [{"anything-but": ["b"]}]}}}}
EXHAUSTED = "RetryAttemptsExhausted"


@pytest.mark.parametrize(
    ("answer", "settings", "batches", "failures"),
    [
        # What was written before is read from the beginning.
        (first(), {"batch_size": 2}, "ab cd ef", []),
        (first(), {"filters": (ONLY_B,)}, "b", []),
        (first(), {"batch_size": 2, "filters": (NOT_B,)}, "ac de f", []),
        # A batch that fails is tried again, then given up, and does not block what follows.
        (failing("a"), {"batch_size": 4}, "abcd abcd abcd ef", [(EXHAUSTED, 3, "0", 4)]),
        (
            failing("c"),
            {"bisect": True, "max_retries": 0},
            "abcdef abc a bc b c def",
            [(EXHAUSTED, 1, "2", 1)],
        ),
        (first(REFUSED), {"report_item_failures": True}, "abcdef bcdef", []),
        (first(STRANGE), {"report_item_failures": True}, "abcdef abcdef", []),
        (
            first(),
            {"age": 100, "max_record_age_seconds": 60},
            "",
            [("RecordAgeExceeded", 0, "0", 6)],
        ),
        # What is throttled is delivered once there is room, and costs no retry.
        (first(*[THROTTLED] * 3), {"max_retries": 0}, " ".join(["abcdef"] * 4), []),
    ],
)
def test_records_reach_the_function_as_on_aws(follow, answer, settings, batches, failures):
    following = follow("abcdef", answer, **settings)

    def told() -> list[tuple[str, int, str, int]]:
        found = []
        for failure in following.failures:
            context, batch = failure["requestContext"], failure["DDBStreamBatchInfo"]
            times = context["approximateInvokeCount"]
            found.append(
                (context["condition"], times, batch["startSequenceNumber"], batch["batchSize"])
            )
        return found

    expected = (batches.split(), failures)
    eventually(lambda: len(following.batches) >= len(expected[0]) and len(told()) >= len(failures))
    assert (following.batches, told()) == expected


@pytest.mark.parametrize(
    ("answer", "error"), [(FAILED, {"functionError": "Unhandled"}), (REFUSED, {})]
)
def test_a_batch_that_is_given_up_is_told_by_where_it_lies(follow, answer, error):
    following = follow("abc", first(answer), max_retries=0, report_item_failures=True)
    (told,) = eventually(lambda: following.failures)
    where = told["DDBStreamBatchInfo"]
    times = [told.pop("timestamp")]
    times += [where.pop(f"approximateArrivalOf{which}Record") for which in ("First", "Last")]
    assert {datetime.fromisoformat(moment).tzinfo for moment in times} == {UTC}
    begin = 0 if answer is FAILED else 1
    assert told == {
        "version": "1.0",
        "requestContext": {
            "requestId": str(begin),
            "functionArn": Following.config.arn,
            "condition": EXHAUSTED,
            "approximateInvokeCount": 1,
        },
        "DDBStreamBatchInfo": {
            "shardId": "shard",
            "startSequenceNumber": str(begin),
            "endSequenceNumber": "2",
            "batchSize": 3 - begin,
            "streamArn": SETTINGS["source_arn"],
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", **error},
    }


def test_a_batching_window_collects(follow):
    following = follow("", first(), window_seconds=0.5)
    following.write("a")
    following.write("b")

    eventually(lambda: following.batches)
    assert following.batches == ["ab"]


def test_a_pause_lies_between_two_reads_of_a_stream_that_was_idle(follow):
    began = time.monotonic()
    following = follow("a", first(), pause=0.3)
    eventually(lambda: following.batches)
    following.write("b")

    eventually(lambda: len(following.batches) == 2)
    assert time.monotonic() - began >= 0.3


STORED: dict[str, Any] = {
    "uuid": "mapping",
    "enabled": True,
    "function_arn": "arn:aws:lambda:us-east-1:123456789012:function:follower",
    "event_source_arn": SETTINGS["source_arn"],
    "batch_size": "100",
    "max_batch_window": None,
    "filter_criteria": None,
    "function_response_types": None,
    "destination_config": None,
    "max_retry_attempts": None,
    "max_record_age": None,
    "bisect_on_error": None,
}
"""A mapping as moto keeps it: with texts for numbers where a template has them."""


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ({}, {}),
        ({"max_retry_attempts": -1, "max_record_age": "-1"}, {}),  # for ever
        (
            {"max_retry_attempts": "0", "max_record_age": 60, "max_batch_window": "5"},
            {"max_retries": 0, "max_record_age_seconds": 60, "window_seconds": 5.0},
        ),
        ({"enabled": "false", "bisect_on_error": "true"}, {"enabled": False, "bisect": True}),
        ({"filter_criteria": {}, "destination_config": {"OnFailure": None}}, {}),
        (
            {
                "filter_criteria": {"Filters": [{"Pattern": json.dumps(ONLY_B)}]},
                "destination_config": {"OnFailure": {"Destination": "arn:of:a:queue"}},
                "function_response_types": ["ReportBatchItemFailures"],
            },
            {"filters": (ONLY_B,), "on_failure": "arn:of:a:queue", "report_item_failures": True},
        ),
    ],
)
def test_a_mapping_is_followed_as_it_was_deployed(monkeypatch, stored, read):
    mapping = SimpleNamespace(**STORED | stored)
    monkeypatch.setattr(deployed, "_mappings_of", {"dynamodb": [mapping]}.get)
    silent = {"max_retries": None, "on_failure": None}
    assert deployed.mappings() == [MappingConfig(**SETTINGS | silent | read)]
