"""Runs of a worker in a test, which say afterwards why a task did not run."""

from typing import Final

from lifoq.client.queue import Queue
from lifoq.items.schema import Status
from lifoq.store.candidate import candidate_of
from lifoq.testing.hosts import TurnableHost
from lifoq.testing.schedules import fire_schedules
from lifoq.worker.handlers.registry import REGISTRY
from lifoq.worker.processor import Processor
from lifoq.worker.run.report import RunReport
from lifoq.worker.settings import WorkerSettings

MOST_TOLD: Final = 10
"""Tasks of which a failing test tells why they wait, at the most."""
OF_THE_RUN: Final = ("run_over", "time_left")
"""Gates that are closed since the run is over: no reason why it did not start a task."""


class Runs:
    """Runs the tasks that can run, each time that it is called."""

    def __init__(self, queue: Queue, host: TurnableHost) -> None:
        self._queue = queue
        self._host = host
        self._processor: Processor | None = None

    def __call__(self) -> RunReport:
        """Run the tasks that can run by now."""
        fire_schedules(self._queue)
        # A type for `lifoq work` may take longer than a processor lets its tasks take by default.
        longest = max((kind.timeout or 0.0 for kind in REGISTRY), default=0.0)
        settings = WorkerSettings(
            linger=0, task_timeout=max(longest, WorkerSettings().task_timeout)
        )
        self._processor = Processor(self._queue.store, REGISTRY, settings, host=self._host)
        return self._processor.run()

    def why(self, task_id: str) -> str:
        """Say why the latest run did not start a task, by its gates; or what has become of it."""
        item = self._queue.store.table.get(task_id)
        found = self._queue.explain(task_id)
        if item is None or found.status is not Status.PENDING or not found.reasons:
            return found.summary
        asked = [] if self._processor is None else self._processor.reasons(candidate_of(item))
        said = [says for name, says in asked if name not in OF_THE_RUN]
        return f"It waits: {' and '.join(said)}." if said else "It waits for the next run."

    def waiting(self) -> str:
        """Say why tasks wait, the newest first: a line for each, ``MOST_TOLD`` at the most."""
        store = self._queue.store
        found = [
            task_id
            for status in (Status.PENDING, Status.DELAYED)
            for task_id, _ in store.browse(status)
        ]
        return "\n".join(f"{task_id}: {self.why(task_id)}" for task_id in found[:MOST_TOLD])
