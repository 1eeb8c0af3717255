"""A team's own Lambda function, which knows of its queue nothing but that it has one."""

from typing import Any

from lifoq import Queue


def handle(event: dict[str, Any], _context: Any) -> Any:
    queue = Queue.connect()
    task = queue.put("thumbnail", event["picture"])
    (outcome,) = queue.wait_many([task.task_id], timeout=120)
    return {
        "result": queue.wait(task.task_id, timeout=120),
        "and of many": outcome.result(),
        "deadline": queue.store.lifetimes.deadline,
    }
