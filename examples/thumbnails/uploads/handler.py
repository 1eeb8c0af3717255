"""Hears of uploads, and puts a task for each."""

from typing import Any
from urllib.parse import unquote_plus

from lifoq import NewTask, Queue

queue = Queue.connect()


def handle(event: dict[str, Any], _context: Any) -> None:
    tasks = []
    for record in event["Records"]:
        bucket, key = record["s3"]["bucket"]["name"], unquote_plus(record["s3"]["object"]["key"])
        # S3 may tell of an upload twice: the id makes it one task.
        task_id = f"{key}@{record['s3']['object']['sequencer']}"
        payload = {"bucket": bucket, "key": key}
        tasks.append(NewTask(task_type="thumbnails.make", payload=payload, task_id=task_id))
    for outcome in queue.put_many(tasks):
        if outcome.error is not None:
            raise outcome.error  # Lambda tries the event again; what was put is not put twice
