"""SQS: the attributes of a queue within their bounds, and messages of characters that XML has."""

import re
from collections.abc import Mapping
from typing import Any, Final

from lifoq_localcloud.service_rules.refused import RefusedError

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
_NOT_ALLOWED: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check(asked: Mapping[str, Any]) -> None:
    """Hold a queue's attributes against their bounds: ``{"DelaySeconds": "901"}`` is refused."""
    for name, (least, most) in BOUNDS.items():
        value = asked.get(name)
        if isinstance(value, str | int) and not (
            str(value).isdecimal() and least <= int(value) <= most
        ):
            raise RefusedError("InvalidAttributeValue", f"Invalid value for the parameter {name}.")


def check_attributes(asked: Mapping[str, Any]) -> None:
    check(asked.get("Attributes") or {})


def check_message(asked: Mapping[str, Any]) -> None:
    """Refuse a message with a character that SQS does not carry."""
    if _NOT_ALLOWED.search(asked.get("MessageBody") or ""):
        raise RefusedError(
            "InvalidMessageContents",
            "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to "
            "#xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
        )
