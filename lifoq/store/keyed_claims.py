"""Claims of tasks whose type limits how many of a key are TAKEN at a time, or how often one of a
key starts: see ``items.key_slots``."""

import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final
from zlib import crc32

from lifoq.basics.host import Host, microseconds
from lifoq.errors import (
    DamagedTask,
    ItemTooLarge,
    KeyBusy,
    NotClaimed,
    QueueMisconfigured,
    StoreUnavailable,
)
from lifoq.items import key_slots, transitions
from lifoq.items.change import (
    Alternatives,
    ConditionFailed,
    Item,
    TransactionRefused,
    UnfitAttribute,
)
from lifoq.items.key_limit import KeyLimit
from lifoq.items.schema import Attribute, Status
from lifoq.items.task import Task
from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim, Claims, nothing
from lifoq.store.key_starts_seen import START_WITHIN, Keyed, KeyStarts
from lifoq.store.worker_writes import AttemptWrites

log = logging.getLogger("lifoq.keyed")

REREAD_PAUSE: Final = 0.2
"""Seconds until a task that could not be read is read again."""


class KeyedClaims(Claims):
    """Claims with per-key limits: where a type has one, the claim of a task with a key writes a
    slot of that key, too."""

    def __init__(self, store: AttemptWrites, *, host: Host, worker: str = "") -> None:
        super().__init__(store, host=host, worker=worker)
        self._table = store.table
        self.starts: KeyStarts = KeyStarts(host)

    def _call(
        self, row: Candidate, key_limit: KeyLimit | None, lease: float
    ) -> Callable[[], Claim]:
        """Return the call that claims. Without a slot it has a condition: by the time that the row
        is claimed, its id may have been put anew, as a task that needs a slot."""
        if key_limit is not None and row.key is not None:
            return partial(self._with_slot, row, row.key, key_limit, lease)
        same_type, no_key = key_slots.as_shown(row.task_type, None)
        when = (same_type,) if key_limit is None else (same_type, no_key)
        return self._of_task_alone(row, lease, when=when)

    def _with_slot(self, row: Candidate, key: str, limit: KeyLimit, lease: float) -> Claim:
        names = self._names(row.task_type, key, limit.per_key or 1)
        try:  # the usual case: nobody has it
            return self._send(row, key, limit, names[0], key_slots.FREE, lease=lease)
        except _SlotTaken:
            pass
        for name, over in self._free(names, (row.task_type, key), limit):
            try:
                return self._send(row, key, limit, name, over, lease=lease)
            except _SlotTaken:
                continue  # another was faster
        raise KeyBusy(row.task_type, key)

    def _leave(self, slot: str, *, claim_id: str, interval: int) -> None:
        change = key_slots.leave(claim_id=claim_id, now=self._store.now(), interval=interval)
        try:
            self._table.update(slot, change)
        except ConditionFailed:
            log.debug("%s has gone on to another claim", slot)
        except (StoreUnavailable, QueueMisconfigured) as error:
            log.warning("%s was not freed, the next claim finds out: %s", slot, error)

    def _names(self, task_type: str, key: str, per_key: int) -> list[str]:
        """Return the ids of all slots of a key, from any one on, so that workers rarely ask for the
        same."""
        first = crc32(self._host.new_id().encode()) if per_key > 1 else 0
        numbers = ((first + n) % per_key for n in range(per_key))
        return [key_slots.slot_id(task_type, key, number) for number in numbers]

    def _free(
        self, names: list[str], keyed: Keyed, limit: KeyLimit
    ) -> Iterator[tuple[str, Alternatives]]:
        """The slots that can be had, and over what. A slot is read before the task that it names,
        so that what then is no claim of that task has ended."""
        for name in names:
            slot = self._table.get(name) or {}
            if limit.rate is not None and Attribute.TAKEN_AT in slot:
                self._saw(keyed, slot[Attribute.TAKEN_AT], limit)
                if self.starts.free_at(keyed) > self._host.monotonic():
                    return
            if Attribute.CLAIM_ID not in slot:
                yield name, key_slots.FREE
                continue
            claim_id, task_id = slot[Attribute.CLAIM_ID], slot.get(key_slots.HELD_BY)
            if not isinstance(task_id, str):
                log.error("%s does not tell whose it is: delete it, once nobody can have it", name)
            elif not key_slots.holds(claim_id, self._table.get(task_id)):
                yield name, key_slots.free_or_left_by(claim_id)

    def _insist(self, task_id: str, *, until: int) -> Item | None:
        """Read the task, again and again until that moment: without an answer, a claim that was
        granted is left to its lease."""
        while True:
            try:
                return self._table.get(task_id)
            except StoreUnavailable as error:
                if self._host.monotonic() >= until:
                    raise
                log.warning("claim of task %s: the task was not read: %s", task_id, error)
                self._host.sleep(REREAD_PAUSE)

    def _saw(self, keyed: Keyed, stamp: object, limit: KeyLimit) -> None:
        self.starts.saw(keyed, stamp, interval=limit.interval, now=self._store.now())

    def _send(
        self,
        row: Candidate,
        key: str,
        limit: KeyLimit,
        name: str,
        over: Alternatives,
        *,
        lease: float,
    ) -> Claim:
        """Send the claim once. Where the answer does not tell, the task then tells if it was
        granted: the answer to a transaction has no item, and may be lost."""
        sent = self._host.monotonic()
        now, claim_id, keyed = self._store.now(), self._new_claim_id(), (row.task_type, key)
        change = transitions.claim(now=now, claim_id=claim_id, lease=microseconds(lease))
        shown = key_slots.as_shown(row.task_type, key)
        if limit.per_key is None:
            slot, leave = key_slots.started(name, now=now, interval=limit.interval), nothing
        else:
            slot = key_slots.held(name, task_id=row.task_id, claim_id=claim_id, now=now)
            leave = partial(self._leave, name, claim_id=claim_id, interval=limit.interval)
        stamp, begin_by = None, math.inf
        if limit.rate is not None:
            allowed, stamp = self.starts.allows(keyed, interval=limit.interval, now=now)
            slot[str(Attribute.TAKEN_AT)], over = stamp, key_slots.both(over, allowed)
            begin_by = sent + microseconds(START_WITHIN)
        unconfirmed = None
        try:
            self._table.update_and_put(
                row.task_id,
                replace(change, when=(*change.when, *shown)),
                [slot],
                over=over,
                once=True,
            )
        except TransactionRefused as refused:
            if refused.update_refused:
                raise _not_claimed(row.task_id, refused.current) from refused
            raise _SlotTaken from refused
        except (UnfitAttribute, ItemTooLarge) as error:
            raise DamagedTask(row.task_id, f"it cannot be claimed ({error})") from error
        except StoreUnavailable as error:
            unconfirmed = error
        item = self._insist(row.task_id, until=self._host.monotonic() + microseconds(lease / 3))
        if item is not None and key_slots.holds(claim_id, item):
            if stamp is not None:
                self._saw(keyed, stamp, limit)
            return Claim(task=Task.from_item(item), leave=leave, begin_by=begin_by)
        raise unconfirmed or NotClaimed(row.task_id)


class _SlotTaken(Exception):
    """The slot is held by another claim than was expected."""


def _not_claimed(task_id: str, item: Item | None) -> NotClaimed:
    if item is not None and item.get(Attribute.TASK_STATUS) == Status.PENDING:
        Task.from_item(item)  # says what is damaged, if anything is
    return NotClaimed(task_id)
