"""The quota table of a limit over all workers: which of them may use how much of it, and until
when.

There is one item for each such limit, beside the tasks: a task type's, the units of a task type's
weights, or the queue's own. A worker takes a quota of the limit by writing itself into the quota
table: so many slots (tasks or units at a time), and so many shards (of the rate: each is an equal
part of it, a token bucket of its own). Each worker writes only over what it has read, so the quotas
never add up to more than the limit. ``docs/decisions/shared-limits.md`` has an example with
numbers.

A quota lasts for some seconds. **No lease of a started task reaches further than its worker's quota
and one lease more** (see ``worker.gates.quota_protocol``). So whoever finds a quota run out for so
long may take its slots: the leases of its tasks are over as well. A hand-over makes no tokens: a
shard that is given back takes its part of what is owed along, and the tokens for which the worker's
other shards have no room. A shard of a lost worker comes back empty, and its debt is forgotten.
What a shard gains while nobody has it is reckoned by the quota table's own time (see
``QuotaTable.time``)."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import add
from typing import Any, Final, NamedTuple

from lifoq.basics import jsontext
from lifoq.basics.clock import CLOCKS_APART
from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.errors import QueueMisconfigured
from lifoq.items.change import Change, Equals, Item
from lifoq.items.schema import OWN_PREFIX
from lifoq.items.schema import Attribute as A

QUOTA_LASTS: Final = 5.0
"""Seconds for which a quota may be used to start tasks, since the write that took it was sent."""
MOST_SHARDS: Final = 1_000
"""Equal parts of a rate, however high it is."""
QUOTA_TABLE_KEPT: Final = 7 * 86_400
"""Seconds until DynamoDB may delete a quota table that nobody writes to; then all of the limit is
free: so it is longer than any lease of a task."""


class Amount(NamedTuple):
    """The size of a limit, or of a quota of it."""

    slots: int = 0
    """Tasks at a time; where units are counted, units at a time."""
    shards: int = 0


NONE: Final = Amount()
SLOTS, SHARDS = 0, 1
"""The places of both in an ``Amount``."""
_NO_QUOTA_TABLE: Final = (
    *(ValueError, TypeError, LookupError),
    *(AttributeError, ArithmeticError, RecursionError),
)


@dataclass(frozen=True, kw_only=True)
class SharedLimit:
    """A limit over all workers together; None: unlimited."""

    in_flight: int | None = None
    """Tasks at a time, or units."""
    rate: float | None = None
    """Starts per second, or units."""
    burst: float | None = None
    """Tokens that all shards together hold at the most; None: one second's worth, at least 1."""
    unit: str | None = None
    """The unit of the type's weights that the limit counts; None: it counts tasks."""
    most_owed: float = 0.0
    """Units that all shards may owe together after tasks that weighed more than there was, such as
    15,000 at 90,000 a minute. Only a heavier task makes them owe more."""

    @property
    def amount(self) -> Amount:
        """The size of the limit. Each shard has room for at least one token: with less, it could
        never start a task."""
        slots = self.in_flight or 0
        if self.rate is None:
            return Amount(slots)
        least = min(self.rate, self._burst(self.rate))
        return Amount(slots, min(MOST_SHARDS, max(1, int(least))))

    def _burst(self, rate: float) -> float:
        return max(1.0, rate) if self.burst is None else self.burst

    @classmethod
    def of(cls, told: Mapping[str, Any] | None) -> "SharedLimit | None":
        """Return the limit that a quota table tells of; None if it tells of none."""
        if told is None:
            return None
        in_flight, rate = told.get("inFlight"), told.get("rate")
        burst, unit = told.get("burst"), told.get("unit")
        return cls(
            in_flight=None if in_flight is None else int(in_flight),
            rate=None if rate is None else float(rate),
            burst=None if burst is None else float(burst),
            unit=None if unit is None else str(unit),
        )

    def told(self) -> dict[str, Any]:
        """Return the terms of the limit that a quota table tells operators."""
        told = {
            "inFlight": self.in_flight,
            "rate": self.rate,
            "burst": self.burst,
            "unit": self.unit,
        }
        return {name: value for name, value in told.items() if value is not None}

    def room(self, shards: int) -> float:
        """Tokens that so many shards hold at the most."""
        return 0.0 if self.rate is None else self._burst(self.rate) * shards / self.amount.shards

    def gain(self, shards: int) -> float:
        """Tokens that so many shards gain in a second."""
        return 0.0 if self.rate is None else self.rate * shards / self.amount.shards

    def shards_for(self, weight: int) -> int:
        """Return the shards that a worker needs to start a task of so many units: what they owe
        then is their part of ``most_owed``. So all workers together owe no more than that, or than
        one task that is heavier."""
        if self.rate is None or self.unit is None:
            return 0
        return min(self.amount.shards, math.ceil(weight * self.amount.shards / self.most_owed))


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The quota of one worker."""

    has: Amount
    wants: Amount
    until: int
    """Epoch microseconds until which the worker may start tasks on its quota."""
    lease: int
    """Microseconds after ``until`` by which the leases of the worker's tasks are over."""
    renewal: int
    """Counts the worker's renewals, so that a late one is known."""
    needs: Amount = NONE
    """The quota with which the worker's next task can start, where units are counted."""
    since: int = 0
    """Epoch microseconds since when that task waits."""

    def left(self, now: int) -> "Entry":
        """Return what of the quota has not run out, though the two clocks may be
        ``CLOCKS_APART`` apart."""
        over = now - self.until - microseconds(CLOCKS_APART)
        shards = 0 if over > 0 else self.has.shards
        slots = 0 if over > self.lease else self.has.slots
        return replace(self, has=Amount(slots, shards))


