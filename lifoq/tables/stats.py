"""What a queue looks like at the moment."""

from dataclasses import dataclass
from typing import Final

from lifoq.basics.host import MICROSECONDS
from lifoq.items.change import AtMost
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.metrics import Metric
from lifoq.tables import unknown_types
from lifoq.tables.store import Store
from lifoq.tables.table import Count, Span

CAP: Final = 10_000
"""Rows that one count reads at the most, some 100 read units."""


@dataclass(frozen=True, kw_only=True)
class QueueStats:
    """Counts stop at a cap, and say so. SUCCESS and CANCELLED tasks are in no index: the report
    over exports counts them."""

    pending: Count
    """Including those that have expired, which TTL has not deleted yet."""
    live: Count
    """PENDING tasks that can still be claimed."""
    expired_present: Count
    """PENDING tasks past their deadline."""
    delayed: Count
    taken: Count
    failure: Count
    newest_waiting_seconds: float | None
    """Age of the newest task that waits to be claimed; None where none does."""
    oldest_waiting_seconds: float | None
    unknown_types: tuple[str, ...] = ()
    """Task types that wait, and for which no worker is known to have a handler, as the latest sweep
    found them; 20 at the most."""

    def counts(self) -> dict[Metric, Count]:
        """What is told as metrics."""
        return {
            Metric.TASKS_PENDING: self.live,
            Metric.TASKS_DELAYED: self.delayed,
            Metric.TASKS_TAKEN: self.taken,
            Metric.TASKS_IN_FAILURE: self.failure,
            Metric.TASKS_EXPIRED_PRESENT: self.expired_present,
        }

    def ages(self) -> dict[Metric, float]:
        """What is told as metrics, in seconds."""
        return {
            Metric.NEWEST_WAITING_AGE: self.newest_waiting_seconds or 0.0,
            Metric.OLDEST_WAITING_AGE: self.oldest_waiting_seconds or 0.0,
        }


def measure(store: Store, *, now: int, cap: int = CAP) -> QueueStats:
    """Count and measure; ``now`` in epoch microseconds."""

    def age(*, newest: bool) -> float | None:
        created = store.end_of_line(newest=newest)
        return None if created is None else max(0.0, (now - created) / MICROSECONDS)

    expired = Span(
        index=STATUS_CREATED_INDEX,
        status=Status.PENDING,
        where=(AtMost(Attribute.EXPIRES_AT, now),),
    )
    return QueueStats(
        pending=store.count(Status.PENDING, cap=cap),
        live=store.count_live(cap=cap),
        expired_present=store.table.count(expired, cap=cap),
        delayed=store.count(Status.DELAYED, cap=cap),
        taken=store.count(Status.TAKEN, cap=cap),
        failure=store.count(Status.FAILURE, cap=cap),
        newest_waiting_seconds=age(newest=True),
        oldest_waiting_seconds=age(newest=False),
        unknown_types=unknown_types.noted(store),
    )


def together(one: QueueStats, other: QueueStats) -> QueueStats:
    """The numbers of two queues as one."""
    newest = [one.newest_waiting_seconds, other.newest_waiting_seconds]
    oldest = [one.oldest_waiting_seconds, other.oldest_waiting_seconds]
    return QueueStats(
        pending=one.pending + other.pending,
        live=one.live + other.live,
        expired_present=one.expired_present + other.expired_present,
        delayed=one.delayed + other.delayed,
        taken=one.taken + other.taken,
        failure=one.failure + other.failure,
        newest_waiting_seconds=min((age for age in newest if age is not None), default=None),
        oldest_waiting_seconds=max((age for age in oldest if age is not None), default=None),
        unknown_types=tuple(sorted({*one.unknown_types, *other.unknown_types})),
    )
