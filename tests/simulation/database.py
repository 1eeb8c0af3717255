"""The database that all machines share: one table, its lagging indexes, and what goes wrong."""

import heapq
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from lifoq.basics.host import microseconds
from lifoq.errors import ItemTooLarge, StoreUnavailable
from lifoq.items import key_slots
from lifoq.items.change import (
    Alternatives,
    Change,
    Condition,
    ConditionFailed,
    Item,
    TransactionRefused,
    UnfitAttribute,
)
from lifoq.items.schema import OWN_PREFIX, TERMINAL, Attribute, Status
from lifoq.store.memory_table import SORT_KEYS, MemoryTable
from lifoq.store.table_protocol import Count, Cursor, Page, Span
from tests.simulation import keys
from tests.simulation.history import History, Violation, Write, status_of
from tests.simulation.keys import BUSY, FOUND_OVER, is_slot
from tests.simulation.machine import Machine, Role
from tests.simulation.polls import Polls, assert_reach, claim_of
from tests.simulation.rules import Rules, way
from tests.simulation.scenario import CALM, Faults, Scenario
from tests.simulation.together import Together
from tests.simulation.trace import Trace
from tests.virtual.scheduler import Crashed, Scheduler

Answer = TypeVar("Answer")

LATE: Final = (0.1, 2.0)
"""Seconds for which a write is on its way that others come before."""
DAMAGEABLE: Final = [
    name
    for name in Attribute
    if name not in (Attribute.TASK_ID, Attribute.TASK_STATUS, *SORT_KEYS.values())
]
"""Indexes hold nothing but numbers in their keys."""
ODD: Final = (None, "", 7, b"", [], {})
"""The values that somebody writes into an attribute; None is NULL."""
DAMAGED: Final = "somebody damages a task"
DEAD_LETTERED: Final = "what is damaged is dead-lettered"
DAMAGES: Final = {DAMAGED, DEAD_LETTERED}
REPLICAS: Final = 2
"""Copies of the indexes, each behind by its own lag; which one answers, chance decides."""


class Replica:
    """A copy of the indexes: each item's change arrives late, an item's changes in their order."""

    def __init__(self) -> None:
        self.table = MemoryTable()
        self._coming: list[tuple[int, int, str, Item | None]] = []
        self._last: dict[str, int] = {}
        self._number = 0

    def send(self, task_id: str, item: Item | None, *, arrives: int) -> None:
        self._last[task_id] = max(arrives, self._last.get(task_id, 0))
        self._number += 1
        heapq.heappush(self._coming, (self._last[task_id], self._number, task_id, item))

    def arrived_at(self, task_id: str) -> int:
        """When its last change has come, or will."""
        return self._last[task_id]

    def at(self, time: int) -> MemoryTable:
        while self._coming and self._coming[0][0] <= time:
            _, _, task_id, item = heapq.heappop(self._coming)
            if item is None:
                self.table._remove(task_id)
            else:
                self.table.damage(item)
        return self.table


