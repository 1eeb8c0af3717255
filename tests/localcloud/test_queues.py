"""Functions that follow a queue."""

from typing import Any

from tests.localcloud.harness import Deployed, eventually


def send(deployed: Deployed, *bodies: str) -> None:
    entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
    deployed.client("sqs").send_message_batch(QueueUrl=deployed.ids["Letters"], Entries=entries)


def bodies(records: list[dict[str, Any]]) -> list[str]:
    return [one["body"] for one in records]


def is_empty(deployed: Deployed) -> bool:
    answer = deployed.client("sqs").get_queue_attributes(
        QueueUrl=deployed.ids["Letters"], AttributeNames=["All"]
    )
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    return [answer["Attributes"][name] for name in names] == ["0", "0"]


def test_messages_reach_the_function_and_are_deleted(deployed):
    deployed.client("sqs").send_message(
        QueueUrl=deployed.ids["Letters"],
        MessageBody="hello",
        MessageAttributes={
            "kind": {"DataType": "String", "StringValue": "greeting"},
            "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
        },
    )

    (record,) = eventually(deployed.records)
    assert record["eventSource"] == "aws:sqs"
    assert record["body"] == "hello"
    assert record["messageAttributes"]["kind"]["stringValue"] == "greeting"
    assert record["messageAttributes"]["raw"]["binaryValue"] == "AP8="
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    eventually(lambda: is_empty(deployed))


def seen_by_the_function(deployed: Deployed, number: int) -> list[str]:
    """So many bodies, in their order."""
    seen: list[dict[str, Any]] = []
    eventually(lambda: seen.extend(deployed.records()) or len(seen) >= number)
    return bodies(seen)


def dead_letters(deployed: Deployed, number: int) -> list[str]:
    """The bodies of so many, which are taken out."""
    sqs, url = deployed.client("sqs"), deployed.ids["Failures"]
    found: list[str] = []

    def look() -> bool:
        answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        for letter in answer.get("Messages", []):
            found.append(letter["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=letter["ReceiptHandle"])
        return len(found) >= number

    eventually(look)
    return sorted(found)


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


def test_what_the_filter_does_not_want_is_deleted_unseen(deployed):
    send(deployed, "ignored", "wanted")
    records = eventually(deployed.records)

    assert bodies(records) == ["wanted"]
    eventually(lambda: is_empty(deployed))
