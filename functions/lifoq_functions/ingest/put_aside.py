"""Keeps messages that no task can be made of, with the reason, where an operator looks."""

import functools
import json
from typing import Any, Final

from lifoq.errors import LifoqError

ROOM: Final = 1024 * 1024
"""Bytes of a message in SQS
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html)."""


def put_aside(queue_url: str, event: Any, reason: LifoqError) -> None:
    """Whole, but where SQS has no room for it: then its beginning, and how long it was."""
    text = json.dumps({"reason": str(reason), "event": event})
    if len(text) > ROOM:
        whole = json.dumps(event)
        # A quotation mark takes two characters as JSON within JSON.
        cut = {"reason": str(reason), "eventBytes": len(whole), "eventBegins": whole[: ROOM // 3]}
        text = json.dumps(cut)
    _sqs().send_message(QueueUrl=queue_url, MessageBody=text)


@functools.cache
def _sqs() -> Any:
    """When it is needed: most starts never do."""
    from lifoq_functions.boto3_clients import client  # noqa: PLC0415 - a cold start less to import

    return client("sqs")
