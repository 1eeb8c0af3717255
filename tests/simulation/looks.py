"""The order of the tasks: what a processor was shown, against what it then claimed; and whether it
looks, and finds what waits, as long as it has a slot for it.

A look shows the first rows of the LIFO index, from its newest on; or from its oldest, where the
adaptive order says so. Where they must not start, the processor reads on behind them.
"""

from bisect import bisect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from typing import Final

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.items.change import Change, Equals, GreaterThan, Item, OneOf
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute, Status
from lifoq.tables.memory import MemoryTable
from lifoq.tables.table import Cursor, Page, Span
from lifoq.worker.keys import LONGEST_PAUSE
from tests.simulation.history import Violation
from tests.simulation.keys import Keyed, KeyRule, limited
from tests.simulation.machine import Machine
from tests.simulation.order import OrderRule
from tests.simulation.rooms import AT_ONCE, Rooms
from tests.simulation.shares import Used, clearly_first
from tests.simulation.together import Together
from tests.virtual.scheduler import Strand

LONGEST_GAP: Final = 1.6
"""Seconds between two looks of a worker that has a free slot, whatever becomes of its calls: a look
that is not answered within a second keeps no other waiting, and one that fails just before that
half a second more; and it takes a moment to wake."""
FOUND_WITHIN: Final = 4.0
"""Seconds in which a task that can start, and that every index shows, is tried by a worker that has
a slot for it, wherever in the queue it stands: what is behind the first page is read again every
two seconds."""
SEEN_WITHIN: Final = 0.5
"""The same for a run that ends because it believes the queue empty."""
FOUND_TOGETHER: Final = 8.0
"""The same where a limit holds over all workers, of which the others use less: they give back what
they do not use."""
FIRST_TOGETHER: Final = 3.0
"""Seconds after which a limit over all workers keeps no task waiting for a later one while less is
in use than it allows: in that time a worker gives back what it does not use, and another knows."""
FAULT: Final = 1.5
"""Seconds that each call for a page may cost that goes wrong."""
CROWD: Final = 1.5
"""Tasks asked for or not settled, for each slot, at which a worker claims no more."""


@dataclass
class Look:
    """The first page, and what was done about it until the next."""

    newest_first: bool
    began: int
    """Monotonic: when it came."""
    rows: list[Item] = field(default_factory=list)
    used: Mapping[str | None, float] | None = None
    """By key, the time for which its tasks had held slots before it, where the slots are shared
    out; None where others are held meanwhile, and nobody here knows for how long."""
    tried: dict[str, str | None] = field(default_factory=dict)
    """Tasks, and their keys as they were shown then."""
    moved: set[str] = field(default_factory=set)
    """Tasks that were tried at another place than the page shows."""
    held: set[str] = field(default_factory=set)
    """Rows that the index still shows, of tasks that the processor has in flight, or whose claim
    was refused just before."""

    def passed_over(self, clock: int, until: str | None = None) -> list[Item]:
        """Live rows, shown before the task ``until``, that were not tried."""
        found = []
        for row in self.rows:
            if row[Attribute.TASK_ID] == until:
                break
            live = row[Attribute.EXPIRES_AT] > clock
            if live and row[Attribute.TASK_ID] not in self.tried.keys() | self.held:
                found.append(row)
        return found

    def last_tried(self) -> str | None:
        tried = [
            row[Attribute.TASK_ID]
            for row in self.rows
            if row[Attribute.TASK_ID] in self.tried.keys() - self.moved
        ]
        return str(tried[-1]) if tried else None


@dataclass(kw_only=True)
class Claim:
    """One that was sent."""

    task_id: str
    claim_id: str
    task_type: str
    sent: int
    """Monotonic: the first time."""
    shown_as: frozenset[bool]
    """Whether as a suspect; both, where copies of the index did not agree."""
    repeated: bool = False
    """Its first answer was lost."""
    keyed: Keyed | None = None
    """Of one that is sent together with a slot."""
    strand: Strand
    """That sent it."""


