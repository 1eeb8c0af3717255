"""Finds out why a task waits: from its item, from the rows before it, and from what operators, the
sweep and workers have noted in the table anyhow.

It is read when somebody asks: two items, one batch of notes and two queries, of which one counts
the newer tasks up to ``MOST_COUNTED`` rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lifoq.basics.host import MICROSECONDS
from lifoq.basics.times import iso, spoken
from lifoq.client.explanation import Explanation, Reason
from lifoq.errors import DamagedTask
from lifoq.health import pause_note, sweep_note, worker_notes
from lifoq.health.pressure import NOTE
from lifoq.health.worker_notes import TELLS_OF_WORK, WorkerNote
from lifoq.items import key_slots
from lifoq.items.change import Condition, Equals, Item
from lifoq.items.quota_table import NONE, QuotaTable, SharedLimit, quota_table_id
from lifoq.items.schema import Attribute, Status
from lifoq.items.task import Task
from lifoq.store.store import Store
from lifoq.store.table_protocol import Count

if TYPE_CHECKING:
    from lifoq.client.connection import SharedLimits

MOST_COUNTED: Final = 1_000
"""Rows that are read to count tasks, at the most."""
SLOTS_READ: Final = 10
"""Slots of a key that are read: the limit of a key is in the task code, and seldom higher."""
TYPES_NAMED: Final = 3
"""Task types without a worker that are named."""


def task(store: Store, task_id: str, limits: "SharedLimits | None") -> Explanation:
    """Explain one task. Raises StoreUnavailable, QueueMisconfigured."""
    try:
        found = store.get(task_id)
    except DamagedTask as damage:
        summary = (
            f"Its item cannot be read as a task: {damage.reason}. A worker puts it into FAILURE."
        )
        return Explanation(task_id=task_id, summary=summary)
    if found is None:
        return Explanation(
            task_id=task_id,
            summary="There is no such task: it was never put, was shed and deleted, or its "
            "retention is over.",
        )
    now = store.now()
    reasons: tuple[Reason, ...] = ()
    if found.waiting and found.expired(now):
        summary = (
            f"It was shed: its deadline passed {_ago(now, found.expires_at)}, and nobody starts it "
            "any more. It is deleted soon."
        )
    elif found.status is Status.PENDING:
        reasons = tuple(_reasons(store, found, limits, now))
        summary = _waits(reasons, now, since=found.enqueued_at)
    elif found.status is Status.TAKEN:
        summary = _at_work(store, found, now)
    else:
        summary = _delayed(found, now) if found.waiting else _ended(found, now)
    return Explanation(
        task_id=task_id,
        task_type=found.task_type,
        status=found.status,
        summary=summary,
        reasons=reasons,
    )


def tasks(store: Store, task_type: str | None, limits: "SharedLimits | None") -> Explanation:
    """Explain why tasks of a type wait, or tasks of any type (None). Raises StoreUnavailable,
    QueueMisconfigured."""
    where: tuple[Condition, ...] = ()
    if task_type is not None:
        where = (Equals(Attribute.TASK_TYPE, task_type),)
    whose = "" if task_type is None else f" of type {task_type}"
    oldest = store.waits_since(newest=False, where=where, reach=MOST_COUNTED)
    count = store.count_live(cap=MOST_COUNTED, where=where)
    if oldest is None and not count.value:
        read = f" among the {MOST_COUNTED:,} newest" if count.capped else ""
        return Explanation(task_type=task_type, summary=f"No task{whose} waits{read}.")
    now = store.now()
    notes = _Notes.read(store, task_type, None, limits)
    reasons = (*_of_queue(store, notes, now), *_of_types(notes, task_type), *_told(notes, now))
    if count.value:
        number = _number(count, f"task{whose}", f"tasks{whose}")
    else:  # the oldest is one, and none is among those that were counted
        number = f"tasks{whose} behind the {MOST_COUNTED:,} newest"
    waits = "waits" if count == Count(value=1, capped=False) else "wait"
    since = "" if oldest is None else f", the oldest for {_for(now, oldest)}"
    why = reasons[0].told(now) if reasons else _NOTHING_KNOWN
    return Explanation(
        task_type=task_type, summary=f"{number} {waits}{since}: {why}.", reasons=reasons
    )


def together(parts: Mapping[str, Explanation]) -> Explanation:
    """Return the explanations of several cells, by their names, as one."""
    waiting = {name: part for name, part in parts.items() if not part.summary.startswith("No task")}
    told = waiting or dict(list(parts.items())[:1])
    named = len(parts) > 1 and bool(waiting)
    return Explanation(
        task_type=next(iter(parts.values())).task_type,
        summary=" ".join(f"{n}: {p.summary}" if named else p.summary for n, p in told.items()),
        reasons=tuple(reason for part in waiting.values() for reason in part.reasons),
    )


_NOTHING_KNOWN: Final = "nothing is known to hold it back, and a worker starts it within seconds"


@dataclass(frozen=True, kw_only=True)
class _Notes:
    """The notes, slots and quota tables that lie beside the tasks."""

    items: Mapping[str, Item]
    task_type: str | None
    key: str | None
    limits: "SharedLimits | None"

    @classmethod
    def read(
        cls, store: Store, task_type: str | None, key: str | None, limits: "SharedLimits | None"
    ) -> "_Notes":
        wanted = [NOTE, sweep_note.NOTE, pause_note.ITEM]
        if limits is not None:
            wanted += [quota_table_id(name) for name in {"", task_type or ""}]
            wanted += [] if task_type is None else [quota_table_id(task_type, units=True)]
        wanted += _slot_names(task_type, key)
        found = store.table.get_many(wanted)
        items = {str(item[Attribute.TASK_ID]): item for item in found}
        return cls(items=items, task_type=task_type, key=key, limits=limits)

    @property
    def workers(self) -> list[WorkerNote]:
        """The notes of workers, the latest first."""
        return sorted(worker_notes.of(self.items.get(NOTE)), key=lambda note: -note.at)

    @property
    def sweep(self) -> sweep_note.Note:
        return sweep_note.of(self.items.get(sweep_note.NOTE))

    def slots(self) -> Iterator[Item]:
        """Yield the slots of the key that there are."""
        names = _slot_names(self.task_type, self.key)
        yield from (self.items[name] for name in names if name in self.items)


def _slot_names(task_type: str | None, key: str | None) -> list[str]:
    if task_type is None or key is None:
        return []
    return [key_slots.slot_id(task_type, key, number) for number in range(SLOTS_READ)]


def _reasons(
    store: Store, found: Task, limits: "SharedLimits | None", now: int
) -> Iterator[Reason]:
    notes = _Notes.read(store, found.task_type, found.key, limits)
    yield from _of_queue(store, notes, now)
    yield from _of_types(notes, found.task_type)
    of_key = [*_of_key(store, notes, found.task_id, now)]
    yield from of_key
    exact = {reason.name for reason in of_key}
    yield from (reason for reason in _told(notes, now) if reason.name not in exact)
    newer = store.count_newer(found, cap=MOST_COUNTED)
    if newer.value:
        number = _number(newer, "newer task", "newer tasks")
        verb = "stands" if newer == Count(value=1, capped=False) else "stand"
        yield Reason(
            name="order",
            says=f"{number} {verb} before it, and the newest come first",
            ends="their starts, or their deadlines",
        )


def _of_queue(store: Store, notes: _Notes, now: int) -> Iterator[Reason]:
    """Yield what holds back every task: a pause, or that there is no worker."""
    paused = pause_note.of(notes.items.get(pause_note.ITEM))
    if paused is not None:
        yield Reason(
            name="paused",
            says=f"the queue is paused, by {paused.by} ({paused.who})",
            since=paused.at,
            ends="the end of what paused it" if paused.passing else "lifoq resume",
        )
    latest = next(iter(notes.workers), None)
    at_work = any(note.is_at_work(now) for note in notes.workers)
    if not at_work and not store.rows(Status.TAKEN, limit=1).rows:
        if latest is None:
            said = "no worker has told of itself yet"
        elif latest.ended and now - latest.at < TELLS_OF_WORK * MICROSECONDS:
            said = f"the latest worker ended {_ago(now, latest.at)}"
        else:
            said = f"no worker has told of itself for {_for(now, latest.at)}"
        yield Reason(
            name="no_worker",
            says=f"no worker is at work, as far as the table tells: {said}",
            since=None if latest is None else latest.at,
            ends="a worker that starts",
        )
    yield from _of_shared_limits(notes, now)


def _of_types(notes: _Notes, task_type: str | None) -> Iterator[Reason]:
    note = notes.sweep
    lacking = note.unknown_types[:TYPES_NAMED] if task_type is None else ()
    if task_type is not None and note.lacks(task_type):
        lacking = (task_type,)
    for name in lacking:
        yield Reason(
            name="unknown_type",
            says=f"no worker has a handler for task type {name}",
            ends="a deployment of a worker that has one",
        )


def _of_key(store: Store, notes: _Notes, task_id: str, now: int) -> Iterator[Reason]:
    """Yield what the slots of the task's key tell: who is at work, or has just started."""
    slots = [*notes.slots()]
    holders = {
        str(slot[key_slots.HELD_BY]): slot.get(Attribute.CLAIM_ID)
        for slot in slots
        if Attribute.CLAIM_ID in slot and key_slots.HELD_BY in slot
    }
    items = store.table.get_many([*holders]) if holders else []
    held = [
        item
        for item in items
        if key_slots.holds(holders[str(item[Attribute.TASK_ID])], item)
        and item[Attribute.TASK_ID] != task_id
    ]
    if held:
        names = " and ".join(sorted(str(item[Attribute.TASK_ID]) for item in held))
        many, since = len(held) > 1, [item.get(Attribute.TAKEN_AT) for item in held]
        yield Reason(
            name="key_slots",
            says=f"its key {notes.key} is busy: task{'s' if many else ''} {names} of the same key "
            f"{'are' if many else 'is'} at work",
            since=min((at for at in since if isinstance(at, int)), default=None),
            ends="the end of one of them" if many else f"the end of task {names}",
        )
    for slot in slots:
        starts_at = key_slots.next_start(slot)
        if starts_at is not None and starts_at > now:
            yield Reason(
                name="key_rate",
                says=f"a task of its key {notes.key} has just started, and the type limits how "
                "often they may",
                since=int(slot[Attribute.TAKEN_AT]),
                ends=f"{spoken((starts_at - now) / MICROSECONDS)} at the most",
            )


