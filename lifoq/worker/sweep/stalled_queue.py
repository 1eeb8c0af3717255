"""The stall watch: tells if tasks wait and nobody claims any.

It judges from the table, sweep after sweep. A claim leaves few traces there, since a task that
succeeded is in no index. A claim is seen while its lease runs, or by a task that waited at the last
sweep and has been claimed since. So a queue that seems to stand still is watched for some seconds.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from lifoq.basics.host import SYSTEM, Host, microseconds
from lifoq.health.statistics import CAP
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.store.reads import Reads
from lifoq.store.table_protocol import Span
from lifoq.worker.handlers.registry import Registry, TaskType
from lifoq.worker.known_types import ALL_TYPES, Types
from lifoq.worker.settings import WorkerSettings

STALL_PATIENCE: Final = 300.0
"""Seconds without a claim after which the queue stands still: beyond a cold start, a lost kick,
and a deployment."""
STARTS_MISSED: Final = 10
"""Starts that a slow rate limit may miss before the queue stands still: at one start in 100 s, that
takes 1,000 s."""
WATCH: Final = 2.0
"""Seconds for which a queue is watched that seems to stand still."""
GLANCE: Final = 0.1
"""Seconds between two glances of a watch."""
SAMPLE: Final = 10
"""Rows that are read of the newest waiting tasks, which are claimed next, and of those that workers
hold."""
UNCLAIMED: Final = frozenset({Status.PENDING.value, Status.CANCELLED.value})


def patience(settings: WorkerSettings, registry: Registry) -> float:
    """Return the seconds without a claim after which the queue stands still. They are more if a
    rate limit, a rate per key, the hours or the cooldown of a type let tasks start rarely."""
    rates = [rate for kind in registry for rate in kind.rates]
    slowest = min(settings.rate_limit or 1.0, *(rate.per_second for rate in rates), 1.0)
    # After a task that weighs as much as the limit, nothing starts for so long.
    paid = (rate.seconds for rate in rates if rate.of is not None)
    # Where all that waits is of one key, nothing is claimed for an interval, and all is well.
    intervals = (1 / kind.rate_per_key for kind in registry if kind.rate_per_key is not None)
    closed = (_closed_for(kind) for kind in registry if kind.hours is not None)
    cooldowns = (kind.cooldown for kind in registry if kind.cooldown is not None)
    longest = max(*intervals, *closed, *cooldowns, *paid, 0.0, 0.0)
    return max(STALL_PATIENCE + longest, STARTS_MISSED / slowest)


def _closed_for(kind: TaskType) -> float:
    from lifoq.worker.gates.hours import Window  # noqa: PLC0415 - not where no type has hours

    return Window.of(kind).closed_for


class StallWatch:
    """Remembers from sweep to sweep since when no claim was seen. Tasks of a type that no worker
    has do not count: the sweep tells of them elsewhere."""

    def __init__(
        self,
        store: Reads,
        *,
        patience: float,
        types: Types = ALL_TYPES,
        host: Host = SYSTEM,
    ) -> None:
        """``types``: the task types that the processor handles. ``patience`` in seconds."""
        self._types = types
        self._store = store
        self._patience = microseconds(patience)
        self._host = host
        self._waited: tuple[str, ...] = ()
        """Ids of tasks that waited at the last sweep."""
        self._since: int | None = None
        """Monotonic microseconds since when tasks have waited without a claim; None if none
        waits."""

    def stalled(self) -> bool:
        """Return True if the queue stands still. Call it once a sweep. Raises StoreUnavailable and
        QueueMisconfigured."""
        with self._host.invocation():
            return self._stalled()

    def _stalled(self) -> bool:
        now = self._host.monotonic()
        before, self._waited = self._waited, self._newest_waiting()
        if not self._waited:
            self._since = None
        elif self._since is None or self._held() or self._claimed(before) or self._watched():
            self._since = now
        return self._since is not None and now - self._since > self._patience

    def _newest_waiting(self) -> tuple[str, ...]:
        rows = islice(self._store.browse(Status.PENDING, live=True, page=SAMPLE), CAP)
        known = (i for i, row in rows if self._types.knows(str(row.get(Attribute.TASK_TYPE))))
        return tuple(islice(known, SAMPLE))

    def _claimed(self, waited: Iterable[str]) -> bool:
        """Return True if one of these tasks has been claimed since it waited."""
        items = self._store.table.get_many(list(waited))
        return any(item.get(Attribute.TASK_STATUS) not in UNCLAIMED for item in items)

    def _watched(self) -> bool:
        """Return True if a worker holds a task now or in the next moments. A short task under a
        rate limit is TAKEN for a small part of the time only."""
        until = self._host.monotonic() + microseconds(WATCH)
        while not self._held():
            if self._host.monotonic() >= until:
                return False
            self._host.sleep(GLANCE)
        return True

    def _held(self) -> bool:
        """Return True if there is a lease that has not run out."""
        taken = Span(index=STATUS_CREATED_INDEX, status=Status.TAKEN)
        rows = self._store.table.query(taken, newest_first=True, limit=SAMPLE).rows
        items = self._store.table.get_many([str(row[Attribute.TASK_ID]) for row in rows])
        now = self._store.now()
        return any(_lease(item.get(Attribute.LEASE_EXPIRES)) > now for item in items)


def _lease(value: object) -> int:
    return value if isinstance(value, int) else 0
