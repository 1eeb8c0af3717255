"""Functions that follow a queue."""

import json
import threading
from typing import Any

import pytest

from lifoq_localcloud.events.queue_poller import QueuePoller
from lifoq_localcloud.events.sources import QueueMappingConfig
from lifoq_localcloud.functions.function import Outcome, ThrottledError
from tests.localcloud.harness import Deployed, eventually


def send(deployed: Deployed, *bodies: str, **more: Any) -> None:
    entries = [{"Id": str(n), "MessageBody": body, **more} for n, body in enumerate(bodies)]
    deployed.client("sqs").send_message_batch(QueueUrl=deployed.ids["Letters"], Entries=entries)


def some(number: int, found: Any) -> list[Any]:
    """Return this many of the messages that are found again and again."""
    seen: list[Any] = []
    eventually(lambda: seen.extend(found()) or len(seen) >= number)
    return seen


def seen_by_the_function(deployed: Deployed, number: int) -> list[str]:
    return [one["body"] for one in some(number, deployed.records)]


def dead_letters(deployed: Deployed, number: int) -> list[str]:
    return sorted(some(number, lambda: deployed.received("Failures")))


def test_messages_reach_the_function_or_are_filtered_out_and_are_deleted(deployed):
    attributes = {
        "kind": {"DataType": "String", "StringValue": "greeting"},
        "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
    }
    send(deployed, "ignored", "hello", MessageAttributes=attributes)

    (record,) = eventually(deployed.records)
    assert record["eventSource"] == "aws:sqs"
    assert record["body"] == "hello"
    assert record["messageAttributes"]["kind"]["stringValue"] == "greeting"
    assert record["messageAttributes"]["raw"]["binaryValue"] == "AP8="
    assert record["attributes"]["ApproximateReceiveCount"] == "1"

    def left() -> list[str]:
        answer = deployed.client("sqs").get_queue_attributes(
            QueueUrl=deployed.ids["Letters"], AttributeNames=["All"]
        )
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        return [answer["Attributes"][name] for name in names]

    eventually(lambda: left() == ["0", "0"])


def test_only_what_the_function_refuses_comes_again_until_it_is_redriven(deployed):
    send(deployed, "one", "refuse", "two")
    assert sorted(seen_by_the_function(deployed, 4)) == ["one", "refuse", "refuse", "two"]
    assert dead_letters(deployed, 1) == ["refuse"]


def test_a_function_that_fails_gets_the_whole_batch_again(deployed):
    mapping, api = {"UUID": deployed.ids["LettersMapping"]}, deployed.client("lambda")
    api.update_event_source_mapping(**mapping, Enabled=False)
    send(deployed, "healthy", "poison")
    api.update_event_source_mapping(**mapping, Enabled=True)
    assert seen_by_the_function(deployed, 4) == ["healthy", "poison"] * 2
    assert dead_letters(deployed, 2) == ["healthy", "poison"]


ARN = "arn:aws:sqs:us-east-1:123456789012:letters"
THROTTLED = None


