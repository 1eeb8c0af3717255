"""The processor: claims the newest tasks, runs them, and settles each on its own.

One thread (the caller's) decides everything and makes no call itself (see ``run``); whatever it
decides is done in threads beside it, which report back through a mailbox.
"""

import logging
import random
from collections.abc import Callable
from typing import Final

from lifoq.basics.host import SYSTEM, Host
from lifoq.errors import StoreUnavailable
from lifoq.store.store import Store
from lifoq.worker.handlers.registry import Registry
from lifoq.worker.run.loop import Run
from lifoq.worker.run.report import RunReport
from lifoq.worker.settings import WorkerSettings
from lifoq.worker.worker import Worker

log = logging.getLogger("lifoq.processor")

UNAVAILABLE_PAUSE: Final = 5.0
"""Seconds until ``serve`` tries again, where the database did not answer."""


class Processor:
    """Runs the registry's tasks, one run at a time."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        settings: WorkerSettings,
        *,
        host: Host = SYSTEM,
        draw: random.Random | None = None,
    ) -> None:
        """Sets the process up for the registry's tasks, once. Raises InvalidInput for a task type
        that could never start, and what the set-up raises."""
        self._worker = Worker.of(store, registry, settings, host=host, draw=draw or random.Random())
        self._host = host
        self._serving: Run | None = None
        self._grace: float | None = None
        """Seconds that the stop that was asked for leaves to handlers."""
        registry.set_up()

    def run(
        self,
        *,
        time_limit: float | None = None,
        woken_at: int | None = None,
        on_progress: Callable[[RunReport], None] = lambda _: None,
    ) -> RunReport:
        """Work until the queue is empty or the window is over, and every task is settled.

        ``time_limit``: seconds after which the caller is killed; the run is over before.
        ``woken_at``: epoch microseconds of the kick that started it. Where that lies back further
        than an empty queue is watched, one look at it is enough; without it, as if it were now.
        ``on_progress`` is told every few seconds, and at the end, what was done since it was last
        told; it should be quick. The report that ``run`` returns is the sum, and alone says whether
        tasks remain.

        Raises StoreUnavailable where that kept it from claiming anything, and QueueMisconfigured
        and ProcessUnusable, once whatever was in flight is settled.
        """
        with self._host.invocation():
            return self._run(
                time_limit=time_limit, woken_at=woken_at, on_progress=on_progress
            ).execute()

    def serve(self, *, on_progress: Callable[[RunReport], None] = lambda _: None) -> RunReport:
        """Work until ``stop``, an empty queue watched on: for a process that is there for this
        alone. A database that does not answer is waited for. ``on_progress`` is told every few
        seconds, also where nothing was done.

        Raises QueueMisconfigured, and ProcessUnusable, once whatever was in flight is settled.
        """
        total = RunReport()
        while True:
            self._serving = self._run(until_stopped=True, on_progress=on_progress)
            if self._grace is not None:  # it came before there was anything to stop
                self._serving.stop(self._grace)
            try:
                total.add(self._serving.execute())
            except StoreUnavailable as error:
                log.warning("working goes on in %g s: %s", UNAVAILABLE_PAUSE, error)
            if self._grace is not None:
                return total
            self._host.sleep(UNAVAILABLE_PAUSE)

    def stop(self, *, grace: float = 30.0) -> None:
        """Have ``serve`` claim no more, and return once all is settled: from any thread, or a
        signal's handler. What is still at work after ``grace`` seconds is handed back to the queue,
        its attempt uncounted; its handler's thread goes on until the process ends."""
        self._grace = grace
        if self._serving is not None:
            self._serving.stop(grace)

    @property
    def idle(self) -> bool:
        """Whether what ``serve`` does holds no task."""
        return self._serving is None or self._serving.idle

    def _run(
        self,
        *,
        time_limit: float | None = None,
        woken_at: int | None = None,
        until_stopped: bool = False,
        on_progress: Callable[[RunReport], None],
    ) -> Run:
        return Run(
            self._worker,
            time_limit=time_limit,
            woken_at=woken_at,
            until_stopped=until_stopped,
            on_progress=on_progress,
        )
