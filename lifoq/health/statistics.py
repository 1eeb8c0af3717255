"""The statistics of a queue at the moment."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Final

from lifoq.basics.host import MICROSECONDS
from lifoq.health import sweep_note as notes
from lifoq.health.sweep_note import Note
from lifoq.items.change import AtMost, GreaterThan
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.metrics import Metric
from lifoq.store.reads import Reads
from lifoq.store.table import Count, Span

CAP: Final = 10_000
"""Rows that one count reads at the most, some 100 read units."""


@dataclass(frozen=True, kw_only=True)
class QueueStats:
    """The numbers of a queue at the moment. Counts stop at a cap, and say so. SUCCESS and CANCELLED
    tasks are in no index: the report over exports counts them."""

    pending: Count
    """PENDING tasks, with those that have expired and that TTL has not deleted yet."""
    live: Count
    """PENDING tasks that can still be claimed."""
    expired_present: Count
    """PENDING tasks past their deadline."""
    shed_lately: Count
    """Tasks whose deadline passed while they waited, in the last ``LATELY`` seconds."""
    delayed: Count
    taken: Count
    failure: Count
    failed_lately: Count
    """FAILURE tasks that are no older than the deadline."""
    newest_waiting_seconds: float | None
    """The age in seconds of the newest task that waits to be claimed; None where none does."""
    oldest_waiting_seconds: float | None
    deadline_seconds: float
    """The queue's deadline, in seconds."""
    unknown_types: tuple[str, ...] = ()
    """Task types that wait, and for which no worker is known to have a handler, as the latest sweep
    found them; 20 at the most."""
    stalled: bool = False
    """True if tasks wait and none is claimed, as the latest sweep found."""

    def counts(self) -> dict[Metric, Count]:
        """Return the counts that are told as metrics."""
        return {
            Metric.TASKS_PENDING: self.live,
            Metric.TASKS_DELAYED: self.delayed,
            Metric.TASKS_TAKEN: self.taken,
            Metric.TASKS_IN_FAILURE: self.failure,
            Metric.TASKS_EXPIRED_PRESENT: self.expired_present,
        }

    def ages(self) -> dict[Metric, float]:
        """Return the ages that are told as metrics, in seconds."""
        return {
            Metric.NEWEST_WAITING_AGE: self.newest_waiting_seconds or 0.0,
            Metric.OLDEST_WAITING_AGE: self.oldest_waiting_seconds or 0.0,
        }


def measure(store: Reads, *, now: int, cap: int = CAP, note: Note | None = None) -> QueueStats:
    """Count and measure; ``now`` in epoch microseconds. ``note``: the latest sweep's, where it has
    been read."""
    note = notes.read(store) if note is None else note

    def age(*, newest: bool) -> float | None:
        since = store.waits_since(newest=newest, cap=cap)
        return None if since is None else max(0.0, (now - since) / MICROSECONDS)

    def expired(*, first: int | None = None, since: int = 0) -> Count:
        """Count the tasks past their deadline, from the oldest row on: behind a mountain of those
        that still wait, the cap would leave none of these."""
        where = (GreaterThan(Attribute.EXPIRES_AT, since), AtMost(Attribute.EXPIRES_AT, now))
        return count(Status.PENDING, newest_first=False, first=first, where=where)

    def count(status: Status, *, newest_first: bool = True, **narrowed: Any) -> Count:
        found = Span(index=STATUS_CREATED_INDEX, status=status, **narrowed)
        return store.table.count(found, cap=cap, newest_first=newest_first)

    oldest_alive = store.lifetimes.oldest_alive
    lately = notes.lately(now)
    gone = sum(number for _, number in note.shed_since(lately))
    return QueueStats(
        pending=count(Status.PENDING),
        live=store.count_live(cap=cap),
        expired_present=expired(),
        shed_lately=expired(first=oldest_alive(lately), since=lately)
        + Count(value=gone, capped=False),
        delayed=store.count(Status.DELAYED, cap=cap),
        taken=count(Status.TAKEN),
        failure=count(Status.FAILURE),
        failed_lately=count(Status.FAILURE, first=oldest_alive(now)),
        newest_waiting_seconds=age(newest=True),
        oldest_waiting_seconds=age(newest=False),
        deadline_seconds=store.lifetimes.deadline,
        unknown_types=note.unknown_types,
        stalled=note.stalled,
    )


def _counts(stats: QueueStats) -> Iterator[tuple[str, Any]]:
    values = ((field.name, getattr(stats, field.name)) for field in fields(stats))
    return ((name, value) for name, value in values if isinstance(value, Count))


def together(one: QueueStats, other: QueueStats) -> QueueStats:
    """The numbers of two queues as one."""
    newest = [one.newest_waiting_seconds, other.newest_waiting_seconds]
    oldest = [one.oldest_waiting_seconds, other.oldest_waiting_seconds]
    return QueueStats(
        **{name: count + getattr(other, name) for name, count in _counts(one)},
        newest_waiting_seconds=min((age for age in newest if age is not None), default=None),
        oldest_waiting_seconds=max((age for age in oldest if age is not None), default=None),
        deadline_seconds=max(one.deadline_seconds, other.deadline_seconds),
        stalled=one.stalled or other.stalled,
        unknown_types=tuple(sorted({*one.unknown_types, *other.unknown_types})),
    )