def _told(notes: _Notes, now: int) -> Iterator[Reason]:
    """Yield what workers told of lately, each gate once, by the latest note."""
    seen = set()
    for note in notes.workers:
        if now - note.at >= TELLS_OF_WORK * MICROSECONDS:
            continue
        for hold in note.held:
            whom = hold.gate, hold.task_type, hold.key
            # Of a type, or of the queue, all that is held back counts, whatever its key.
            concerns = notes.task_type is None or hold.concerns(
                notes.task_type, hold.key if notes.key is None else notes.key
            )
            if concerns and whom not in seen:
                seen.add(whom)
                yield Reason(
                    name=hold.gate,
                    says=hold.says,
                    since=hold.since,
                    seen_by=note.worker,
                    seen_at=note.at,
                )


def _of_shared_limits(notes: _Notes, now: int) -> Iterator[Reason]:
    """Yield the limits over all workers of which everything is in use. A worker that wants more of
    a type's limit than it has tells that it is used."""
    if notes.limits is None:
        return
    own = SharedLimit(in_flight=notes.limits.total_in_flight)
    limits = [("the queue", quota_table_id(""), own)]
    if (name := notes.task_type) is not None:
        of_type = (quota_table_id(name, units=units) for units in (False, True))
        limits += [(f"task type {name}", table_id, SharedLimit()) for table_id in of_type]
    for whose, table_id, limit in limits:
        quota_table = QuotaTable.of(notes.items.get(table_id), limit)
        known = quota_table.limit or limit
        most, unit = known.in_flight, known.unit or "places"
        entries = [entry.left(now) for entry in quota_table.entries.values()]
        slots, workers = sum(e.has.slots for e in entries), sum(e.has != NONE for e in entries)
        is_short = any(e.until >= now and e.wants.slots > e.has.slots for e in entries)
        if slots and (is_short or (limit is own and most is not None and slots >= most)):
            of = f"{slots:,}" if most is None else f"{slots:,} of {most:,}"
            yield Reason(
                name="quota" if unit == "places" else "unit_quota",
                says=f"{whose} is at its limit over all workers: {of} {unit} are held by "
                f"{workers} worker{'s' if workers > 1 else ''}",
                ends="the end of one of their tasks",
            )


