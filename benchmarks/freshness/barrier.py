"""The usual way to work off a queue in pages: read one, work it off entirely, read the next.

As the AWS sample does it, on lifoq's own store, and with the same number of tasks in flight.
"""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from lifoq.basics.host import SYSTEM, microseconds
from lifoq.errors import NotClaimed
from lifoq.tables.store import Store
from lifoq.worker.context import Context
from lifoq.worker.registry import Registry
from lifoq.worker.settings import WorkerSettings


class PageBarrier:
    """Claims, runs and settles each task of a page in one of ``in_flight`` threads."""

    def __init__(self, store: Store, registry: Registry, settings: WorkerSettings) -> None:
        self._store = store
        self._registry = registry
        self._settings = settings

    def run(self) -> None:
        until = time.monotonic() + self._settings.window
        with ThreadPoolExecutor(self._settings.in_flight) as threads:
            while time.monotonic() < until:
                page = self._store.candidates(limit=self._settings.page)
                list(threads.map(self._work, [row.task_id for row in page.rows]))

    def _work(self, task_id: str) -> None:
        lease = self._settings.lease
        try:
            task = self._store.claim(task_id, claim_id=uuid.uuid4().hex, lease=lease)
        except NotClaimed:
            return
        kind = self._registry.get(task.task_type)
        if kind is None:
            raise LookupError(task.task_type)
        ends_at = SYSTEM.now() + microseconds(self._settings.task_timeout)
        context = Context(
            task=task,
            store=self._store,
            host=SYSTEM,
            lease=lambda: lease,
            max_attempts=self._settings.max_attempts,
            ends_at=ends_at,
        )
        kind.handler(task.payload, context)
        self._store.succeed(task, "null")