class Letters:
    """A queue of letters, and the function that follows it: it gives one answer to each event."""

    def __init__(self, *batches: list[str], answer: Outcome | None = THROTTLED) -> None:
        self.batches = [*batches]
        self.answer = answer
        self.asked: list[tuple[int, int]] = []
        self.events: list[Any] = []
        self.deleted: list[list[str]] = []
        self.over = threading.Event()

    def get_queue_url(self, **_: Any) -> dict[str, str]:
        return {"QueueUrl": "letters"}

    def receive_message(self, **call: Any) -> dict[str, Any]:
        self.asked.append((call["MaxNumberOfMessages"], call["WaitTimeSeconds"]))
        if not self.batches:
            self.over.set()
            return {}
        return {
            "Messages": [
                {"MessageId": body, "ReceiptHandle": f"of {body}", "Body": body, "MD5OfBody": "5"}
                for body in self.batches.pop(0)
            ]
        }

    def invoke(self, event: bytes) -> Outcome:
        self.events.append(json.loads(event))
        if self.answer is THROTTLED:
            raise ThrottledError("letters")
        return self.answer

    def delete_message_batch(self, *, Entries: list[Any], **_: Any) -> None:  # noqa: N803 - SQS's
        assert [entry["Id"] for entry in Entries] == [*map(str, range(len(Entries)))]
        self.deleted.append([entry["ReceiptHandle"] for entry in Entries])

    def followed(self, *, function: bool = True, **settings: Any) -> "Letters":
        """Have a mapping follow the queue until no letter is left."""
        config: dict[str, Any] = {
            "uuid": "mapping",
            "enabled": True,
            "function_name": "letters",
            "source_arn": ARN,
            "batch_size": 2,
            "window_seconds": 0,
            "filters": (),
            "report_item_failures": False,
        }
        itself: Any = self
        poller = QueuePoller(
            config=QueueMappingConfig(**config | settings),
            sqs=lambda: itself,
            pool=lambda name: itself if function and name == "letters" else None,
        )
        try:
            eventually(self.over.is_set)
        finally:
            poller.stop()
        return self


def test_while_the_function_is_throttled_messages_stay_but_for_those_that_no_filter_lets_through():
    deep = "[" * 100_000
    batches = ["ignored", "also ignored"], ['{"to": "me"}', "ignored beside"], [deep, '{"to": 1}']
    filters = ({"body": {"to": ["me"]}}, {"body": [deep]})
    for function in (True, False):
        letters = Letters(*batches).followed(filters=filters, function=function)
        gone = [["ignored", "also ignored"], ["ignored beside"], ['{"to": 1}']]
        assert letters.deleted == [[f"of {body}" for body in one] for one in gone]
        found = [record["body"] for event in letters.events for record in event["Records"]]
        assert found == (['{"to": "me"}', deep] if function else [])


def failures(*names: str) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": name} for name in names]}


@pytest.mark.parametrize(
    ("answer", "reports", "done"),
    [
        (None, False, "ab"),
        (None, True, "ab"),
        ([], True, "ab"),
        ({"batchItemFailures": None}, True, "ab"),
        (failures("a"), False, "ab"),
        (failures("a"), True, "b"),
        (failures("a", "b"), True, ""),
        (failures("a", "a stranger"), True, ""),
    ],
)
def test_what_the_function_has_done_is_deleted_and_nothing_else(answer, reports, done):
    letters = Letters(["a", "b"], answer=Outcome(payload=json.dumps(answer).encode()))
    letters.followed(report_item_failures=reports)
    assert letters.deleted == ([[f"of {body}" for body in done]] if done else [])
    failed = Letters(["a", "b"], answer=Outcome.failure("ValueError", "poison"))
    assert failed.followed(report_item_failures=reports).deleted == []


def test_a_batch_is_gathered_and_deleted_by_tens_until_it_is_full_or_its_window_is_over():
    ten, two = list("abcdefghij"), ["k", "l"]
    full = Letters(ten, [], two, answer=Outcome(payload=b"null"))
    full.followed(batch_size=12, window_seconds=300)
    assert full.asked[:4] == [(10, 1), (2, 0), (2, 0), (10, 1)]
    assert full.deleted == [[f"of {body}" for body in part] for part in (ten, two)]
    (event,) = full.events
    assert [record["body"] for record in event["Records"]] == ten + two
    assert event["Records"][0] == {
        "messageId": "a",
        "receiptHandle": "of a",
        "body": "a",
        "attributes": {},
        "messageAttributes": {},
        "md5OfBody": "5",
        "eventSource": "aws:sqs",
        "eventSourceARN": ARN,
        "awsRegion": "us-east-1",
    }
    early = Letters(["a"], [], ["b"], answer=Outcome(payload=b"null")).followed()
    assert early.deleted == [["of a"], ["of b"]]
