"""The statistics of a queue at the moment."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from lifoq.basics.host import MICROSECONDS
from lifoq.health import sweep_note as notes
from lifoq.health.sweep_note import Note
from lifoq.items.change import AtMost, GreaterThan
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.metrics import Metric
from lifoq.store.reads import Reads
from lifoq.store.table_protocol import LARGEST_PAGE, Count, Span

if TYPE_CHECKING:
    from lifoq.health.found_limits import TypeLimit

CAP: Final = 10_000
"""Rows that one count reads at the most, some 100 read units."""


@dataclass(frozen=True, kw_only=True)
class QueueStats:
    """The numbers of a queue at the moment. Counts stop at a cap, and say so. SUCCESS and CANCELLED
    tasks are in no index: the report over exports counts them.

    Examples:
        >>> task = queue.put("device.check")
        >>> stats = queue.stats()
        >>> stats.live.value, stats.failure.value, stats.deadline_seconds
        (1, 0, 3600)
    """

    pending: Count
    """PENDING tasks, with those that have expired and that TTL has not deleted yet."""
    live: Count
    """PENDING tasks that can still be claimed."""
    expired_present: Count
    """PENDING tasks past their deadline."""
    shed_lately: Count
    """Tasks whose deadline passed while they waited, in the last five minutes (``LATELY``
    seconds)."""
    delayed: Count
    """DELAYED tasks: delayed puts, and retries that back off."""
    taken: Count
    """TAKEN tasks: claimed by a worker."""
    failure: Count
    """FAILURE tasks, until their retention is over."""
    failed_lately: Count
    """FAILURE tasks that are no older than the deadline."""
    newest_waiting_seconds: float | None
    """The age in seconds of the newest task that waits to be claimed; None if none does."""
    oldest_waiting_seconds: float | None
    """The age in seconds of the oldest task that waits to be claimed; None if none does."""
    deadline_seconds: float
    """The queue's deadline, in seconds."""
    last_shed_seconds: float | None = None
    """Seconds since the latest task of ``shed_lately`` was shed; None where there is none, or where
    so many wait that it was not looked for among all."""
    unknown_types: tuple[str, ...] = ()
    """Task types that wait, and for which no worker is known to have a handler, as the latest sweep
    found them; 20 at the most."""
    unknown_waiting: int = 0
    """The number of tasks of such types that wait, as the latest sweep found them."""
    stalled: bool = False
    """True if tasks wait and none is claimed, as the latest sweep found."""
    adaptive_limits: "tuple[TypeLimit, ...]" = ()
    """The tasks at a time that workers found, for each task type with adaptive concurrency."""

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
        that still wait, the cap would leave few of these. Tasks with early deadlines of their own
        may lie before such a mountain instead: so a count that met the cap is made from the newest
        row on, too, and the greater one counts."""
        where = (GreaterThan(Attribute.EXPIRES_AT, since), AtMost(Attribute.EXPIRES_AT, now))
        found = count(Status.PENDING, newest_first=False, first=first, where=where)
        if found.capped:
            from_newest = count(Status.PENDING, first=first, where=where)
            found = max(found, from_newest, key=lambda one: one.value)
        return found

    def count(status: Status, *, newest_first: bool = True, **narrowed: Any) -> Count:
        found = Span(index=STATUS_CREATED_INDEX, status=status, **narrowed)
        return store.table.count(found, cap=cap, newest_first=newest_first)

    oldest_alive = store.lifetimes.oldest_alive
    lately = notes.lately(now)
    gone = note.shed_since(lately)
    shed_lately = expired(first=oldest_alive(lately), since=lately) + Count(
        value=sum(number for _, number in gone), capped=False
    )
    latest = _latest_shed(store, now=now, lately=lately) if shed_lately.value else None
    if latest is not None:
        latest = max([latest, *(at for at, _ in gone)])
    return QueueStats(
        pending=count(Status.PENDING),
        live=store.count_live(cap=cap),
        expired_present=expired(),
        shed_lately=shed_lately,
        delayed=store.count(Status.DELAYED, cap=cap),
        taken=count(Status.TAKEN),
        failure=count(Status.FAILURE),
        failed_lately=count(Status.FAILURE, first=oldest_alive(now)),
        newest_waiting_seconds=age(newest=True),
        oldest_waiting_seconds=age(newest=False),
        deadline_seconds=store.lifetimes.deadline,
        last_shed_seconds=None if latest is None else max(0.0, (now - latest) / MICROSECONDS),
        unknown_types=note.unknown_types,
        unknown_waiting=note.unknown_waiting,
        stalled=note.stalled,
    )


def _latest_shed(store: Reads, *, now: int, lately: int) -> int | None:
    """Return the latest deadline since ``lately`` of a task that is past it and still there, or
    ``lately`` if there is none; epoch microseconds. None if it cannot be told from one page, since
    tasks wait before those that were shed."""
    span = Span(
        index=STATUS_CREATED_INDEX,
        status=Status.PENDING,
        first=store.lifetimes.oldest_alive(lately),
        where=(GreaterThan(Attribute.EXPIRES_AT, lately),),
    )
    page = store.table.query(span, newest_first=True, limit=LARGEST_PAGE)
    deadlines = [row.get(Attribute.EXPIRES_AT) for row in page.rows]
    past = [one for one in deadlines if isinstance(one, int) and one <= now]
    if page.next is not None and len(past) < len(deadlines):
        return None
    return max([lately, *past])


def _counts(stats: QueueStats) -> Iterator[tuple[str, Any]]:
    values = ((field.name, getattr(stats, field.name)) for field in fields(stats))
    return ((name, value) for name, value in values if isinstance(value, Count))


def together(one: QueueStats, other: QueueStats) -> QueueStats:
    """The numbers of two queues as one."""
    from lifoq.health import found_limits  # noqa: PLC0415 - one queue needs it not

    newest = [one.newest_waiting_seconds, other.newest_waiting_seconds]
    oldest = [one.oldest_waiting_seconds, other.oldest_waiting_seconds]
    shed = [each.last_shed_seconds for each in (one, other) if each.shed_lately.value]
    known_shed = [ago for ago in shed if ago is not None]
    return QueueStats(
        **{name: count + getattr(other, name) for name, count in _counts(one)},
        newest_waiting_seconds=min((age for age in newest if age is not None), default=None),
        oldest_waiting_seconds=max((age for age in oldest if age is not None), default=None),
        deadline_seconds=max(one.deadline_seconds, other.deadline_seconds),
        last_shed_seconds=min(known_shed) if known_shed and known_shed == shed else None,
        stalled=one.stalled or other.stalled,
        unknown_waiting=one.unknown_waiting + other.unknown_waiting,
        unknown_types=tuple(sorted({*one.unknown_types, *other.unknown_types})),
        adaptive_limits=found_limits.together(one.adaptive_limits, other.adaptive_limits),
    )
