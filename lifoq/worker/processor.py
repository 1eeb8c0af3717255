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
from lifoq.store.candidate import Candidate
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
    """Claims the newest tasks of a queue, runs them, and settles each on its own. ``run`` and
    ``serve`` belong to one thread. ``stop`` and ``idle`` may be called from any thread.

    Examples:
        >>> from lifoq import REGISTRY, Processor, Queue, WorkerSettings, task
        >>> @task("device.check")
        ... def check(payload, context):
        ...     return "on"
        >>> queue = Queue.in_memory()
        >>> put = queue.put("device.check", task_id="d-17")
        >>> Processor(queue.store, REGISTRY, WorkerSettings(linger=0)).run().succeeded
        1
    """

    def __init__(
        self,
        store: Store,
        registry: Registry,
        settings: WorkerSettings,
        *,
        host: Host = SYSTEM,
        draw: random.Random | None = None,
    ) -> None:
        """Set the process up for the registry's tasks, once.

        Args:
            store: The operations on the queue's table: ``queue.store``.
            registry: The task types to run.
            settings: The limits and times of this worker.
            host: The clock and the threads.
            draw: The source of jitter.

        Raises:
            InvalidInput: A task type could never start.
            Exception: Any error of the set-up.
        """
        self._process = ProcessState.of(
            store, registry, settings, host=host, draw=draw or random.Random()
        )
        self._host = host
        self._serving: Run | None = None
        self._latest: Run | None = None
        """The run that ``run`` began last, which knows why a task waits."""
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

        Args:
            time_limit: Seconds after which the caller is killed; the run is over before. None: no
                limit.
            woken_at: The time of the kick that started the run, in epoch microseconds; by default
                now. If the kick is older than ``linger``, one poll is enough to believe that the
                queue is empty.
            on_progress: Called every few seconds, and at the end, with the counts since the last
                time. It should be quick. The report that ``run`` returns is the sum, and alone says
                if tasks remain.

        Raises:
            InvalidInput: No task of any type has its time within ``time_limit``.
            StoreUnavailable: The database did not answer, so that the run claimed nothing.
            QueueMisconfigured: The table cannot be worked on.
            ProcessUnusable: Handlers hang in all slots, of the worker or of a task type, or no
                thread can be started. It is raised once whatever was in flight is settled.

        Examples:
            >>> settings = WorkerSettings(linger=0, task_timeout=10)
            >>> Processor(queue.store, REGISTRY, settings).run(time_limit=60).claimed
            0
        """
        self._process.check_time_limit(time_limit)
        with self._host.invocation():
            self._latest = self._run(
                time_limit=time_limit, woken_at=woken_at, on_progress=on_progress
            )
            return self._latest.execute()

    def serve(self, *, on_progress: Callable[[RunReport], None] = lambda _: None) -> RunReport:
        """Work until ``stop`` is called, and go on polling an empty queue: for a process that is
        there for this alone. If the database does not answer, it is tried again.

        Args:
            on_progress: Called every few seconds with the counts since the last time, also if
                nothing was done.

        Raises:
            QueueMisconfigured: The table cannot be worked on. It is raised once whatever was in
                flight is settled.
            ProcessUnusable: Handlers hang in all slots of the worker: raised as above. Or in all
                slots of a task type: raised once ``stop`` is called, as other types go on.

        Examples:
            >>> processor = Processor(queue.store, REGISTRY, WorkerSettings(in_flight=20))
            >>> processor.serve(on_progress=print)  # doctest: +SKIP
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
        thread, or by a signal's handler.

        Args:
            grace: Seconds that running tasks have to finish. Tasks that are still at work then are
                handed back to the queue, and the attempt does not count. Their handlers' threads go
                on until the process ends.

        Examples:
            >>> processor = Processor(queue.store, REGISTRY, WorkerSettings())
            >>> signal.signal(signal.SIGTERM, lambda *_: processor.stop(grace=30))  # doctest: +SKIP
        """
        self._grace = grace
        if self._serving is not None:
            self._serving.stop(grace)

    def reasons(self, row: Candidate) -> list[tuple[str, str]]:
        """Return why the latest ``run`` does not start a task: the names of the gates that hold it
        back, and what they say. ``row``: the task's row of the index."""
        return [] if self._latest is None else self._latest.reasons(row)

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