@dataclass(frozen=True, kw_only=True)
class Renewal:
    """The wish of one worker: what it keeps, gives back, and wants."""

    worker: str
    number: int
    keeps: Amount
    """The most that the worker keeps of what it has; it uses no more from now on."""
    wants: Amount
    insists: bool
    """True if others are to give back what is above their fair part, where too little is free
    now."""
    returns: float
    """Tokens of the shards that the worker gives back; below 0 what they owe."""
    lease: int
    renew: bool
    """True if the quota will soon run out, and is to be written anew."""
    needs: Amount = NONE
    """See ``Entry``."""
    since: int = 0
    """See ``Entry``."""


@dataclass(frozen=True, kw_only=True)
class Grant:
    """The quota of a worker after a renewal."""

    has: Amount
    kept_shards: int
    """Shards that the worker had before, and still has."""
    tokens: float
    """Tokens that came with the other shards; below 0 what these owe."""
    fair: Amount
    """The fair part: the most that the worker may have while others want what they want now."""
    sent: int | None = None
    """When the write was sent from which the quota lasts, in monotonic microseconds; None: nothing
    was written."""


@dataclass(frozen=True, kw_only=True)
class QuotaTable:
    """The item of one limit over all workers: which worker has which quota of it, until when."""

    tokens: float
    """Tokens in the shards that nobody has, when they were last counted; below 0 what they owe."""
    counted: int = 0
    """When the tokens were last counted, by the quota table's own time in microseconds: see
    ``time``."""
    entries: Mapping[str, Entry] = field(default_factory=dict)
    """The quotas by worker."""
    limit: SharedLimit | None = None
    """The limit, as the worker that wrote last has it in its code; None: not told."""

    @classmethod
    def of(cls, item: Item | None, shared: SharedLimit) -> "QuotaTable":
        """Read a quota table; without an item all of the limit is free. Raises QueueMisconfigured
        where it cannot be read."""
        if item is None:
            return cls(tokens=shared.room(shared.amount.shards))
        try:
            if not isinstance(item[A.CLAIM_ID], str):
                raise TypeError(A.CLAIM_ID)
            document = jsontext.decode(item[A.PAYLOAD])
            return cls(
                tokens=float(document["tokens"]),
                counted=int(document["counted"]),
                entries={
                    str(worker): Entry(
                        has=Amount(*map(int, row[:2])),
                        wants=Amount(*map(int, row[2:4])),
                        until=int(row[4]),
                        lease=int(row[5]),
                        renewal=int(row[6]),
                        needs=Amount(*map(int, row[7:9])),
                        since=int(row[9]) if row[7:] else 0,
                    )
                    for worker, row in document["quotas"].items()
                },
                limit=SharedLimit.of(document.get("limit")),
            )
        except _NO_QUOTA_TABLE as error:
            raise QueueMisconfigured(
                f"item {item.get(A.TASK_ID)!r} is not the quota table of a limit ({error!r}): stop "
                "the workers, delete it, and start them again"
            ) from error

    def written(self, *, over: Item | None, version: str, now: int) -> Change:
        """Return the write of this quota table over the one that was read, or where there was none.
        The item's ``claimId`` is its version: each write draws a new one."""
        rows = {
            worker: [
                *(*entry.has, *entry.wants, entry.until, entry.lease, entry.renewal),
                *((*entry.needs, entry.since) if entry.needs != NONE else ()),
            ]
            for worker, entry in self.entries.items()
        }
        document = {"tokens": round(self.tokens, 6), "counted": self.counted, "quotas": rows}
        if self.limit is not None:
            document["limit"] = self.limit.told()
        read = "" if over is None else str(over.get(A.CLAIM_ID))
        return Change(
            when=(Equals(A.CLAIM_ID, read),),
            creates=True,
            set={
                A.PAYLOAD: json.dumps(document, separators=(",", ":")),
                A.CLAIM_ID: version,
                A.TTL: now // MICROSECONDS + QUOTA_TABLE_KEPT,
            },
        )

    def time(self, *, now: int, own: int) -> int:
        """Return the quota table's time, in microseconds: free shards gain tokens in it. It is the
        later of ``counted`` and ``own``, which is this worker's estimate by its monotonic clock (0:
        none yet); but never further from ``now`` than two clocks may be apart. Epoch clocks differ,
        so going by them would make tokens at each hand-over."""
        apart = microseconds(CLOCKS_APART)
        return max(self.counted, min(own, now + apart), now - apart)

    def after(
        self, renewal: Renewal, shared: SharedLimit, *, now: int, time: int
    ) -> "tuple[QuotaTable, Grant] | None":
        """Return the quota table after a renewal; None where a later one of the same worker has
        been before it. The same quota table, where there is nothing to write. ``now``: epoch
        microseconds; ``time``: the quota table's."""
        mine = self.entries.get(renewal.worker)
        if mine is not None and mine.renewal >= renewal.number:
            return None
        had, wanted = (NONE, NONE) if mine is None else (mine.has, mine.wants)
        others = self._others(renewal.worker, now)
        kept = Amount(*map(min, renewal.keeps, had))
        free = _less(shared.amount, kept, *(entry.has for entry in others.values()))
        needs, since = (renewal.needs, renewal.since) if renewal.insists else (NONE, 0)
        fair = self._fair(renewal, had, others, shared, now=now)
        has = Amount(*map(_given, kept, renewal.wants, free, fair))
        returned = min(renewal.returns, shared.room(had.shards - kept.shards))
        tokens = min(self._tokens(shared, time) + returned, shared.room(free.shards))
        took = _part_of(tokens, has.shards - kept.shards, free.shards, shared)
        grant = Grant(has=has, kept_shards=kept.shards, tokens=took, fair=fair)
        wants = renewal.wants if renewal.insists else has
        same = had == kept == has and wanted == wants
        if same and (
            mine is None or not (renewal.renew or (mine.needs, mine.since) != (needs, since))
        ):
            return self, grant
        if has != NONE or wants != NONE:
            others[renewal.worker] = Entry(
                has=has,
                wants=wants,
                until=now + microseconds(QUOTA_LASTS),
                lease=renewal.lease,
                renewal=renewal.number,
                needs=needs,
                since=since,
            )
        after = QuotaTable(tokens=tokens - took, counted=time, entries=others, limit=shared)
        return after, grant

    def _others(self, worker: str, now: int) -> dict[str, Entry]:
        """Return what of the other workers' quotas has not run out."""
        left = {name: entry.left(now) for name, entry in self.entries.items() if name != worker}
        return {n: entry for n, entry in left.items() if entry.has != NONE or entry.until >= now}

    def _tokens(self, shared: SharedLimit, time: int) -> float:
        """Return the tokens of the shards that nobody had since they were counted."""
        free = _less(shared.amount, *(entry.has for entry in self.entries.values())).shards
        passed = (time - self.counted) / MICROSECONDS
        return min(shared.room(free), self.tokens + passed * shared.gain(free))

    def _fair(
        self,
        renewal: Renewal,
        had: Amount,
        others: Mapping[str, Entry],
        shared: SharedLimit,
        *,
        now: int,
    ) -> Amount:
        """Return the fair part of a worker: the most that it may have beside what the others want.
        First each gets what its next task needs, in the order in which these tasks have come to
        wait: an even part might be too small for a heavy one for ever. Then the rest is divided
        evenly. One that does not write any more keeps what it has, but is given nothing."""
        worker = renewal.worker
        fresh = {name: entry for name, entry in others.items() if entry.until >= now}
        left = _less(shared.amount, *(p.has for n, p in others.items() if n not in fresh))
        # As if this worker wanted all: what it wants in truth bounds it later (``_given``).
        wants = {worker: shared.amount} | {name: entry.wants for name, entry in fresh.items()}
        has = {worker: had} | {name: entry.has for name, entry in fresh.items()}
        waiting = [(entry.since, name, entry.needs) for name, entry in fresh.items()]
        first = dict.fromkeys(wants, NONE)
        for _, name, needs in sorted([*waiting, (renewal.since, worker, renewal.needs)]):
            first[name] = Amount(*map(min, needs, left))
            left = _less(left, first[name])
        wants = {name: _less(amount, first[name]) for name, amount in wants.items()}
        has = {name: _less(amount, first[name]) for name, amount in has.items()}

        def quotas(resource: int, of: Iterable[str]) -> dict[str, int]:
            return _divide(
                left[resource],
                wants={name: wants[name][resource] for name in of},
                has={name: has[name][resource] for name in of},
            )

        able = list(wants)
        if shared.in_flight is not None and shared.rate is not None:
            # A slot is of no use without a shard, nor a shard without a slot.
            for resource in (SLOTS, SHARDS):
                able = [name for name, quota in quotas(resource, able).items() if quota]
        even = (quotas(resource, able).get(worker, 0) for resource in (SLOTS, SHARDS))
        return Amount(*map(add, first[worker], even))


