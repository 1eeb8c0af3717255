"""Puts a task for a state that waits for its end."""

import hashlib
from typing import Any

from lifoq import Queue

queue = Queue.connect()


def handle(event: dict[str, Any], _context: Any) -> None:
    queue.put(
        event["type"],
        event["payload"],
        deadline=event["deadline"],
        task_token=event["token"],
        # Step Functions may call twice: the token makes the put idempotent.
        task_id=hashlib.sha256(event["token"].encode()).hexdigest(),
    )
