"""DynamoDB Streams: the ARN of a stream, which its model takes for any text."""

import re
from typing import Any, Final

from lifoq_localcloud.service_rules.refused import VALIDATION, RefusedError

_STREAM: Final = re.compile(r"arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:\d{12}:table/[^/]+/stream/[^/]+")


def check_arn(asked: dict[str, Any]) -> None:
    """Refuse an ARN that is none of a stream."""
    arn = asked.get("StreamArn")
    if arn is not None and not _STREAM.fullmatch(arn):
        raise RefusedError(VALIDATION, f"Invalid StreamArn: {arn} is no ARN of a stream")


def check_iterator(asked: dict[str, Any]) -> None:
    """Refuse a sequence number that is none."""
    check_arn(asked)
    number = asked.get("SequenceNumber")
    if number is not None and not number.isdecimal():
        raise RefusedError(VALIDATION, f"Invalid SequenceNumber: {number}")
