"""The pressure on a queue: what a producer may want to know before it puts.

Read from few rows, whatever waits. What was shed lies in the index, just past the deadline. What
was started does not, since a task that succeeded is in no index: workers note it, all in one item,
a few times a minute while they are busy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from lifoq.basics import jsontext, records
from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.health import sweep_note as notes
from lifoq.items.change import AtMost, Change, ConditionFailed, Equals, Item
from lifoq.items.schema import OWN_PREFIX, STATUS_CREATED_INDEX, Attribute, Status
from lifoq.store.base import StoreBase
from lifoq.store.table_protocol import Span

NOTE: Final = f"{OWN_PREFIX}starts"
"""The id of the workers' item. No task has such an id."""
NOTE_EVERY: Final = 20.0
"""Seconds between two notes of a worker."""
RECENT: Final = 90.0
"""Seconds for which a note tells of the present."""
SHED_FOR: Final = 60.0
"""Seconds for which a shed task counts as recent. They are fewer than ``RECENT`` by more than
``NOTE_EVERY``: so starts, which a worker notes up to that late, are never forgotten first."""
TRIES: Final = 3
"""Tries of a note, where other workers are faster."""
SAMPLE: Final = 100
"""Rows that are read of what was shed, at the most."""


@dataclass(frozen=True, kw_only=True)
class Starts:
    """The tasks that one worker has started."""

    seconds: float
    """The stretch in which they were started, in seconds."""
    number: int
    wait: float | None
    """The mean wait from the put to the first start, in seconds; None where it only retried."""
    at: int = 0
    """The end of the stretch, in epoch microseconds, as the note has it."""


@dataclass(frozen=True, kw_only=True)
class Pressure:
    """The fate of tasks in the last minutes: shed or started.

    Examples:
        >>> pressure = queue.pressure()
        >>> if pressure.shed_share < 0.5:
        ...     task = queue.put("price.refresh", {"sku": "4711"})
    """

    shed_share: float
    """The share, from 0 to 1, of the tasks started or shed that were shed; 0 if no worker has told
    of a start lately. A task is shed at its deadline: so this tells of tasks that were put as long
    ago."""
    starts_per_second: float | None
    """The starts per second by all workers together, as they told. If tasks are shed, this is what
    the workers can do. None if no worker has told of any in the last 90 seconds: it tells while a
    run lasts 20 seconds or more, and when one leaves tasks behind, so that nothing is told where
    each task is done at once."""
    wait_seconds: float | None
    """The mean wait from the put to the start, in seconds, of the tasks that were started; None if
    none was."""


def note(
    store: StoreBase,
    starts: Starts,
    *,
    host: Host,
    item: Item | None = None,
    also: Callable[[Item | None], Mapping[Attribute, Any]] = lambda _: {},
) -> None:
    """Add to what workers have noted, and drop what is no longer recent. Where others are faster
    each time it is left out. ``item``: the workers' item, where it was read before; else it is read
    now. ``also``: other attributes that the worker keeps in the item, by how it is now."""
    item, now = store.table.get(NOTE) if item is None else item, store.now()
    for _ in range(TRIES):
        rows = [*_recent(item, now=now), replace(starts, at=now)]
        change = Change(
            when=(Equals(Attribute.CLAIM_ID, str((item or {}).get(Attribute.CLAIM_ID))),),
            creates=True,
            set={
                Attribute.PAYLOAD: jsontext.encode([asdict(row) for row in rows], "note"),
                Attribute.CLAIM_ID: host.new_id(),
                Attribute.TTL: now // MICROSECONDS + notes.NOTE_KEPT,
                **also(item),
            },
        )
        try:
            store.table.update(NOTE, change)
        except ConditionFailed as refused:
            item = refused.item
        else:
            return


def measure(store: StoreBase, *, now: int) -> Pressure:
    """Measure the pressure at ``now`` (epoch microseconds). Reads two items, and ``SAMPLE`` rows of
    the index at the most."""
    started, wait = _started(_recent(store.table.get(NOTE), now=now))
    shed = _shed(store, now)
    return Pressure(
        shed_share=_share(shed, started),
        starts_per_second=started,
        wait_seconds=wait,
    )


def together(one: Pressure, other: Pressure) -> Pressure:
    """Return the pressure on two queues as one: over all that was started or shed in them."""
    both = (one, other)
    told = [(each, each.starts_per_second) for each in both if each.starts_per_second is not None]
    shed = sum(starts * each.shed_share / (1 - each.shed_share) for each, starts in told)
    started = sum(starts for _, starts in told) if told else None
    return Pressure(
        shed_share=_share(shed, started),
        starts_per_second=started,
        wait_seconds=_mean([(each.wait_seconds, starts) for each, starts in told]),
    )


def _share(shed: float, started: float | None) -> float:
    return shed / (shed + started) if started else 0.0


def _mean(waits: Sequence[tuple[float | None, float]]) -> float | None:
    """Return the mean of the waits that are known, each with its weight; None if none is."""
    known = [(wait, weight) for wait, weight in waits if wait is not None]
    total = sum(weight for _, weight in known)
    return sum(wait * weight for wait, weight in known) / total if total else None


def _started(rows: list[Starts]) -> tuple[float | None, float | None]:
    """Return the starts per second, and the mean wait in seconds; None where none were told."""
    if not rows:
        return None, None
    until = max(row.at for row in rows)
    since = min(row.at - microseconds(row.seconds) for row in rows)
    wait = _mean([(row.wait, row.number) for row in rows])
    return sum(row.number for row in rows) * MICROSECONDS / max(1, until - since), wait


def _shed(store: StoreBase, now: int) -> float:
    """Return the tasks shed per second, by the queue's own deadline. A task with an earlier one of
    its own lies further up in the index, and is counted when it comes by here, unless TTL is
    faster."""
    noted = notes.read(store).shed_since(notes.lately(now))
    deleted = sum(number for _, number in noted) / notes.LATELY
    if store.lifetimes.shed_at_deadline:
        return deleted  # what lies in the index is what the next sweep deletes
    past = store.lifetimes.oldest_alive(now)
    span = Span(
        index=STATUS_CREATED_INDEX,
        status=Status.PENDING,
        first=past - microseconds(SHED_FOR),
        last=past,
        where=(AtMost(Attribute.EXPIRES_AT, now),),
    )
    page = store.table.query(span, newest_first=True, limit=SAMPLE)
    seconds = SHED_FOR
    if page.next is not None:
        seconds = max(1e-6, (past - int(page.next[Attribute.TASK_CREATED])) / MICROSECONDS)
    return deleted + len(page.rows) / seconds


def _recent(item: Item | None, *, now: int) -> list[Starts]:
    """Return the rows of the workers' item that tell of the present, without those that cannot be
    read."""
    rows = records.decode_all((item or {}).get(Attribute.PAYLOAD), Starts)
    return [row for row in rows if now - row.at < microseconds(RECENT)]