class Database:
    def __init__(
        self,
        scenario: Scenario,
        scheduler: Scheduler,
        rules: Rules,
        trace: Trace,
        draw: random.Random,
        together: Together,
    ) -> None:
        self.scheduler = scheduler
        self.history = History()
        self.trace = trace
        self.table = MemoryTable()
        self.faults: Faults = scenario.faults
        self.lease = scenario.worker.lease
        self.draw = draw
        self.out = False
        """During an outage every call is refused."""
        self.on_write: Callable[[Write], None] = lambda _: None
        self._rules = rules
        self.together = together
        self._machines: dict[str, Machine] = {}
        self._clocks_agree = 2 * scenario.worker_skew < scenario.worker.lease / 3
        self._replicas = [Replica() for _ in range(REPLICAS)]
        self._calls = 0
        self.damaged: set[str] = set()
        """Ids of tasks that somebody has damaged: they obey no rule."""
        self.waits: dict[str, Item] = {}
        """The PENDING tasks that somebody knows, by id."""

    def shown_since(self, task_id: str) -> int:
        """Since when every copy of the index has shown it, or from when on each will."""
        return max(replica.arrived_at(task_id) for replica in self._replicas)

    def tasks(self) -> list[Item]:
        """All items of the table that are tasks, and whole."""
        items = self.table.items()
        return [i for i in items if not is_slot(i) and i[Attribute.TASK_ID] not in self.damaged]

    def damaged_tasks(self) -> list[Item]:
        """The damaged tasks that are there."""
        return [item for item in self.table.items() if item[Attribute.TASK_ID] in self.damaged]

    def damage(self) -> None:
        """Somebody writes past the library: into a task that has not ended, or into the put that is
        parked on it."""
        chosen = [item for item in self.tasks() if status_of(item) not in TERMINAL]
        if not chosen:
            return
        item = dict(self.draw.choice(chosen))
        task_id, parked = str(item[Attribute.TASK_ID]), item.get(Attribute.PARKED)
        odd = self.draw.choice(ODD)
        if parked is not None and self.draw.random() < 0.5:
            item[Attribute.PARKED] = {**parked, str(self.draw.choice(list(Attribute))): odd}
        elif self.draw.random() < 0.2:
            item[Attribute.TASK_KEY] = ""
        else:
            item[str(self.draw.choice(DAMAGEABLE))] = odd
        self.damaged.add(task_id)
        self.history.forget(task_id)
        self.waits.pop(task_id, None)
        self.table.damage(item)
        self.trace.add(DAMAGED, task_id)
        self._tell_replicas(task_id, item)

    def calm(self) -> None:
        """No more faults."""
        self.faults = CALM
        self.together.calm()
        self.out = False

    def index(self) -> MemoryTable:
        """One of the copies, as far as it has come."""
        return self.draw.choice(self._replicas).at(self.scheduler.time)

    def next_call(self) -> int:
        self._calls += 1
        return self._calls

    def expire(self, late: float) -> None:
        """TTL, which is ``late`` by so many seconds."""
        call = self.next_call()
        for item in self.table.expire(self.scheduler.time - microseconds(late)):
            if not is_slot(item):
                self.record("ttl", Role.TTL, self.scheduler.time, call, item, None)

    def record(
        self,
        machine: str,
        role: Role,
        clock: int,
        call: int,
        before: Item | None,
        after: Item | None,
    ) -> None:
        """Add an applied write to the history, if it obeys the rules."""
        write = Write(
            time=self.scheduler.time,
            clock=clock,
            machine=machine,
            role=role,
            claim=self.scheduler.current.claim,
            call=call,
            before=before,
            after=after,
        )
        self.trace.add(f"{way(write)} by {machine}", write.task_id)
        if write.task_id in self.damaged:
            self._record_damaged(write)
            return
        self._rules.check(write, self.history)
        if (full := keys.check(write, self.tasks)) is not None:
            self.trace.add(full)
        self.together.check(write)
        self.waits.pop(write.task_id, None)
        if write.becomes is Status.PENDING and after is not None and not self.is_passed_over(after):
            self.waits[write.task_id] = after
        if write.was is Status.TAKEN and role is Role.SWEEP:
            self._assert_unwell(write)
        self.history.add(write)
        self._tell_replicas(write.task_id, after)
        self.on_write(write)

    def _record_damaged(self, write: Write) -> None:
        if write.becomes is Status.FAILURE:
            self.trace.add(DEAD_LETTERED, write.task_id)
        self.together.check(write)
        self.history.add(write, sound=False)
        self._tell_replicas(write.task_id, write.after)
        self.on_write(write)

    def _tell_replicas(self, task_id: str, after: Item | None) -> None:
        for replica in self._replicas:
            lag = self.draw.uniform(0, self.faults.index_lag)
            arrives = self.scheduler.time + microseconds(lag)
            replica.send(task_id, after, arrives=arrives)

    def is_passed_over(self, item: Item) -> bool:
        """Return True if no worker has to start the task."""
        if item[Attribute.TASK_ID] in self.damaged:
            return True
        return item[Attribute.TASK_TYPE] in self._rules.passed_over

    def register(self, machine: Machine) -> None:
        self._machines[machine.name] = machine

    def _assert_unwell(self, write: Write) -> None:
        """Who loses a claim had trouble with it: whatever becomes of a worker's other calls, it
        keeps its leases by heartbeats, and leaves nothing TAKEN. (Clocks must agree for that.)"""
        assert write.before is not None
        claim_id = str(write.before[Attribute.CLAIM_ID])
        claim = self.history.claims[claim_id]
        holder = self._machines[claim.machine]
        moves = holder.alive and not holder.suspended and holder.resumed_at < claim.time
        well = moves and not holder.outages
        if self._clocks_agree and well and claim_id not in holder.claim_faults:
            raise Violation(f"was taken away from {holder.name}, which is well", write.task_id)


def _begun_anew(
    before: Sequence[Item | None], items: Sequence[Item]
) -> list[tuple[Item | None, Item | None]]:
    """A put over what TTL could have deleted is that deletion, and a new task."""
    gone = [(item, None) for item in before if item is not None]
    return [*gone, *((None, item) for item in items)]


