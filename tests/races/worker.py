"""One of the processes that race for the tasks of a queue; it works until it finds the stop file,
or nobody waits for it any more.

It logs every attempt that it begins, before anything else happens, so that a killed process has
told all it did.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab import dynamodb_local
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.store.store import Store
from lifoq.worker.handlers.backoff import Backoff
from lifoq.worker.handlers.context import Context
from lifoq.worker.handlers.registry import Registry
from lifoq.worker.processor import Processor
from lifoq.worker.settings import WorkerSettings

LEASE = 1.5
SETTINGS = WorkerSettings(
    window=5,
    task_timeout=10,
    lease=LEASE,
    heartbeat=0.5,
    in_flight=2,
    page=10,
    max_attempts=50,
    backoff=Backoff.fixed(0.1),
    linger=0.2,
    shared_limits=True,
)
TOGETHER = 3
TOGETHER_RATE = 20.0
"""Tasks at a time, and starts per second, of one type over all workers."""
UNITS = 6
"""Units at a time of another type, over all workers."""


def main(endpoint: str, table_name: str, folder: Path) -> None:
    with (folder / f"{os.getpid()}.jsonl").open("w", buffering=1) as log:

        def write(**line: Any) -> None:
            log.write(json.dumps({"worker": os.getpid(), **line}) + "\n")

        def lasting(seconds: float) -> Callable[[Any, Context], Any]:
            """Return a handler whose tasks last so long, or the seconds that are their payload."""

            def work(payload: Any, context: Context) -> Any:
                attempt = {"task": context.task_id, "attempt": context.attempt}
                begun = time.monotonic_ns()
                write(**attempt, type=context.task_type, begun=begun)
                time.sleep(payload or seconds)
                ended = time.monotonic_ns()
                write(**attempt, ended=ended)
                return {**attempt, "worker": os.getpid(), "begun": begun, "ended": ended}

            return work

        registry = Registry()
        # Long enough that slots are mostly busy, and not every worker asks for every task.
        registry.task("race")(lasting(0.2))
        registry.task("one-per-key", per_key=1)(lasting(0.4))
        registry.task("together", in_flight=TOGETHER, rate_limit=TOGETHER_RATE)(lasting(0.1))
        registry.task("weighed", weight="units", units_in_flight=UNITS)(lasting(0.3))

        table = DynamoTable.connect(table_name, endpoint_url=endpoint, **dynamodb_local.CREDENTIALS)
        processor = Processor(Store(table), registry, SETTINGS)
        parent = os.getppid()  # another one, when the test was killed
        while not (folder / "stop").exists() and os.getppid() == parent:
            report = processor.run()
            write(leases_lost=report.leases_lost)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
