"""The processor: claims the newest tasks, runs them, and settles each on its own.

One thread (the caller's) decides everything and makes no call itself (see ``run``); whatever it
decides is done in threads beside it, which report back through a mailbox.
"""

import logging
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from lifoq.basics.host import SYSTEM, Host
from lifoq.errors import InvalidInput, StoreUnavailable
from lifoq.tables.claims import Claims
from lifoq.tables.store import Store
from lifoq.worker.limits import Limits
from lifoq.worker.order import Order
from lifoq.worker.registry import Registry
from lifoq.worker.report import RunReport
from lifoq.worker.run import Run
from lifoq.worker.settings import WorkerSettings
from lifoq.worker.types import Types

if TYPE_CHECKING:
    from lifoq.worker.fair_shares import FairShares
    from lifoq.worker.limit_share import LimitShares

log = logging.getLogger("lifoq.processor")

UNAVAILABLE_PAUSE: Final = 5.0
"""Seconds until ``serve`` tries again, where the database did not answer."""


class Processor:
    """Runs the registry's tasks, one run at a time. The limits and the order outlive a run: a slot
    is taken until its handler has returned."""

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
        self._store = store
        self._registry = registry
        self._settings = settings
        self._host = host
        self._draw = draw or random.Random()
        self._limits = Limits(
            registry,
            in_flight=settings.in_flight,
            rate_limit=settings.rate_limit,
            host=host,
            total_in_flight=settings.total_in_flight,
            limit_shares=self._limit_shares() if settings.shared_limits else None,
        )
        self._order = Order(settings.adaptive_threshold, host)
        types = Types.of(registry, settings)
        self._serving: Run | None = None
        self._grace: float | None = None
        """Seconds that the stop that was asked for leaves to handlers."""
        self._fair_shares = _fair_shares() if settings.fair_share else None
        self._claims = self._claims_of(registry)
        for kind in registry:
            timeout = kind.timeout if types.has(kind.name) else None
            if timeout is not None and timeout > settings.task_timeout:
                raise InvalidInput(
                    f"{kind.name}.timeout",
                    timeout,
                    f"is beyond the worker's task_timeout of {settings.task_timeout:g} s; "
                    "raise task_timeout_seconds of the stage, or shorten the task",
                )
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
            store=self._store,
            registry=self._registry,
            settings=self._settings,
            limits=self._limits,
            order=self._order,
            claims=self._claims,
            fair_shares=self._fair_shares,
            types=Types.of(self._registry, self._settings),
            host=self._host,
            draw=self._draw,
            time_limit=time_limit,
            woken_at=woken_at,
            until_stopped=until_stopped,
            on_progress=on_progress,
        )

    def _limit_shares(self) -> "LimitShares | None":
        settings = self._settings
        limits = [settings.rate_limit, settings.total_in_flight]
        limits += [limit for kind in self._registry for limit in (kind.in_flight, kind.rate_limit)]
        if all(limit is None for limit in limits):
            return None
        from lifoq.worker.limit_share import LimitShares  # noqa: PLC0415 - a cold start less to import

        return LimitShares(self._store, lease=settings.lease, host=self._host)

    def _claims_of(self, registry: Registry) -> Claims:
        if all(kind.per_key is None for kind in registry):
            return Claims(self._store, host=self._host)
        from lifoq.tables.keyed import KeyedClaims  # noqa: PLC0415 - a cold start less to import

        return KeyedClaims(self._store, host=self._host)


def _fair_shares() -> "FairShares":
    from lifoq.worker.fair_shares import FairShares  # noqa: PLC0415 - a cold start less to import

    return FairShares()
