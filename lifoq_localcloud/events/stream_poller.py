"""An event source mapping: reads a table's stream and runs its function, batch by batch."""

import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from lifoq_localcloud.basics import threads
from lifoq_localcloud.events.filters import passes
from lifoq_localcloud.events.sources import MappingConfig
from lifoq_localcloud.functions.function import Outcome, ThrottledError
from lifoq_localcloud.functions.pool import Pool
from lifoq_localcloud.tables import dynamodb_json
from lifoq_localcloud.tables.journal import Journal, Write

POLL_SECONDS = 0.25
"""Lambda polls a shard four times a second; what comes in between is one batch."""
FIRST_RETRY_SECONDS = 0.5
LONGEST_RETRY_SECONDS = 30.0

Record = dict[str, Any]


class Stream(Protocol):
    """A table's stream: where its writes lie, and how one of them looks as an event."""

    journal: Journal
    id: str
    beginning: int
    """The position in the journal of the stream's first write."""

    def record(self, write: Write) -> Record: ...


class StreamPoller:
    """Follows a stream from its beginning (TRIM_HORIZON) on a thread of its own."""

    def __init__(
        self,
        *,
        config: MappingConfig,
        stream: Stream,
        pool: Callable[[str], Pool | None],
        send: Callable[[str, str], bool],
        keep: Callable[[], bool],
        pause_seconds: float = 0.0,
    ) -> None:
        """``pause_seconds``: between two reads of the stream. With 0, a stream in which nothing is
        new is read again as soon as something is written to it."""
        self.config = config
        self._stream = stream
        self._pool = pool
        self._send = send
        self._keep = keep
        self._pause_seconds = pause_seconds
        self._position = stream.beginning
        self._stopped = threading.Event()
        threads.start(f"the mapping of {config.source_arn}", self._run, self._stopped)

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            if self._pause_seconds == 0 and not self._stream.journal.wait(self._position, 1.0):
                continue
            if not self.config.enabled:  # perhaps since a moment ago
                self._stopped.wait(POLL_SECONDS)
                continue
            next_at = time.monotonic() + max(POLL_SECONDS, self._pause_seconds)
            batch = self._gather()
            if batch:
                self._process(batch)
            self._stopped.wait(max(0.0, next_at - time.monotonic()))

    def _gather(self) -> list[Record]:
        """Up to a batch of records that pass the filters, waiting for the batching window."""
        config = self.config
        deadline = time.monotonic() + config.window_seconds
        batch: list[Record] = []
        while len(batch) < config.batch_size and not self._stopped.is_set():
            writes = self._stream.journal.read(self._position, config.batch_size - len(batch))
            self._position += len(writes)
            batch += [record for record in map(self._event, writes) if record is not None]
            left = deadline - time.monotonic()
            if not writes and (not batch or left <= 0):
                break
            if not writes:
                self._stream.journal.wait(self._position, min(left, 1.0))
        return batch

    def _event(self, write: Write) -> Record | None:
        record = self._stream.record(write)
        if not (passes(self.config.filters, record) and self._keep()):
            return None
        return {**record, "eventSourceARN": self.config.source_arn}

    def _process(self, batch: list[Record], retries: int = 0) -> None:
        """Run the function until the batch is done, or dropped by the mapping's limits."""
        throttles = 0
        while batch and not self._stopped.is_set():
            config = self.config
            batch = self._drop_old(batch)
            pool = self._pool(config.function_name)
            if not batch or pool is None:
                return
            try:
                outcome = pool.invoke(dynamodb_json.encode({"Records": batch}).encode())
            except ThrottledError:
                self._pause(throttles)
                throttles += 1
                continue
            failed = self._failed(batch, outcome)
            if not failed:
                return
            if config.bisect and outcome.failed and len(failed) > 1:
                # Splitting a batch costs no retry, as on AWS.
                half = len(failed) // 2
                self._process(failed[:half], retries)
                batch = failed[half:]
                continue
            if config.max_retries is not None and retries >= config.max_retries:
                self._give_up(failed, outcome, "RetryAttemptsExhausted", retries + 1)
                return
            self._pause(retries)
            retries += 1
            batch = failed

    def _failed(self, batch: list[Record], outcome: Outcome) -> list[Record]:
        """The records to try again: from the first that failed on."""
        if outcome.failed:
            return batch
        if not self.config.report_item_failures:
            return []
        answer = outcome.document()
        failures = answer.get("batchItemFailures") if isinstance(answer, dict) else None
        if not failures:
            return []
        sequences = [record["dynamodb"]["SequenceNumber"] for record in batch]
        named = [failure.get("itemIdentifier") for failure in failures]
        if any(name not in sequences for name in named):
            return batch  # AWS takes an answer that it does not understand for a failure of all.
        return batch[min(sequences.index(name) for name in named) :]

    def _drop_old(self, batch: list[Record]) -> list[Record]:
        age = self.config.max_record_age_seconds
        if age is None:
            return batch
        oldest = time.time() - age
        old = [r for r in batch if r["dynamodb"]["ApproximateCreationDateTime"] < oldest]
        if old:
            self._give_up(old, None, "RecordAgeExceeded", 0)
        return [r for r in batch if r["dynamodb"]["ApproximateCreationDateTime"] >= oldest]

    def _pause(self, attempt: int) -> None:
        self._stopped.wait(min(FIRST_RETRY_SECONDS * 2**attempt, LONGEST_RETRY_SECONDS))

    def _give_up(
        self, batch: list[Record], outcome: Outcome | None, condition: str, invocations: int
    ) -> None:
        pool = self._pool(self.config.function_name)
        if self.config.on_failure and pool is not None:
            envelope = self._envelope(batch, outcome, condition, invocations, pool.config.arn)
            self._send(self.config.on_failure, json.dumps(envelope))

    def _envelope(
        self,
        batch: list[Record],
        outcome: Outcome | None,
        condition: str,
        invocations: int,
        function_arn: str,
    ) -> dict[str, Any]:
        """Return the message that AWS sends to an on-failure destination: it says where the records
        lie, and does not contain them."""
        first, last = batch[0]["dynamodb"], batch[-1]["dynamodb"]
        envelope: dict[str, Any] = {
            "version": "1.0",
            "timestamp": _iso(time.time()),
            "requestContext": {
                "requestId": batch[0]["eventID"],
                "functionArn": function_arn,
                "condition": condition,
                "approximateInvokeCount": invocations,
            },
            "DDBStreamBatchInfo": {
                "shardId": self._stream.id,
                "startSequenceNumber": first["SequenceNumber"],
                "endSequenceNumber": last["SequenceNumber"],
                "approximateArrivalOfFirstRecord": _iso(first["ApproximateCreationDateTime"]),
                "approximateArrivalOfLastRecord": _iso(last["ApproximateCreationDateTime"]),
                "batchSize": len(batch),
                "streamArn": self.config.source_arn,
            },
        }
        if outcome is not None:
            context = {"statusCode": 200, "executedVersion": "$LATEST"}
            if outcome.failed:
                context["functionError"] = "Unhandled"
            envelope["responseContext"] = context
        return envelope


def _iso(epoch_seconds: float) -> str:
    moment = datetime.fromtimestamp(epoch_seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
