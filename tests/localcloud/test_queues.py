"""Functions that follow a queue."""

import threading
from typing import Any

from lifoq_localcloud.events.queue_poller import QueuePoller
from lifoq_localcloud.events.sources import QueueMappingConfig
from lifoq_localcloud.functions.function import ThrottledError
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


class Letters:
    """A queue of letters, for a function that is at its concurrency limit."""

    def __init__(self, *batches: list[str]) -> None:
        self.batches = [*batches]
        self.deleted: list[str] = []
        self.throttled = threading.Event()

    def get_queue_url(self, **_: Any) -> dict[str, str]:
        return {"QueueUrl": "letters"}

    def receive_message(self, **_: Any) -> dict[str, Any]:
        bodies = self.batches.pop(0) if self.batches else []
        return {
            "Messages": [
                {"MessageId": body, "ReceiptHandle": body, "Body": body, "MD5OfBody": ""}
                for body in bodies
            ]
        }

    def invoke(self, _event: bytes) -> Any:
        self.throttled.set()
        raise ThrottledError("letters")

    def delete_message_batch(self, *, Entries: list[Any], **_: Any) -> None:  # noqa: N803 - SQS's
        self.deleted += [entry["ReceiptHandle"] for entry in Entries]


def test_while_the_function_is_throttled_messages_stay_but_for_those_that_no_filter_lets_through():
    letters: Any = Letters(["ignored", "also ignored"], ["hello", "ignored beside"])
    config = QueueMappingConfig(
        uuid="mapping",
        enabled=True,
        function_name="letters",
        source_arn="arn:aws:sqs:us-east-1:123456789012:letters",
        batch_size=2,
        window_seconds=0,
        filters=({"body": ["hello"]},),
        report_item_failures=False,
    )
    poller = QueuePoller(config=config, sqs=lambda: letters, pool=lambda _name: letters)
    try:
        eventually(lambda: len(letters.deleted) == 3)
        assert letters.throttled.is_set()
        assert letters.deleted == ["ignored", "also ignored", "ignored beside"]
    finally:
        poller.stop()
