"""Tells a topic how tasks ended."""

import logging
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from lifoq.basics import jsontext
from lifoq.ends.end import End

log = logging.getLogger("lifoq.ends")

MOST_AT_ONCE: Final = 10
"""Messages of one call."""
MOST_BYTES_AT_ONCE: Final = 256 * 1024
"""All messages of a call with their attributes
(https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html)."""
UNSENDABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML has no place for, and so no message and no attribute of SNS."""

Entry = dict[str, Any]


class EventsTopic:
    """The SNS topic to which ends of tasks are published."""

    def __init__(self, sns: Any, topic_arn: str, *, queue: str) -> None:
        self._sns = sns
        self._topic_arn = topic_arn
        self._queue = queue

    def publish(self, ends: Sequence[End]) -> set[str]:
        """Publish them in as few calls as possible; the event ids of those that SNS did not take.
        boto3's errors pass: then nobody knows of the rest."""
        failed: set[str] = set()
        for entries in _calls(self._entries(ends)):
            answer = self._sns.publish_batch(
                TopicArn=self._topic_arn, PublishBatchRequestEntries=entries
            )
            for refused in answer.get("Failed", []):
                end = ends[int(refused["Id"])]
                log.error("SNS did not take the end of task %s: %s", end.task_id, refused)
                failed.add(end.event_id)
        return failed

    def _entries(self, ends: Sequence[End]) -> Iterator[Entry]:
        for number, end in enumerate(ends):
            yield {
                "Id": str(number),
                "Message": _sendable(end.message(queue=self._queue)),
                "MessageAttributes": {
                    name: {"DataType": "String", "StringValue": _sendable(value)}
                    for name, value in end.attributes().items()
                },
            }


def _calls(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    call: list[Entry] = []
    room = MOST_BYTES_AT_ONCE
    for entry in entries:
        size = _size(entry)
        if call and (size > room or len(call) == MOST_AT_ONCE):
            yield call
            call, room = [], MOST_BYTES_AT_ONCE
        call.append(entry)
        room -= size
    if call:
        yield call


def _size(entry: Entry) -> int:
    attributes = entry["MessageAttributes"].items()
    named = sum(jsontext.size(name + "String" + one["StringValue"]) for name, one in attributes)
    return jsontext.size(entry["Message"]) + named


def _sendable(text: str) -> str:
    return UNSENDABLE.sub("\ufffd", text)