class Looks:
    """Watches one processor."""

    def __init__(  # noqa: PLR0915 - it keeps much
        self,
        machine: Machine,
        *,
        free_types: Collection[str],
        unregistered: str,
        in_flight: int,
        window: float,
        lasts: float,
        paced: bool,
        rates: Mapping[str, float],
        rooms: Rooms,
        order: OrderRule,
        keys: KeyRule,
        together: Together,
        fair: bool,
        started: Collection[str],
        damaged: Collection[str],
        waiting: Callable[[], list[tuple[Item, int]]],
    ) -> None:
        """``free_types``: those that may start whenever the processor has a slot, and room.
        ``unregistered``: the type that no task code runs.
        ``window``: seconds for which a run claims; ``lasts``: for which it starts what it claimed.
        ``paced``: whether there is a limit on the starts per second of all types together.
        ``rates``: starts per second, of those types that are limited to less than one.
        ``started``: claims under which task code began.
        ``damaged``: ids of tasks that obey no rule.
        ``waiting``: items that wait, and since when every index has shown them."""
        self._machine = machine
        self._free_types = free_types
        self._unregistered = unregistered
        self._paced = paced
        self._window = microseconds(window)
        self._lasts = microseconds(lasts)
        self._crowd = CROWD * in_flight
        self._rates = rates
        self._rooms = rooms
        self._order = order
        self._keys = keys
        self._together = together
        self._fair = fair
        self._used = Used()
        self._code_started = started
        self._damaged = damaged
        self._waiting = waiting
        self._starts: dict[str, list[Claim]] = {}
        """Of each such type, the claims that were granted, in the order in which they were sent."""
        self.last: Look | None = None
        self._latest_sent = -1
        self._shown_as: dict[str, frozenset[bool]] = {}
        """Tasks that were shown in this run, and whether as suspects: each copy of the index says
        what it knows."""
        self.recognisable: dict[str, str] = {}
        """Claims of which the worker was told, when it repeated one, that they are its own, and the
        types of their tasks."""
        self._trying: dict[str, Claim] = {}
        """Claims whose answer is not there yet."""
        self._of_earlier_runs: dict[str, Claim] = {}
        """Of these no run knows any more; they start nothing."""
        self._never_begun: set[str] = set()
        """Claims that were handed back, as far as the worker could."""
        self._granted_at: dict[str, int] = {}
        """Claims under which task code should begin at once, and when they were granted."""
        self._held: dict[str, Claim] = {}
        """By task: claimed, and its outcome not confirmed."""
        self._refused: dict[str, int] = {}
        """Tasks whose claim was refused, and when."""
        self._ended: dict[str, int] = {}
        """When this worker was last done with a task."""
        self._reading: dict[Strand, tuple[Claim, bool]] = {}
        """Claims with a slot, by who reads next whether they were granted; and whether their answer
        was lost."""
        self._leaving: dict[Strand, tuple[str, str]] = {}
        """Tasks that were settled, and claims, by who leaves their slots now."""
        self._chosen: set[Strand] = set()
        """That have sent a claim: one with a slot is sent again, with another, for a look that may
        lie back by then."""
        self._old_strands: set[Strand] = set()
        """That were at work on a claim when a later run began."""
        self._keyed_until: dict[Keyed, int] = {}
        """When this worker was last done with a task of a key."""
        self._believed_keys: dict[str, str | None] = {}
        """By task, as the worker was shown it last."""
        self._crowded_until = 0
        self._suspect_until = 0
        self.last_claim = 0
        """Monotonic, when it last got one."""
        self._looked_at = 0
        self._began = 0
        self._faults: list[int] = []
        """When calls for a page went wrong, or took very long."""

    def begin(self) -> None:
        """A run begins."""
        self.last = None
        self._order.begin()
        self._held.clear()
        self._used.end_all(self._machine.true_time())
        self._of_earlier_runs.update(self._trying)
        self._old_strands.update(claim.strand for claim in self._trying.values())
        self._trying.clear()
        self._refused.clear()
        self._shown_as.clear()
        self._machine.runs += 1
        self._looked_at = self._began = self._machine.true_time()

    def stops(self) -> None:
        """It claims no more."""
        self._window = self._machine.true_time() - self._began

    # Looks

    def sends(self, span: Span, start: Cursor | None) -> None:
        """A page is asked for."""
        if _looks_for_tasks(span) and start is None:
            self.assert_watchful()
            self._looked_at = self._machine.true_time()

    def went_wrong(self, span: Span) -> None:
        """A call for a page went wrong, or took very long."""
        if _looks_for_tasks(span):
            self._faults.append(self._machine.true_time())

    def shown(
        self, span: Span, start: Cursor | None, page: Page, *, newest_first: bool, sent: int
    ) -> None:
        """A page came; ``sent``: monotonic, when it was asked for."""
        if not _looks_for_tasks(span):
            return
        # What shows its damage is put aside.
        page = replace(page, rows=tuple(row for row in page.rows if None not in row.values()))
        for row in page.rows:
            self.shows(row)
        if start is not None:
            return
        if sent < max(self._latest_sent, self._began):  # a later look was answered before
            return
        self._latest_sent = sent
        self._assert_order()
        self.last = None
        if not self._paced:  # else slots stay free, and what is behind the newest waits
            self._assert_finds_what_waits(FOUND_WITHIN)
        now, clock = self._machine.true_time(), self._machine.now()
        if not self._order.begins(page, newest_first=newest_first, sent=sent, clock=clock, now=now):
            return
        just_refused = {i for i, at in self._refused.items() if now - at <= microseconds(0.5)}
        self.last = Look(
            newest_first=newest_first,
            began=now,
            rows=[row for row in page.rows if row[Attribute.TASK_ID] not in self._damaged],
            used=self._used.now(now) if self._fair and self._used.nothing_open else None,
            held={*self._held, *just_refused, *(c.task_id for c in self._trying.values())},
        )

    def shows(self, row: Item) -> None:
        """A page shows it, or the write that promoted it."""
        task_id, lost = str(row[Attribute.TASK_ID]), (row.get(Attribute.LEASES_LOST) or 0) > 0
        self._shown_as[task_id] = self._shown_as.get(task_id, frozenset()) | {lost}
        self.knows_key(row)

    def knows_key(self, row: Item) -> None:
        """A page shows it, or an answer to a write."""
        self._believed_keys[str(row[Attribute.TASK_ID])] = row.get(Attribute.TASK_KEY)

    def assert_watchful(self, until: int | None = None) -> None:
        """Up to this moment, no slot was free for long without a look."""
        now = self._machine.true_time() if until is None else until
        since = max(self._looked_at, self._free_since(), self._machine.resumed_at)
        gap = (now - since) / MICROSECONDS
        if gap > LONGEST_GAP:
            raise Violation(f"{self._machine.name} had a free slot, and did not look for {gap:g} s")

    def _assert_finds_what_waits(self, seconds: float) -> None:
        """Whatever waits for so long within sight, and can start, was tried."""
        now = min(self._machine.true_time(), self._began + self._window)
        clock = self._machine.now()
        for item, visible_since in self._waiting():
            task_id, task_type = str(item[Attribute.TASK_ID]), str(item[Attribute.TASK_TYPE])
            if task_id in self._held:
                continue
            together, within = 0.0, seconds
            if task_type not in self._free_types:
                together, within = self._together.free_since(task_type), FOUND_TOGETHER
            if any(claim.task_id == task_id for claim in self._trying.values()):
                continue
            if item[Attribute.EXPIRES_AT] <= clock + microseconds(SEEN_WITHIN):
                continue
            since = max(
                visible_since,
                self._began,
                self._machine.resumed_at,
                self._free_since(task_type),
                self._ended.get(task_id, 0),
                self._suspect_since() if item.get(Attribute.LEASES_LOST, 0) else 0,
                self._key_free_since(item),
                together,
            )
            faults = sum(at > since for at in self._faults)
            waits = (now - since) / MICROSECONDS
            if waits > within + FAULT * faults:
                name = self._machine.name
                raise Violation(
                    f"waited {waits:g} s in the sight of {name}, which had a slot", task_id
                )

    def _free_since(self, task_type: str | None = None) -> int:
        now = self._machine.true_time()
        self._forget_what_was_left()
        if self._crowded():
            self._crowded_until = now
        return max(self._rooms.free_since(task_type), self._crowded_until)

    def _crowded(self) -> bool:
        return len(self._trying) + len(self._held) >= self._crowd

    def _suspect_since(self) -> int:
        """The last moment at which what may be a suspect was tried or held."""
        if any(True in claim.shown_as for claim in self._at_work()):
            self._suspect_until = self._machine.true_time()
        return self._suspect_until

    def _key_free_since(self, item: Item) -> int:
        """From when on the worker must know that the task's key is free."""
        keyed = limited(item)
        if keyed is None:
            return 0
        here = any(claim.keyed == keyed for claim in self._at_work())
        own = self._machine.true_time() if here else self._keyed_until.get(keyed, 0)
        return max(own, self._keys.busy_until(keyed)) + microseconds(LONGEST_PAUSE)

    def _at_work(self) -> list[Claim]:
        return [*self._trying.values(), *self._held.values()]

    def _could_start(self, row: Item, look: Look) -> bool:
        """Whether nothing has held it back since the look began."""
        task_type = row[Attribute.TASK_TYPE]
        if (row.get(Attribute.LEASES_LOST) or 0) > 0 and self._suspect_since() >= look.began:
            return False
        if self._key_free_since(row) >= look.began:
            return False
        free = task_type in self._free_types or self._long_free(row, look)
        return free and not self._rooms.held_since(task_type, look.began - AT_ONCE)

    def _long_free(self, row: Item, look: Look) -> bool:
        """Whether its limits over all workers have let it start for so long that each knows."""
        visible = {item[Attribute.TASK_ID]: since for item, since in self._waiting()}
        since = visible.get(row[Attribute.TASK_ID], look.began)
        since = max(since, self._together.free_since(row[Attribute.TASK_TYPE]))
        return since < look.began - microseconds(FIRST_TOGETHER)

    def _assert_order(self) -> None:
        """What a look's page had claimed are its first tasks that could start."""
        look = self.last
        last = None if look is None else look.last_tried()
        if look is not None and look.used is not None and len(look.tried) == 1:
            self._assert_fair(look, look.used)
        if look is None or last is None:
            return
        key = look.tried[last]
        for row in look.passed_over(self._machine.now(), until=last):
            if self._fair and row.get(Attribute.TASK_KEY) != key:
                continue
            if self._could_start(row, look):
                passed_over = row[Attribute.TASK_ID]
                kind = "newer" if look.newest_first else "older"
                raise Violation(f"was claimed, but {passed_over} is {kind}, and could", last)

    def _assert_fair(self, look: Look, used: Mapping[str | None, float]) -> None:
        """The one task that was claimed goes before all others of the page, by the shares of their
        keys."""
        ((claimed, key),) = look.tried.items()
        for row in look.passed_over(self._machine.now()):
            first = clearly_first(used, row.get(Attribute.TASK_KEY), key)
            if first and self._could_start(row, look):
                passed_over = row[Attribute.TASK_ID]
                raise Violation(f"was claimed, but the key of {passed_over} has had less", claimed)

    # Claims

    def before_update(self, task_id: str, change: Change) -> None:
        if not _claims(change):
            if claim_of(change) not in self._code_started:
                self._handed_back(claim_of(change))
            return
        claim = str(change.set[Attribute.CLAIM_ID])
        tried = self._trying.get(claim) or self._of_earlier_runs.get(claim)
        if tried is not None:  # it repeats one whose answer was lost
            tried.repeated = True
            return
        if _keyed(change) is not None:
            self.gave_up()  # the one before
        self._free_since()  # notes a crowd before it changes
        task_type = self._believed_type(task_id)
        shown_as = self._shown_as.get(task_id, frozenset({False}))
        others = [
            claim.task_id
            for claim in self._at_work()
            if claim.shown_as == {True}
            and claim.claim_id not in self._never_begun
            and claim.task_id not in self._damaged
        ]
        if shown_as == {True} and others:
            raise Violation(f"a suspect was claimed beside {others}", task_id)
        self._rooms.enter(claim, task_type)
        strand = self._machine.scheduler.current
        trying = self._trying
        if strand in self._old_strands:
            trying = self._of_earlier_runs
        elif self.last is not None and strand not in self._chosen:
            self.last.tried[task_id] = self._believed_keys.get(task_id)
            self._note_if_moved(self.last, task_id)
        self._chosen.add(strand)
        self._used.begins(claim, self._believed_keys.get(task_id), self._machine.true_time())
        trying[claim] = Claim(
            keyed=_keyed(change),
            strand=strand,
            claim_id=claim,
            task_id=task_id,
            task_type=task_type,
            sent=self._machine.true_time(),
            shown_as=shown_as,
        )

    def _note_if_moved(self, look: Look, task_id: str) -> None:
        """What the run itself returned, perhaps as a put that was parked, it tries at the place
        where it now waits, and not where a late index shows it."""
        shown = {row[Attribute.TASK_ID]: row[Attribute.TASK_CREATED] for row in look.rows}
        for item, _ in self._waiting():
            if item[Attribute.TASK_ID] == task_id:
                place = item[Attribute.TASK_CREATED]
                if shown.get(task_id, place) != place:
                    look.moved.add(task_id)

    def _believed_type(self, task_id: str) -> str:
        """The task's type as the worker was shown it, after which it names the attempt's strand. An
        id can be put anew with another type, and copies of the index need not agree."""
        name = self._machine.scheduler.current.name
        return name.removeprefix(f"{self._machine.name}: ").removesuffix(f" {task_id}")

    def gave_up(self) -> None:
        """This strand's claim with a slot came to nothing; until then it may have been sent again,
        with another slot."""
        self._reading.pop(self._machine.scheduler.current, None)
        for claim in self._of_strand(self._of_earlier_runs):
            del self._of_earlier_runs[claim]
            self._rooms.end(claim, started=False)
        for claim in self._of_strand(self._trying):
            self._over(claim)

    def _of_strand(self, claims: Mapping[str, Claim]) -> list[str]:
        strand = self._machine.scheduler.current
        return [claim for claim, sent in claims.items() if sent.keyed and sent.strand is strand]

    def reads_next(self, change: Change, *, lost: bool) -> None:
        """Whether a claim with a slot was granted, its strand reads next."""
        claim = str(change.set[Attribute.CLAIM_ID])
        sent = self._trying.get(claim) or self._of_earlier_runs[claim]
        self._reading[sent.strand] = sent, lost

    def asks_after(self) -> list[str]:
        """The claim of which this strand reads whether it was granted."""
        sent, _ = self._reading.get(self._machine.scheduler.current, (None, False))
        return [] if sent is None else [sent.claim_id]

    def read(self, item: Item | None, *, told: bool) -> None:
        """The item that this strand asked for; ``told``: whether it got an answer."""
        sent, lost = self._reading.get(self._machine.scheduler.current, (None, False))
        if sent is None or not told:  # it reads once more
            return
        del self._reading[sent.strand]
        claim, there = sent.claim_id, item or {}
        own = there.get(Attribute.CLAIM_ID) == claim
        if own and there[Attribute.TASK_STATUS] == Status.TAKEN:
            if self._of_earlier_runs.pop(claim, None) is not None:
                self._rooms.end(claim, started=False)
                return
            if lost and self._machine.true_time() < self._began + self._lasts:
                self.recognisable[claim] = sent.task_type
            self.last_claim = self._machine.true_time()
            self._granted(claim)
            return
        if not lost:
            self._refused[sent.task_id] = self._machine.true_time()

    def _handed_back(self, claim: str) -> None:
        """The worker could not begin with it."""
        self._never_begun.add(claim)
        self.recognisable.pop(claim, None)
        if self._granted_at.pop(claim, None) is not None:
            self._rooms.end(claim, started=False)
        for starts in self._starts.values():
            starts[:] = [start for start in starts if start.claim_id != claim]

    def held(self) -> list[str]:
        """Claims that stand, as far as the worker knows."""
        return [claim.claim_id for claim in self._held.values()]

    def refused_update(self, task_id: str, change: Change, item: Item | None) -> None:
        """A write was refused, and the worker was shown the item."""
        claim, there = str(change.set.get(Attribute.CLAIM_ID)), item or {}
        if self._is_forgotten(change):
            return
        if _claims(change):
            own = there.get(Attribute.CLAIM_ID) == claim
            if own and there[Attribute.TASK_STATUS] == Status.TAKEN:
                if self._machine.true_time() < self._began + self._lasts:
                    self.recognisable[claim] = self._trying[claim].task_type
                self._granted(claim)
            else:
                self._refused[task_id] = self._machine.true_time()
                self._over(claim)
        elif Attribute.CLAIM_ID not in change.set and Attribute.TASK_STATUS in change.set:
            # What is still its own was refused for a put that was parked, or withdrawn: it writes
            # once more, as the item now is.
            own = there.get(Attribute.CLAIM_ID) == claim_of(change)
            if not (own and there[Attribute.TASK_STATUS] == Status.TAKEN):
                self._settles(task_id, claim_of(change))

    def lost_update(self, change: Change) -> None:
        """Nobody knows what became of a write. A claim is repeated once."""
        if not _claims(change):
            if claim_of(change) not in self._code_started:
                self._handed_back(claim_of(change))
            return
        claim = str(change.set[Attribute.CLAIM_ID])
        tried = self._trying.get(claim) or self._of_earlier_runs[claim]
        if tried.repeated and not self._is_forgotten(change):
            self._over(claim)

    def after_update(self, task_id: str, change: Change) -> None:
        if self._is_forgotten(change):
            return
        if _claims(change):
            self.last_claim = self._machine.true_time()
            self._granted(str(change.set[Attribute.CLAIM_ID]))
        elif Attribute.TASK_STATUS in change.set:
            self._settles(task_id, claim_of(change))

    def _is_forgotten(self, change: Change) -> bool:
        """Whether this is the answer to a claim of an earlier run, which starts nothing."""
        claim = str(change.set.get(Attribute.CLAIM_ID))
        if self._of_earlier_runs.pop(claim, None) is None:
            return False
        self._rooms.end(claim, started=False)
        return True

    def _granted(self, claim: str) -> None:
        self._free_since()
        found = self._trying.pop(claim)
        self._held[found.task_id] = found
        self._assert_rate(found)
        if found.task_type == self._unregistered:  # has no task code to come back
            self._rooms.end(claim, started=True)
        else:
            # Of what is damaged, task code begins at once or never.
            damaged = found.task_id in self._damaged
            self._granted_at[claim] = 0 if damaged else self._machine.true_time()

    def _forget_what_was_left(self) -> None:
        """A claim whose answer came after the end of the run starts nothing."""
        now = self._machine.true_time()
        for claim, granted in list(self._granted_at.items()):
            if claim in self._code_started or granted < now:
                del self._granted_at[claim]
                if claim not in self._code_started:
                    self._rooms.end(claim, started=False)

    def _over(self, claim: str) -> None:
        """It gave nothing to run."""
        self._free_since()
        self._suspect_since()
        sent = self._trying.pop(claim)
        self._used.ends(claim, self._machine.true_time())
        self._ended[sent.task_id] = self._machine.true_time()
        if sent.keyed is not None:
            self._keyed_until[sent.keyed] = self._machine.true_time()
        self._rooms.end(claim, started=False)

    def put_aside(self, task_id: str) -> None:
        """A damaged task goes to FAILURE, which may have been claimed before."""
        if task_id in self._held:
            self._settled(task_id, self._held[task_id].claim_id)

    def left(self) -> None:
        """This strand has left the slot of its claim, or could not."""
        settled = self._leaving.pop(self._machine.scheduler.current, None)
        if settled is not None:
            self._settled(*settled)

    def _settles(self, task_id: str, claim: str) -> None:
        """The outcome is written. With a slot, leaving it is part of that."""
        held = self._held.get(task_id)
        if held is not None and held.keyed is not None and held.claim_id == claim:
            self._leaving[self._machine.scheduler.current] = (task_id, claim)
        else:
            self._settled(task_id, claim)

    def _settled(self, task_id: str, claim: str) -> None:
        if task_id in self._held and self._held[task_id].claim_id != claim:
            return  # of an attempt before
        if claim not in self._code_started:
            self._refused[task_id] = self._machine.true_time()
        self._free_since()
        self._suspect_since()
        held = self._held.pop(task_id, None)
        self._used.ends(claim, self._machine.true_time())
        if held is not None and held.keyed is not None:
            self._keyed_until[held.keyed] = self._machine.true_time()
        self._ended[task_id] = self._machine.true_time()
        self._shown_as[task_id] = frozenset({False})  # it outlived its attempt

    def _assert_rate(self, claim: Claim) -> None:
        """Claims are answered in any order, so each is compared with those sent before and after
        it."""
        rate = self._rates.get(claim.task_type)
        if rate is None:
            return
        starts = self._starts.setdefault(claim.task_type, [])
        place = bisect(starts, claim.sent, key=attrgetter("sent"))
        starts.insert(place, claim)
        for first, second in pairwise(starts[max(0, place - 1) : place + 2]):
            apart = (second.sent - first.sent) / MICROSECONDS
            if apart * rate < 0.999:
                kind = claim.task_type
                raise Violation(f"two tasks of type {kind} began only {apart:.2f} s apart")

    def assert_empty(self, *, ago: float) -> None:
        """The run believed the queue empty, so many seconds ago at the most: then nothing waits
        within its sight."""
        self._assert_order()
        self._assert_finds_what_waits(SEEN_WITHIN + ago)