class Connection:
    """One machine's way to the database: the library's Table."""

    name = "simulated"

    def __init__(self, database: Database, machine: Machine, polls: Polls | None = None) -> None:
        self._database = database
        self._machine = machine
        self._polls = polls
        database.register(machine)

    def get(self, task_id: str, *, only: Sequence[Attribute] = ()) -> Item | None:
        return self._call(
            "get", task_id, lambda _: self._database.table.get(task_id, only=only), self._blame_all
        )

    def _blame_all(self) -> None:
        """Note the open claims as affected: the answer may decide if leases end. It may be a quota
        table, or tell if a claim with a slot was granted."""
        if self._polls is not None:
            self._machine.claim_faults.update(self._polls.open_claims())

    def get_many(
        self, task_ids: Sequence[str], *, only: Sequence[Attribute] = (), lately: bool = False
    ) -> list[Item]:
        return self._call(
            "get_many",
            "",
            lambda _: self._database.table.get_many(task_ids, only=only, lately=lately),
        )

    def put(self, item: Item, *, over: Alternatives = ()) -> None:
        def apply(clock: int) -> None:
            before = self._database.table.get(str(item[Attribute.TASK_ID]))
            self._database.table.put(item, over=over)
            # A put that replaces what has ended goes on with the same task.
            again = Attribute.PUT_AT in item and status_of(before) in TERMINAL
            changes = [(before, item)] if again else _begun_anew([before], [item])
            self._record(clock, self._database.next_call(), changes)

        self._call("put", str(item[Attribute.TASK_ID]), apply, follows=bool(over))

    def replace(self, item: Item, *, when: tuple[Condition, ...]) -> None:
        raise Violation("was replaced, though the clock is right", str(item[Attribute.TASK_ID]))

    def clock_ahead(self) -> int:
        return 0

    def put_batch(self, items: Sequence[Item]) -> list[Item]:
        def apply(clock: int) -> list[Item]:
            table, draw = self._database.table, self._database.draw
            left = [i for i in items if draw.random() < self._database.faults.unprocessed]
            written = [item for item in items if item not in left]
            before = [table.get(str(item[Attribute.TASK_ID])) for item in written]
            table.put_batch(written)
            changes = list(zip(before, written, strict=True))
            self._record(clock, self._database.next_call(), changes)
            return left

        return self._call(f"put_batch of {len(items)}", "", apply)

    def update(self, task_id: str, change: Change) -> None:
        self.update_and_get(task_id, change)

    def update_and_get(self, task_id: str, change: Change) -> Item:
        def apply(clock: int) -> Item:
            before = self._database.table.get(task_id)
            after = self._database.table.update_and_get(task_id, change)
            self._record(clock, self._database.next_call(), [(before, after)])
            return after

        if self._polls is not None and not task_id.startswith(OWN_PREFIX):
            blame = partial(self._blame, change)
            send = partial(self._call, "update", task_id, apply, blame)
            return self._watched(task_id, change, send, self._polls)
        follows = task_id.startswith(OWN_PREFIX) or self._machine.role is Role.CLIENT
        return self._call("update", task_id, apply, self._blame_all, follows=follows)

    def _blame(self, change: Change) -> None:
        self._machine.claim_faults.add(claim_of(change))

    def _watched(
        self, task_id: str, change: Change, send: Callable[[], Answer], polls: Polls
    ) -> Answer:
        """Send what a worker writes to a task."""
        polls.sends(task_id, change)
        answer = send()
        polls.answered(task_id, change)
        return answer

    def update_and_put(
        self,
        task_id: str,
        change: Change,
        items: Sequence[Item],
        *,
        over: Alternatives = (),
        once: bool = False,
    ) -> None:
        if once is not any(map(is_slot, items)):
            raise Violation("a claim with a slot is sent once, and nothing else is", task_id)

        def apply(clock: int) -> None:
            table = self._database.table
            ids = [task_id, *(str(item[Attribute.TASK_ID]) for item in items)]
            if len(set(ids)) < len(ids):  # DynamoDB refuses such a transaction
                raise Violation(f"a transaction writes an item twice: {ids}", task_id)
            before = table.get(task_id)
            there = [table.get(str(item[Attribute.TASK_ID])) for item in items]
            table.update_and_put(task_id, change, items, over=over)
            changes = [(before, table.get(task_id)), *_begun_anew(there, items)]
            self._record(clock, self._database.next_call(), changes)
            if once and there[0] is not None and Attribute.CLAIM_ID in there[0]:
                self._database.trace.add(FOUND_OVER)

        what = "claim with a slot" if once else f"update_and_put of {len(items)}"
        follows = once and over != key_slots.FREE
        blame = partial(self._blame, change)
        send = partial(self._call, what, task_id, apply, blame, follows=follows)
        try:
            if self._polls is None:
                send()
            else:
                self._watched(task_id, change, send, self._polls)
        except TransactionRefused as refused:
            if once and not refused.update_refused:
                self._database.trace.add(BUSY)
            raise

    def delete(self, task_id: str, *, when: tuple[Condition, ...]) -> None:
        def apply(clock: int) -> None:
            before = self._database.table.get(task_id)
            self._database.table.delete(task_id, when=when)
            self._record(clock, self._database.next_call(), [(before, None)])

        self._call("delete", task_id, apply)

    def query(
        self, span: Span, *, newest_first: bool, limit: int, start: Cursor | None = None
    ) -> Page:
        def read(clock: int) -> Page:
            index = self._database.index()
            page = index.query(span, newest_first=newest_first, limit=limit, start=start)
            for_nobody = self._database.is_passed_over
            assert_reach(span, index, clock, for_nobody)
            return page

        def blame() -> None:
            if self._polls is not None:
                self._polls.went_wrong(span)

        sent = self._machine.true_time()
        page = self._call(f"query {span.index} {span.status}", "", read, blame)
        if self._polls is not None:
            self._polls.shown(span, start, page, newest_first=newest_first, sent=sent)
        return page

    def count(self, span: Span, *, cap: int, newest_first: bool = True) -> Count:
        return self._call(
            f"count {span.index} {span.status}",
            "",
            lambda _: self._database.index().count(span, cap=cap, newest_first=newest_first),
        )

    def check(self) -> None:
        """Always a queue's table."""

    def _record(
        self, clock: int, call: int, changes: Sequence[tuple[Item | None, Item | None]]
    ) -> None:
        machine = self._machine
        for before, after in changes:
            if is_slot(before or after or {}):
                self._check_slot(before or {})
                continue
            self._database.record(machine.name, machine.role, clock, call, before, after)

    def _check_slot(self, slot: Item) -> None:
        holder = str(slot.get(key_slots.HELD_BY))
        # The attempt at a damaged task ends without an outcome: what is left of it is the sweep's.
        if key_slots.HELD_BY in slot and holder not in self._database.damaged:
            keys.check_slot(slot, self._database.table.get(holder))

    def _call(
        self,
        what: str,
        task_id: str,
        apply: Callable[[int], Answer],
        blame: Callable[[], None] = lambda: None,
        *,
        follows: bool = False,
    ) -> Answer:
        """Send the call (others go on meanwhile), apply it at one moment, and bring the answer
        back (others go on again); or let it go wrong on the way. ``blame`` is told then.
        ``follows``: whether it was decided on by what was read before."""
        database, machine = self._database, self._machine
        draw, faults = database.draw, database.faults
        clock = machine.now()

        def goes_wrong() -> None:
            machine.faults += 1
            blame()

        if follows and draw.random() < faults.late:
            goes_wrong()
            database.trace.add(f"{what} is late", task_id)
            machine.sleep(draw.uniform(*LATE))
        self._travel(what, task_id, goes_wrong)
        if draw.random() < faults.crash:
            self._crash(f"crashes before {what}", task_id)
        if database.out or draw.random() < faults.refused:
            goes_wrong()
            machine.outages += database.out
            database.trace.add(f"{what} refused", task_id)
            raise StoreUnavailable(f"{what} was refused, on purpose")
        try:
            answer = apply(clock)
        except (ConditionFailed, TransactionRefused, UnfitAttribute, ItemTooLarge) as error:
            database.trace.add(f"{what}: {error}", task_id)
            self._return(what, task_id, goes_wrong)
            raise
        database.trace.add(what, task_id)
        self._return(what, task_id, goes_wrong)
        return answer

    def _return(self, what: str, task_id: str, goes_wrong: Callable[[], None]) -> None:
        """The answer's way back."""
        database = self._database
        draw, faults = database.draw, database.faults
        if draw.random() < faults.crash:
            self._crash(f"crashes after {what}", task_id)
        self._travel(what, task_id, goes_wrong)
        if draw.random() < faults.lost_answer:
            goes_wrong()
            database.trace.add(f"the answer to {what} is lost", task_id)
            raise StoreUnavailable(f"the answer to {what} was lost, on purpose")

    def _travel(self, what: str, task_id: str, goes_wrong: Callable[[], None]) -> None:
        """Takes some milliseconds; rarely, very long."""
        database = self._database
        draw = database.draw
        seconds = draw.uniform(0.0005, 0.01)
        if self._machine.role is Role.SWEEP:
            seconds *= database.faults.sweep_slowness
        if draw.random() < database.faults.stall:
            seconds = draw.uniform(0.5, 2.5) * database.lease
            goes_wrong()
            database.trace.add(f"{what} stalls for {seconds:.1f} s", task_id)
        self._machine.sleep(seconds)

    def _crash(self, how: str, task_id: str) -> None:
        self._database.trace.add(f"{self._machine.name} {how}", task_id)
        self._machine.crash()
        raise Crashed
