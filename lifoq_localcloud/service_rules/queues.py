"""SQS: the attributes of a queue within their bounds, messages that it carries, and batches."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from lifoq_localcloud.service_rules import message_attributes
from lifoq_localcloud.service_rules.refused import RefusedError

VALUE: Final = "InvalidParameterValue"
MOST_ATTRIBUTES: Final = 10
MOST_RECEIVES: Final = 1_000

BOUNDS: Final = {
    "DelaySeconds": (0, 900),
    "MaximumMessageSize": (1_024, 1_048_576),
    "MessageRetentionPeriod": (60, 1_209_600),
    "ReceiveMessageWaitTimeSeconds": (0, 20),
    "VisibilityTimeout": (0, 43_200),
    "KmsDataKeyReusePeriodSeconds": (60, 86_400),
}
"""Least and most of each number
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html).
"""
ATTRIBUTES: Final = frozenset(
    {
        *BOUNDS,
        *("Policy", "RedrivePolicy", "RedriveAllowPolicy", "KmsMasterKeyId"),
        *("SqsManagedSseEnabled", "FifoQueue", "ContentBasedDeduplication"),
        *("DeduplicationScope", "FifoThroughputLimit"),
    }
)
_BATCH_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
_NOT_ALLOWED: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check(asked: Mapping[str, Any], code: str = "InvalidAttributeValue") -> None:
    """Hold a queue's attributes against their bounds: ``{"DelaySeconds": "901"}`` is refused."""
    for name, (least, most) in BOUNDS.items():
        value = asked.get(name)
        if isinstance(value, str | int) and not (
            str(value).isdecimal() and least <= int(value) <= most
        ):
            raise RefusedError(code, f"Invalid value for the parameter {name}.")


def check_new(asked: Mapping[str, Any]) -> None:
    """Hold a new queue's name against what kind of queue it is to be."""
    name, attributes = str(asked.get("QueueName")), asked.get("Attributes") or {}
    if name.endswith(".fifo") and attributes.get("FifoQueue") != "true":
        raise RefusedError(
            VALUE,
            "The name of a FIFO queue can only include alphanumeric characters, hyphens, or "
            "underscores, must end with .fifo suffix: FifoQueue has to be true for it.",
        )
    check_attributes(asked)


def check_attributes(asked: Mapping[str, Any]) -> None:
    """Refuse attributes that no queue has, and values out of bounds."""
    attributes = asked.get("Attributes") or {}
    for name in attributes:
        if name not in ATTRIBUTES:
            raise RefusedError("InvalidAttributeName", f"Unknown Attribute {name}.")
    check(attributes)
    if attributes.get("Policy") and not _is_object(attributes["Policy"]):
        raise RefusedError("InvalidAttributeValue", "Invalid value for the parameter Policy.")
    policy = attributes.get("RedrivePolicy")
    if policy:
        _check_redrive(policy)


def _check_redrive(policy: Any) -> None:
    told = f"Value {policy} for parameter RedrivePolicy is invalid. Reason: "
    if not _is_object(policy):
        raise RefusedError(VALUE, f"{told}Redrive policy is not a valid JSON map.")
    most = str(json.loads(policy).get("maxReceiveCount", ""))
    if most and not (most.isdecimal() and 1 <= int(most) <= MOST_RECEIVES):
        raise RefusedError(
            VALUE,
            f"{told}Invalid value for maxReceiveCount: {most}, valid values are from 1 to "
            f"{MOST_RECEIVES} both inclusive.",
        )


def _is_object(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, TypeError, RecursionError):
        return False


def check_received(asked: Mapping[str, Any]) -> None:
    """Hold the time for which received messages are hidden against its bounds."""
    check({"VisibilityTimeout": asked.get("VisibilityTimeout")}, code=VALUE)


def check_message(asked: Mapping[str, Any]) -> None:
    """Refuse a message that is empty, or has attributes or characters that SQS does not carry."""
    if not asked.get("MessageBody"):
        raise RefusedError(
            "MissingParameter", "The request must contain the parameter MessageBody."
        )
    attributes = asked.get("MessageAttributes") or {}
    if len(attributes) > MOST_ATTRIBUTES:
        raise RefusedError(
            VALUE,
            f"Number of message attributes [{len(attributes)}] exceeds the allowed maximum "
            f"[{MOST_ATTRIBUTES}].",
        )
    for name, attribute in attributes.items():
        if (told := message_attributes.wrong(name, attribute)) is not None:
            raise RefusedError(VALUE, told)
    for name in asked.get("MessageSystemAttributes") or {}:
        if name != "AWSTraceHeader":
            raise RefusedError(VALUE, f"Message system attribute name '{name}' is invalid.")
    fifo = str(asked.get("QueueUrl", "")).endswith(".fifo")
    if not fifo and asked.get("MessageDeduplicationId"):
        raise RefusedError(
            VALUE,
            "The request include parameter that is not valid for this queue type: "
            "MessageDeduplicationId",
        )
    if fifo and asked.get("DelaySeconds"):
        raise RefusedError(
            VALUE,
            f"Value {asked['DelaySeconds']} for parameter DelaySeconds is invalid. Reason: The "
            "request include parameter that is not valid for this queue type.",
        )
    if _NOT_ALLOWED.search(asked.get("MessageBody") or ""):
        raise RefusedError(
            "InvalidMessageContents",
            "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to "
            "#xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
        )


def check_messages(asked: Mapping[str, Any]) -> None:
    """Hold a batch of messages against the rules of a batch, and each against those of one."""
    check_batch(asked)
    for entry in asked.get("Entries") or []:
        check_message({**entry, "QueueUrl": asked.get("QueueUrl")})


def check_batch(asked: Mapping[str, Any]) -> None:
    """Refuse ids of entries that SQS does not take."""
    for entry in asked.get("Entries") or []:
        if not _BATCH_ID.fullmatch(str(entry.get("Id"))):
            raise RefusedError(
                "InvalidBatchEntryId",
                "A batch entry id can only contain alphanumeric characters, hyphens and "
                "underscores. It can be at most 80 letters long.",
            )