def assert_reach(
    span: Span,
    start: Cursor | None,
    page: Page,
    index: MemoryTable,
    clock: int,
    for_nobody: Callable[[Item], bool],
    *,
    newest_first: bool,
) -> None:
    """A look leaves out nothing that is alive, and begins at the end that it asks for."""
    if not _looks_for_tasks(span):
        return
    everything = Span(index=span.index, status=span.status)
    rows = index.query(everything, newest_first=newest_first, limit=1_000_000).rows
    # At the oldest end lie those that are out of sight, since they cannot be alive.
    seen = [row for row in rows if newest_first or _inside(span, row[Attribute.TASK_CREATED])]
    if start is None and seen[: len(page.rows)] != list(page.rows):
        raise Violation("a look did not begin with the first tasks")
    for row in rows:
        live = not for_nobody(row) and row[Attribute.EXPIRES_AT] > clock
        shown = all(condition.holds(row) for condition in span.where)
        if live and not (shown and _inside(span, row[Attribute.TASK_CREATED])):
            raise Violation("is alive, and out of the workers' sight", str(row[Attribute.TASK_ID]))


def _looks_for_tasks(span: Span) -> bool:
    """Not one that measures the queue, or looks for what is out of sight."""
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


def _keyed(change: Change) -> Keyed | None:
    """The type and key of a claim that is sent together with a slot."""
    named = {c.attribute: str(c.value) for c in change.when if isinstance(c, Equals)}
    key = named.get(Attribute.TASK_KEY)
    return None if key is None else (named[Attribute.TASK_TYPE], key)


def _claims(change: Change) -> bool:
    """Whether it is a claim; a heartbeat sets no status."""
    return change.set.get(Attribute.TASK_STATUS) == Status.TAKEN


def _inside(span: Span, created: int) -> bool:
    return (span.first is None or created >= span.first) and (
        span.last is None or created <= span.last
    )