def _waits(reasons: Iterable[Reason], now: int, *, since: int) -> str:
    first = next(iter(reasons), None)
    why = _NOTHING_KNOWN if first is None else first.told(now)
    return f"It has waited for {_for(now, since)}: {why}."


def _at_work(store: Store, found: Task, now: int) -> str:
    name = worker_notes.worker_of(found.claim_id)
    notes = worker_notes.of(store.table.get(NOTE))
    place = next((f" ({note.place})" for note in notes if note.worker == name), "")
    who = "a worker" if name is None else f"worker {name}{place}"
    since = "" if found.taken_at is None else f" for {_for(now, found.taken_at)}"
    begun = f"It has been at work{since}, in attempt {found.attempts}, on {who}"
    lease = found.lease_expires
    if lease is None:
        return f"{begun}."
    if lease <= now:
        return (
            f"{begun}, but its lease ended {_ago(now, lease)}: the worker is lost, and the sweep "
            "brings the task back."
        )
    return f"{begun}; its lease lasts for {spoken((lease - now) / MICROSECONDS)} more."


def _delayed(found: Task, now: int) -> str:
    due = found.due_at if found.due_at is not None else found.enqueued_at
    when = f"{iso(due)[:19]}Z"
    failed = ""
    if found.attempts and found.error is not None:
        failed = f", for its next attempt, since attempt {found.attempts} failed: {_error(found)}"
    if due <= now:
        return f"It was delayed until {when}{failed}: a worker or the sweep lets it in at once."
    return f"It is delayed until {when}, for {spoken((due - now) / MICROSECONDS)} more{failed}."


def _ended(found: Task, now: int) -> str:
    at = "" if found.finished_at is None else f" {_ago(now, found.finished_at)}"
    match found.status:
        case Status.SUCCESS:
            return f"It is done: it succeeded{at}, in attempt {found.attempts}."
        case Status.FAILURE:
            return (
                f"It failed{at}, in attempt {found.attempts}: {_error(found)}. It runs again only "
                "if it is redriven."
            )
        case _:
            return f"It was cancelled{at}."


def _error(found: Task) -> str:
    error = found.error
    return "no error is known" if error is None else f"{error.type}: {error.message}".rstrip(".")


def _ago(now: int, moment: int) -> str:
    return f"{_for(now, moment)} ago"


def _for(now: int, moment: int) -> str:
    return spoken(max(0, now - moment) / MICROSECONDS)


def _number(count: Count, one: str, many: str) -> str:
    return f"{count} {one if count == Count(value=1, capped=False) else many}"
