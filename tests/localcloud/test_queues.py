"""Functions that follow a queue."""

from typing import Any

from tests.localcloud.harness import Deployed, eventually


def send(deployed: Deployed, *bodies: str) -> list[str]:
    """The messages' ids."""
    entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
    answer = deployed.client("sqs").send_message_batch(
        QueueUrl=deployed.ids["Letters"], Entries=entries
    )
    return [one["MessageId"] for one in answer["Successful"]]


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


def test_only_what_the_function_refuses_comes_again_until_it_is_redriven(deployed):
    send(deployed, "one", "refuse", "two")
    seen: list[dict[str, Any]] = []
    eventually(lambda: seen.extend(deployed.records()) or is_empty(deployed))
    seen += deployed.records()

    assert sorted(bodies(seen)) == ["one", "refuse", "refuse", "two"]
    answer = deployed.client("sqs").receive_message(QueueUrl=deployed.ids["Failures"])
    assert [one["Body"] for one in answer["Messages"]] == ["refuse"]
    (letter,) = answer["Messages"]
    deployed.client("sqs").delete_message(
        QueueUrl=deployed.ids["Failures"], ReceiptHandle=letter["ReceiptHandle"]
    )


def test_a_function_that_fails_gets_the_whole_batch_again(deployed):
    send(deployed, "healthy", "poison")
    seen: list[dict[str, Any]] = []
    eventually(lambda: seen.extend(deployed.records()) or is_empty(deployed))
    seen += deployed.records()

    assert bodies(seen).count("healthy") == 2
    answer = deployed.client("sqs").receive_message(
        QueueUrl=deployed.ids["Failures"], MaxNumberOfMessages=10
    )
    for letter in answer["Messages"]:
        deployed.client("sqs").delete_message(
            QueueUrl=deployed.ids["Failures"], ReceiptHandle=letter["ReceiptHandle"]
        )


def test_what_the_filter_does_not_want_is_deleted_unseen(deployed):
    send(deployed, "ignored", "wanted")
    records = eventually(deployed.records)

    assert bodies(records) == ["wanted"]
    eventually(lambda: is_empty(deployed))
