"""The processor: claims the newest tasks, runs them, and settles each on its own.

The caller's thread decides everything and makes no call itself. Each call is made in a thread
beside it, which reports back through a mailbox (see ``run``).
"""

import logging
import random
from collections.abc import Callable
from typing import Final

from lifoq.basics.host import SYSTEM, Host
from lifoq.errors import StoreUnavailable
from lifoq.store.store import Store
from lifoq.worker.handlers.registry import Registry
from lifoq.worker.process_state import ProcessState
from lifoq.worker.run.loop import Run
from lifoq.worker.run.report import RunReport
from lifoq.worker.settings import WorkerSettings

log = logging.getLogger("lifoq.processor")

UNAVAILABLE_PAUSE: Final = 5.0
"""Seconds until ``serve`` tries again after the database did not answer."""


class Processor:
    """Runs the registry's tasks, one run at a time. ``run`` and ``serve`` belong to one thread.
    ``stop`` and ``idle`` may be called from any thread."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        settings: WorkerSettings,
        *,
        host: Host = SYSTEM,
        draw: random.Random | None = None,
    ) -> None:
        """Set the process up for the registry's tasks, once. Raises InvalidInput for a task type
        that could never start, and any error of the set-up."""
        self._process = ProcessState.of(
            store, registry, settings, host=host, draw=draw or random.Random()
        )
        self._host = host
        self._serving: Run | None = None
        self._grace: float | None = None
        """Seconds that ``stop`` leaves to handlers; None until it was called. Written by ``stop``,
        in any thread."""
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
        ``woken_at``: epoch microseconds of the kick that started the run, by default now. If the
        kick is older than ``linger``, one poll is enough to believe that the queue is empty.
        ``on_progress`` is told every few seconds, and at the end, the counts since the last time;
        it should be quick. The report that ``run`` returns is the sum, and alone says if tasks
        remain.

        Raises StoreUnavailable if that kept the run from claiming anything, QueueMisconfigured, and
        ProcessUnusable, once whatever was in flight is settled.
        """
        with self._host.invocation():
            return self._run(
                time_limit=time_limit, woken_at=woken_at, on_progress=on_progress
            ).execute()

    def serve(self, *, on_progress: Callable[[RunReport], None] = lambda _: None) -> RunReport:
        """Work until ``stop`` is called, and go on polling an empty queue: for a process that is
        there for this alone. If the database does not answer, it is tried again. ``on_progress`` is
        told every few seconds, also if nothing was done.

        Raises QueueMisconfigured and ProcessUnusable, once whatever was in flight is settled.
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
        """Have ``serve`` claim no more, and return once all is settled. It may be called from any
        thread, or a signal's handler. Tasks that are still at work after ``grace`` seconds are
        handed back to the queue, and the attempt does not count. Their handlers' threads go on
        until the process ends."""
        self._grace = grace
        if self._serving is not None:
            self._serving.stop(grace)

    @property
    def idle(self) -> bool:
        """True if ``serve`` holds no task."""
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
            self._process,
            time_limit=time_limit,
            woken_at=woken_at,
            until_stopped=until_stopped,
            on_progress=on_progress,
        )
