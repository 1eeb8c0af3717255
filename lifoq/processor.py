"""The processor: claims the newest tasks, runs them, and settles each on its own.

One thread (the caller's) decides everything: it looks for tasks on free capacity, has them claimed,
sends heartbeats, ends what takes too long, and brings in due tasks (see ``run``). Each task that it
chose is claimed, run and settled in a thread beside it, which reports back through a mailbox (see
``attempt``).
"""

import random

from lifoq.errors import InvalidInput
from lifoq.host import SYSTEM, Host
from lifoq.limits import Rates, Room, TokenBucket
from lifoq.order import Order
from lifoq.registry import Registry
from lifoq.run import Run
from lifoq.store import Store
from lifoq.worker import RunReport, WorkerSettings


class Processor:
    """Runs the registry's tasks. One at a time may run; the rate and the order outlive a run."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        settings: WorkerSettings,
        *,
        host: Host = SYSTEM,
        draw: random.Random | None = None,
    ) -> None:
        """Raises InvalidInput for a task type that could never start."""
        self._store = store
        self._registry = registry
        self._settings = settings
        self._host = host
        self._draw = draw or random.Random()
        self._rates = Rates(
            of_all=_bucket(settings.rate_limit, host),
            by_type={kind.name: _bucket(kind.rate_limit, host) for kind in registry},
            rooms={kind.name: Room(host) for kind in registry},
        )
        self._order = Order(settings.adaptive_threshold, host)
        for kind in registry:
            if kind.timeout is not None and kind.timeout > settings.task_timeout:
                raise InvalidInput(
                    f"{kind.name}.timeout",
                    kind.timeout,
                    f"is beyond the worker's task_timeout of {settings.task_timeout:g} s; "
                    "raise task_timeout_seconds of the stage, or shorten the task",
                )

    def run(self, *, time_limit: float | None = None, woken_at: int | None = None) -> RunReport:
        """Work until the queue is empty or the window is over, and every task is settled.

        ``time_limit``: seconds after which the caller is killed; the run is over before.
        ``woken_at``: epoch microseconds of the kick that started it. Where that lies back further
        than an empty queue is watched, one look at it is enough; without it, as if it were now.
        Raises StoreUnavailable or QueueMisconfigured where that kept it from claiming anything,
        once whatever was in flight is settled.
        """
        return Run(
            store=self._store,
            registry=self._registry,
            settings=self._settings,
            rates=self._rates,
            order=self._order,
            host=self._host,
            draw=self._draw,
            time_limit=time_limit,
            woken_at=woken_at,
        ).execute()


def _bucket(rate: float | None, host: Host) -> TokenBucket | None:
    return None if rate is None else TokenBucket(rate, host)
