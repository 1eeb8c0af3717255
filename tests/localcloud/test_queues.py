"""Functions that follow a queue."""

from typing import Any

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
