"""The usual way to work off a queue in pages: read one, work it off entirely, read the next.

As the AWS sample does it, on lifoq's own store, and with the same number of tasks in flight.
"""

from collections import deque
from functools import partial
from typing import Any, Final

from lifoq.basics.host import Host, microseconds
from lifoq.store.candidate import Candidate
from lifoq.store.store import Store
from lifoq.worker.handlers.registry import Registry
from lifoq.worker.settings import WorkerSettings

LONGEST: Final = 3_600.0
"""Seconds of a page."""


class PageBarrier:
    """Claims, runs and settles each task of a page, ``in_flight`` at a time."""

    def __init__(
        self, store: Store, registry: Registry, settings: WorkerSettings, *, host: Host
    ) -> None:
        self._store = store
        self._registry = registry
        self._settings = settings
        self._host = host

    def run(self) -> None:
        until = self._host.monotonic() + microseconds(self._settings.window)
        while self._host.monotonic() < until:
            page = deque(self._store.candidates(limit=self._settings.page).rows)
            ended = self._host.mailbox()
            slots = range(self._settings.in_flight)
            for _ in slots:
                self._host.spawn(partial(self._work_off, page, ended), "slot")
            for _ in slots:
                ended.take(LONGEST)

    def _work_off(self, page: deque[Candidate], ended: Any) -> None:
        while page:
            self._work(page.popleft().task_id)
        ended.put(None)

    def _work(self, task_id: str) -> None:
        lease = self._settings.lease
        task = self._store.claim(task_id, claim_id=self._host.new_id(), lease=lease)
        kind = self._registry.get(task.task_type)
        if kind is None:
            raise LookupError(task.task_type)
        no_context: Any = None
        kind.handler(task.payload, no_context)
        self._store.succeed(task, "null")