def _given(keeps: int, wants: int, free: int, fair: int) -> int:
    """Return what a worker keeps; and more, as far as it wants that, it is free, and no more than
    fair."""
    return keeps + max(0, min(free, wants - keeps, fair - keeps))


def _part_of(tokens: float, shards: int, free: int, shared: SharedLimit) -> float:
    """Return the tokens that go with some of the free shards: as many as these can hold; or of what
    all free ones owe, their part."""
    return min(tokens, shared.room(shards)) if tokens >= 0 else tokens * shards / max(1, free)


def _less(amount: Amount, *parts: Amount) -> Amount:
    """Return what is left of an amount."""
    return Amount(
        max(0, amount.slots - sum(part.slots for part in parts)),
        max(0, amount.shards - sum(part.shards for part in parts)),
    )


def _divide(amount: int, *, wants: Mapping[str, int], has: Mapping[str, int]) -> dict[str, int]:
    """Divide an amount evenly: nobody gets more than it wants, and what one leaves the others get.
    What cannot be divided goes to who has more, so that it stays where it is."""
    quotas, left = {}, amount
    waiting = sorted(wants, key=wants.__getitem__)
    while waiting and wants[waiting[0]] <= left // len(waiting):
        quotas[waiting[0]] = wants[waiting[0]]
        left -= wants[waiting.pop(0)]
    if not waiting:
        return quotas
    even, more = divmod(left, len(waiting))
    for place, name in enumerate(sorted(waiting, key=lambda n: (-has[n], n))):
        quotas[name] = even + (place < more)
    return quotas


def quota_table_id(limit: str, *, units: bool = False) -> str:
    """Return the id of a limit's quota table. ``limit``: a task type's name; empty for the queue's
    own. ``units``: True for that of the units that the type's tasks weigh."""
    return f"{OWN_PREFIX}units:{limit}" if units else f"{OWN_PREFIX}limit:{limit}"
