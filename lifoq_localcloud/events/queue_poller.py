"""An event source mapping of a queue: runs its function on the messages, batch by batch."""

import base64
import json
import threading
import time
from collections.abc import Callable
from typing import Any

from lifoq_localcloud.basics import threads
from lifoq_localcloud.basics.account import REGION
from lifoq_localcloud.events.filters import passes
from lifoq_localcloud.events.sources import QueueMappingConfig
from lifoq_localcloud.functions.function import Outcome, ThrottledError
from lifoq_localcloud.functions.pool import Pool

WAIT_SECONDS = 1
"""Seconds of a long poll. Lambda's are longer; here, the end of a mapping takes as long."""
MOST_AT_A_TIME = 10
"""Messages of one ReceiveMessage."""

Message = dict[str, Any]


class QueuePoller:
    """Follows a queue on a thread of its own, one batch at a time.

    What the function has done is deleted. What it has not comes again when the queue's visibility
    timeout is over, until the queue's own redrive policy takes it away.
    """

    def __init__(
        self,
        *,
        config: QueueMappingConfig,
        sqs: Callable[[], Any],
        pool: Callable[[str], Pool | None],
    ) -> None:
        """``sqs``: makes a client of the cloud's SQS."""
        self.config = config
        self._new_client = sqs
        self._pool = pool
        self._stopped = threading.Event()
        threads.start(f"the mapping of {config.source_arn}", self._run, self._stopped)

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        sqs = self._new_client()
        while not self._stopped.is_set():
            if not self.config.enabled:
                self._stopped.wait(WAIT_SECONDS)
                continue
            self._run_once(sqs)

    def _run_once(self, sqs: Any) -> None:
        url = sqs.get_queue_url(QueueName=self.config.queue_name)["QueueUrl"]
        done = self._process(self._gather(sqs, url))
        for start in range(0, len(done), MOST_AT_A_TIME):
            _delete(sqs, url, done[start : start + MOST_AT_A_TIME])

    def _gather(self, sqs: Any, url: str) -> list[Message]:
        """Up to a batch of messages, waiting for the batching window once there is one."""
        config, batch, until = self.config, list[Message](), 0.0
        while len(batch) < config.batch_size and not self._stopped.is_set():
            answer = sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=min(MOST_AT_A_TIME, config.batch_size - len(batch)),
                WaitTimeSeconds=0 if batch else WAIT_SECONDS,
                AttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
            found = answer.get("Messages", [])
            if found and not batch:
                until = time.monotonic() + config.window_seconds
            batch += found
            if not found and time.monotonic() >= until:
                break
            if not found:
                self._stopped.wait(0.1)
        return batch

    def _process(self, batch: list[Message]) -> list[Message]:
        """Run the function on a batch, and return the messages to delete: those that succeeded, and
        those that no filter lets through."""
        config = self.config
        wanted = [one for one in batch if self._passes(one)]
        done = [one for one in batch if one not in wanted]
        pool = self._pool(config.function_name)
        if not wanted or pool is None:
            return done
        records = [_record(one, config.source_arn) for one in wanted]
        try:
            outcome = pool.invoke(json.dumps({"Records": records}).encode())
        except ThrottledError:
            return done
        failed = self._failed([one["MessageId"] for one in wanted], outcome)
        return done + [one for one in wanted if one["MessageId"] not in failed]

    def _failed(self, ids: list[str], outcome: Outcome) -> list[str]:
        if outcome.failed:
            return ids
        if not self.config.report_item_failures:
            return []
        answer = outcome.document()
        failures = answer.get("batchItemFailures") if isinstance(answer, dict) else None
        named = [failure.get("itemIdentifier") for failure in failures or []]
        # AWS takes an answer that it does not understand for a failure of all.
        return named if all(name in ids for name in named) else ids

    def _passes(self, message: Message) -> bool:
        filters, text = self.config.filters, message["Body"]
        try:
            return passes(filters, {"body": json.loads(text)})
        except (ValueError, RecursionError):  # or nested deeper than Python reads
            return passes(filters, {"body": text})


def _delete(sqs: Any, url: str, messages: list[Message]) -> None:
    entries = [
        {"Id": str(number), "ReceiptHandle": one["ReceiptHandle"]}
        for number, one in enumerate(messages)
    ]
    sqs.delete_message_batch(QueueUrl=url, Entries=entries)


def _record(message: Message, queue_arn: str) -> dict[str, Any]:
    """https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html"""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": {
            name: _attribute(value) for name, value in message.get("MessageAttributes", {}).items()
        },
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": REGION,
    }


def _attribute(value: dict[str, Any]) -> dict[str, Any]:
    attribute: dict[str, Any] = {
        "stringListValues": [],
        "binaryListValues": [],
        "dataType": value["DataType"],
    }
    if "BinaryValue" in value:
        attribute["binaryValue"] = base64.b64encode(value["BinaryValue"]).decode()
    else:
        attribute["stringValue"] = value["StringValue"]
    return attribute
