"""The rule of the order, and that no task starves: what a processor was shown by its polls, against
what it then claimed.

A poll shows the first rows of the LIFO index, from its newest on; or from its oldest, if the
adaptive order says so. Tasks of one scheduling class wait for the same limits. All types without
any limit are one class. If a task of a class is claimed, no task of the class that comes before it
was held back. And a task that nothing holds back is tried soon by a worker that has a slot for it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.items.change import Change, Equals, GreaterThan, Item, OneOf
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.store.candidate import candidate_of
from lifoq.store.memory_table import MemoryTable
from lifoq.store.table_protocol import Cursor, Page, Span
from lifoq.worker.settings import WorkerSettings
from tests.simulation.batches import BATCHES, is_alone
from tests.simulation.history import Violation
from tests.simulation.keys import limited
from tests.simulation.machine import Machine
from tests.simulation.order import OrderRule
from tests.simulation.shares import JUDGED, Used, clearly_first
from tests.simulation.together import Together
from tests.virtual.scheduler import Strand

FOUND_WITHIN: Final = 4.0
"""Seconds in which a task that can start, and that every index shows, is tried by a worker that has
a slot for it, wherever in the queue it stands: what is behind the first page is read again every
two seconds."""
SEEN_WITHIN: Final = 0.5
"""Seconds in which a run that ends, since it believes the queue empty, has seen what every index
shows."""
FOUND_TOGETHER: Final = 8.0
"""Seconds in which one is found whose limit holds over all workers, of which the others use less:
they give back what they do not use."""
FAULT: Final = 1.5
"""Seconds that each call for a page may cost that goes wrong, from its beginning on."""
AT_ONCE: Final = microseconds(0.001)
"""Between what a worker decides and what it sends there lie microseconds."""


@dataclass(kw_only=True)
class Attempt:
    """An attempt that takes a slot, from its claim on until its strand is gone."""

    task_id: str
    task_type: str
    claim_id: str
    is_suspected_poison: bool
    """True if the task waited as suspected poison, and every index said so when the run began."""


@dataclass(kw_only=True)
class Poll:
    """The first page, and what was tried until the next."""

    newest_first: bool
    sent: int
    began: int
    """Monotonic: when it came."""
    rows: list[Item]
    used: Mapping[str | None, float] | None
    """By key, the seconds for which its tasks had held slots before it, where the slots are shared
    out; None where others are held meanwhile."""
    out: set[str]
    """Tasks that were tried just before, or since."""
    tried: int = 0
    """Number of tasks tried since."""
    claimed: list[Item] = field(default_factory=list)
    """Tasks claimed since that every index had shown, as they waited."""


class Polls:
    """Watches the polls and claims of one processor."""

    def __init__(
        self,
        machine: Machine,
        *,
        settings: WorkerSettings,
        window: float,
        free_types: set[str],
        adaptive_types: set[str],
        weighed_types: Collection[str],
        order: OrderRule,
        together: Together,
        damaged: Collection[str],
        waits: Mapping[str, Item],
        shown_since: Callable[[str], int],
        tell: Callable[[str], None],
    ) -> None:
        """``window``: seconds for which a run claims. ``damaged``: ids of tasks that obey no rule.
        ``free_types``: those that may start whenever the processor has a slot. ``adaptive_types``:
        those of which it finds by itself how many may run at a time, which is one at the least.
        ``weighed_types``: those of which units count.
        ``waits``: items that wait, by id. ``shown_since``: when every index has come to show it.
        ``tell`` takes in what happens."""
        self._machine = machine
        self._settings = settings
        self._window = microseconds(window)
        self._free_types = free_types
        self._adaptive_types = adaptive_types
        self._weighed_types = weighed_types
        self._order = order
        self._together = together
        self._damaged = damaged
        self._used = Used()
        self._rows: dict[str, Item] = {}
        """By task, how a page showed it last: its slot is counted for that key and type, whatever
        has become of the task since."""
        self._waits = waits
        self._shown_since = shown_since
        self._tell = tell
        self.refused_types: set[str] = set()
        """Types of which the downstream took fewer at a time than there were slots."""
        self.last_claim = 0
        """Monotonic moment at which it last got a claim."""
        self._last: Poll | None = None
        self._latest_sent = -1
        self._attempts: dict[Strand, Attempt] = {}
        self._at_work_at: dict[str, int] = {}
        """When a task of a type was last seen to be at work."""
        self._ended: dict[str, int] = {}
        """When an attempt of a task was last seen to be over."""
        self._granted: set[str] = set()
        self._settled: set[str] = set()
        """Claims whose outcome was sent."""
        self._slot_since: int | None = 0
        """The moment since which a slot has been seen to be free; None if none is."""
        self._began = 0
        self._sees_all = True
        """True if every page came, since the first of its runs began."""
        self._faults: list[int] = []
        """When calls for a page went wrong, or took very long."""

    def begin(self) -> None:
        """A run begins. What still hangs of the one before, that one has settled or lost."""
        self._settled |= {attempt.claim_id for attempt in self._attempts.values()}
        self._last = None
        self._used.end_all(self._machine.true_time())
        self._sees_all = self._began == 0
        self._began = self._machine.true_time()

    def stops(self) -> None:
        """It claims no more."""
        self._window = self._machine.true_time() - self._began

    def open_claims(self) -> list[str]:
        """Return the claims that stand, as far as the worker knows."""
        return [attempt.claim_id for attempt in self._at_work()]

    # Looks

    def went_wrong(self, span: Span) -> None:
        """A call for a page went wrong, or took very long."""
        if _looks_for_tasks(span):
            self._faults.append(self._machine.true_time())
            self._sees_all = False

    def shown(
        self, span: Span, start: Cursor | None, page: Page, *, newest_first: bool, sent: int
    ) -> None:
        """A page came; ``sent``: monotonic, when it was asked for."""
        if not _looks_for_tasks(span):
            return
        for row in page.rows:
            self._rows[str(row[Attribute.TASK_ID])] = row
        if start is not None or sent < max(self._latest_sent, self._began):
            return  # or a later poll was answered before
        self._latest_sent = sent
        self._assert_order()
        self._last = None
        self._at_work()
        # With a rate slots stay free, and what is behind the newest waits.
        if self._settings.rate_limit is None:
            self._assert_none_starves(FOUND_WITHIN)
        now, clock = self._machine.true_time(), self._machine.now()
        sure = self._sees_all and not self._machine.pauses
        readable = tuple(row for row in page.rows if candidate_of(row).damage is None)
        whole = Page(rows=readable, next=page.next)
        if self._order.begins(
            whole, newest_first=newest_first, sent=sent, clock=clock, now=now, sure=sure
        ):
            just_ended = {i for i, at in self._ended.items() if now - at <= 2 * MICROSECONDS}
            self._last = Poll(
                newest_first=newest_first,
                sent=sent,
                began=now,
                rows=list(page.rows),
                used=self._used.now(now) if self._settings.fair_share else None,
                out=just_ended | {attempt.task_id for attempt in self._attempts.values()},
            )

    def _assert_order(self) -> None:
        """Raise a Violation unless the tasks claimed of a class are its first ones on the page."""
        poll = self._last
        if poll is None or self._machine.resumed_at > poll.sent:
            return
        for passed_over in self._passed_over(poll):
            for item in poll.claimed:
                if self._comes_first(passed_over, item, poll):
                    rule = f"was claimed, but {passed_over[Attribute.TASK_ID]} comes first"
                    raise Violation(rule, str(item[Attribute.TASK_ID]))

    def _passed_over(self, poll: Poll) -> list[Item]:
        """Live tasks of the page that have waited all the while, and were not tried."""
        rows = {str(row[Attribute.TASK_ID]) for row in poll.rows} - poll.out
        clock = self._machine.now()
        return [
            self._waits[task_id]
            for task_id in rows & self._waits.keys()
            if self._shown_since(task_id) < poll.sent
            and self._waits[task_id][Attribute.EXPIRES_AT] > clock
        ]

    def _comes_first(self, one: Item, other: Item, poll: Poll) -> bool:
        key, others = one.get(Attribute.TASK_KEY), other.get(Attribute.TASK_KEY)
        if self._settings.fair_share and key != others:
            return self._has_had_less(one, other, poll)
        if self._scheduling_class(one) != self._scheduling_class(other):
            return False
        if one[Attribute.TASK_TYPE] in self._weighed_types:
            return False  # a heavy task that came first is waited for
        created, than = one[Attribute.TASK_CREATED], other[Attribute.TASK_CREATED]
        if created == than:  # of two that fall due at one moment, either may come first
            return False
        return (created > than) is poll.newest_first

    def _has_had_less(self, one: Item, other: Item, poll: Poll) -> bool:
        """Return True if the key of ``one`` must come first, and none was claimed between."""
        key, others = one.get(Attribute.TASK_KEY), other.get(Attribute.TASK_KEY)
        here, there = self._scheduling_class(one), self._scheduling_class(other)
        of_a_class = (here[0], here[2:]) == (there[0], there[2:])
        if not of_a_class or limited(one) or poll.used is None or poll.tried > 1:
            return False
        if clearly_first(poll.used, others, key):
            self._tell(JUDGED)
        return clearly_first(poll.used, key, others)

    def _scheduling_class(self, item: Item) -> tuple[object, ...]:
        """Return all that a task may have to wait for, beside its turn: nothing, for most types."""
        task_type = str(item[Attribute.TASK_TYPE])
        suspected_poison = bool(item.get(Attribute.LEASES_LOST))
        free = task_type in self._free_types - self._adaptive_types - self.refused_types
        batched = is_alone(item) if task_type in BATCHES else None
        free = free and batched is None
        return None if free else task_type, limited(item), suspected_poison, batched

    def _assert_none_starves(self, seconds: float) -> None:
        """Raise a Violation if a task that can start was in sight for ``seconds`` and was not
        tried."""
        now = min(self._machine.true_time(), self._began + self._window)
        clock = self._machine.now()
        if self._slot_since is None:
            return
        at_work = {attempt.task_id for attempt in self._attempts.values()}
        for task_id, item in self._waits.items():
            task_type = str(item[Attribute.TASK_TYPE])
            held_back = limited(item) or item.get(Attribute.LEASES_LOST) or task_id in at_work
            brief = item[Attribute.EXPIRES_AT] <= clock + microseconds(SEEN_WITHIN)
            if held_back or brief or task_type in self.refused_types:
                continue
            free_since, within = 0.0, seconds
            if task_type not in self._free_types:
                free_since, within = self._together.free_since(task_type), FOUND_TOGETHER
            if task_type in self._adaptive_types:
                free_since = max(free_since, self._at_work_at.get(task_type, 0))
            since = max(
                self._shown_since(task_id),
                self._began,
                self._machine.resumed_at,
                self._slot_since,
                self._ended.get(task_id, 0),
                free_since,
            )
            faults = sum(at > since - microseconds(FAULT) for at in self._faults)
            waits = (now - since) / MICROSECONDS
            if waits > within + FAULT * faults:
                name = self._machine.name
                rule = f"waited {waits:g} s in the sight of {name}, which had a slot"
                raise Violation(rule, task_id)

    def assert_empty(self, *, ago: float) -> None:
        """The run believed the queue empty, so many seconds ago at the most: then nothing waits
        within its sight."""
        self._assert_order()
        self._at_work()
        self._assert_none_starves(SEEN_WITHIN + ago)

    # Attempts

    def sends(self, task_id: str, change: Change) -> None:
        """A claim, an outcome of an attempt, or a claim that is handed back."""
        if claims(change):
            self._claims(task_id, claim_of(change))
        elif Attribute.TASK_STATUS in change.set:
            self._settled.add(claim_of(change))

    def answered(self, task_id: str, change: Change) -> None:
        """It was written."""
        if claims(change):
            self.last_claim = self._machine.true_time()
            self._granted.add(claim_of(change))
        elif Attribute.TASK_STATUS in change.set:
            self._rows.pop(task_id, None)  # it may come back with another
            self._ended[task_id] = self._machine.true_time()
            self._used.ends(claim_of(change), self._machine.true_time())

    def _claims(self, task_id: str, claim: str) -> None:
        """Each attempt has a strand of its own, which sends its claim again where the answer was
        lost."""
        strand, now = self._machine.scheduler.current, self._machine.true_time()
        at_work = self._at_work()
        if strand in self._attempts:  # with another slot it is another claim
            self._used.renames(self._attempts[strand].claim_id, claim)
            self._attempts[strand].claim_id = claim
            return
        item = self._waits.get(task_id)
        since = now if item is None else self._shown_since(task_id)
        lost = bool((item or {}).get(Attribute.LEASES_LOST))
        suspected_poison = lost and since < self._began
        others = [
            a.task_id
            for a in at_work
            if a.is_suspected_poison
            and a.claim_id not in self._settled
            and a.task_id not in self._damaged
        ]
        if suspected_poison and others:
            raise Violation(f"suspected poison was claimed beside {others}", task_id)
        row = self._rows.get(task_id, item or {})
        self._attempts[strand] = Attempt(
            task_id=task_id,
            task_type=str(row.get(Attribute.TASK_TYPE)),
            claim_id=claim,
            is_suspected_poison=suspected_poison,
        )
        self._used.begins(claim, row.get(Attribute.TASK_KEY), now)
        self._at_work()
        poll = self._last
        if poll is not None:
            poll.tried += 1
            poll.out.add(task_id)
            if item is not None and since < poll.sent and now > poll.began + AT_ONCE:
                poll.claimed.append(item)

    def _at_work(self) -> list[Attempt]:
        """Return the attempts whose strands are there, and note if a slot is free."""
        now = self._machine.true_time()
        self._at_work_at |= dict.fromkeys((a.task_type for a in self._attempts.values()), now)
        gone = [s for s in self._attempts if s not in s.power.strands]
        for strand in [s for s in gone if not self._shares_a_call(self._attempts[s])]:
            over = self._attempts.pop(strand)
            self._ended[over.task_id] = now
            self._used.ends(over.claim_id, now)
        if len(self._attempts) >= self._settings.in_flight:
            self._slot_since = None
        elif self._slot_since is None:
            self._slot_since = now
        return list(self._attempts.values())

    def _shares_a_call(self, attempt: Attempt) -> bool:
        """Return True if the strand of another attempt works on its task, in a batch."""
        stands = attempt.claim_id in self._granted - self._settled
        return stands and attempt.task_type in BATCHES and not attempt.is_suspected_poison


def assert_reach(
    span: Span, index: MemoryTable, clock: int, for_nobody: Callable[[Item], bool]
) -> None:
    """Raise a Violation if a poll leaves out a task that is alive."""
    if not _looks_for_tasks(span):
        return
    everything = Span(index=span.index, status=span.status)
    for row in index.query(everything, newest_first=True, limit=1_000_000).rows:
        shown = all(condition.holds(row) for condition in span.where)
        within = span.first is None or row[Attribute.TASK_CREATED] >= span.first
        if not (shown and within) and not for_nobody(row) and row[Attribute.EXPIRES_AT] > clock:
            raise Violation("is alive, and out of the workers' sight", str(row[Attribute.TASK_ID]))


def _looks_for_tasks(span: Span) -> bool:
    """Return True if the query is a poll: it does not measure the queue, or search for tasks that
    are out of sight."""
    measures = any(
        isinstance(condition, GreaterThan)
        or isinstance(getattr(condition, "condition", None), OneOf)
        for condition in span.where
    )
    of_tasks = span.index == STATUS_CREATED_INDEX and span.status is Status.PENDING
    return of_tasks and span.last is None and not measures


def claim_of(change: Change) -> str:
    """The claim under which the change is made, or which it makes."""
    fences = (c.value for c in change.when if isinstance(c, Equals))
    return str(change.set.get(Attribute.CLAIM_ID) or next(fences, ""))


def claims(change: Change) -> bool:
    """Return True if the change is a claim. A heartbeat sets no status."""
    return change.set.get(Attribute.TASK_STATUS) == Status.TAKEN
