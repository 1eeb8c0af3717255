"""A worker's quota: its part of a limit that holds over all workers together.

The life of a quota, in numbers. A task type may have ten tasks at work over all workers
(``in_flight=10``), and workers A and B have none of it.

1. A has four free slots, and a task waits that nothing but this limit keeps from starting. ``ask``
   makes a renewal due at once. The run waits for its answer, 0.1 s at the most
   (``ANSWER_PATIENCE``).
2. ``renewal`` makes a background call. It writes A into the limit's quota table: A has 4 slots and
   wants 4. ``take_answer`` takes the answer: A may start tasks on its 4 slots for 5 s from when the
   write was sent (``QUOTA_LASTS``).
3. While A uses the quota or wants more, it reads the quota table every 0.5 s (``RENEW_EVERY``), and
   writes when something changes or when 1.5 s have passed since its last write (``RENEW_AFTER``).
4. B wants ten slots and gets the six that are free. Then A wants eight. An even division gives each
   five: B's next renewals tell it so. When the first of its six tasks has ended, B starts no other
   on that slot, and its next renewal gives the slot back. A has five then.
5. No other task was inside at A when one entered, for a second: A's next renewal gives all slots
   but that one back.
6. A cannot reach DynamoDB: 5 s after its last write was sent its quota has run out, and A starts
   nothing more on it. No task that A runs is leased beyond the quota's end and one lease more
   (``lease_left``). So others may take A's slots when that time is over, and the clocks' greatest
   difference (``CLOCKS_APART``) as well.

A rate is divided in the same way: into token-bucket shards, each with an equal part of the rate.
``docs/decisions/shared-limits.md`` has the whole protocol, and an example over time.

All times are monotonic microseconds, unless a docstring says seconds.
"""

import math
from collections.abc import Callable
from functools import partial
from operator import lt
from typing import Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.errors import LifoqError
from lifoq.items.quota_table import NONE, QUOTA_LASTS, Amount, Grant, Renewal, SharedLimit
from lifoq.store.base import StoreBase
from lifoq.store.quota_tables import QuotaTables
from lifoq.worker.limits.concurrency_limit import TokenBucket
from lifoq.worker.limits.demand import Demand
from lifoq.worker.limits.renewal_answer import RenewalAnswer

RENEW_EVERY: Final = 0.5
"""Seconds between two renewals at the quota table, while the quota is used or wanted."""
RENEWAL_PATIENCE: Final = 2.0
"""Seconds after which a quota is renewed again, though the last renewal was not answered."""
RENEW_AFTER: Final = 1.5
"""Seconds since its last write after which a quota is written anew though nothing changes."""
SLOTS, SHARDS = 0, 1
"""The places of slots and shards in an ``Amount``."""
REFUSED_FOR: Final = 1.0
"""Seconds for which a refusal is believed, unless a renewal between has brought more."""
ANSWER_PATIENCE: Final = 0.1
"""Seconds for which the next task to start waits for the answer whether it may."""


class RateShards(TokenBucket):
    """The token-bucket shards that this worker has, as one bucket."""

    def __init__(self, shared: SharedLimit, host: Host) -> None:
        super().__init__(shared.rate or 1.0, host)
        self._shared = shared
        self.resize(0, tokens=0)

    def wait(self) -> float:
        """Return the seconds until there is a token; inf without a shard."""
        return super().wait() if self._rate > 0 else math.inf

    def resize(self, shards: int, *, tokens: float) -> None:
        """Have so many shards from now on, and so many tokens more. Tokens for which these shards
        have no room are lost."""
        self._fill()
        self._rate, self._burst = self._shared.gain(shards), self._shared.burst(shards)
        self._tokens = min(self._burst, self._tokens + tokens)

    @property
    def tokens(self) -> float:
        """The tokens that there are now."""
        self._fill()
        return self._tokens


class Quota:
    """The quota that this worker has of one limit.

    All fields are written under the lock of ``Limits``: by the run, and by the threads of claims
    and handlers that leave (``undo_enter``, ``inside``). Without the lock others read ``usable``,
    ``lease_left``, ``due_at`` and ``answered``, each a single read of one field. The background
    call (``_take``) reads only what never changes.
    """

    def __init__(
        self,
        limit: str,
        shared: SharedLimit,
        *,
        here: int,
        quota_tables: QuotaTables,
        worker: str,
        lease: float,
        host: Host,
    ) -> None:
        """``limit``: a task type's name, or empty for the queue's own limit. ``here``: the most
        tasks of any type that this process runs at a time. ``lease``: of its tasks, in seconds."""
        # Set once, and never changed.
        self._quota_tables = quota_tables
        self._limit = limit
        self.shared = shared
        self._here = here
        self._worker = worker
        self._lease = microseconds(lease)
        self._host = host
        # What this worker has. ``enter`` and its undoing write ``inside``, and so do handlers that
        # return; the rest is written by ``take_answer``, and ``renewal`` lowers ``_has``.
        self.inside = 0
        """Tasks that run on the quota."""
        self._has = NONE
        self._fair = NONE
        """The most that this worker may have while the others want what they wanted at its last
        renewal; nothing before the first answer, as ``_has``."""
        self._usable_until = 0
        self.bucket = None if shared.rate is None else RateShards(shared, host)
        # What its tasks want. ``enter``, its undoing and ``ask`` write the demand.
        self._demand = Demand(host)
        # What was asked, and what is known of the answer. ``ask`` sets ``_answer_by``;
        # ``take_answer`` clears it and writes the rest.
        self._answer_by = 0
        """The moment until which the run waits for the answer; 0: it waits for none."""
        self._refused_until = [0, 0]
        """The moments until which it is known that others have the rest: of the slots, of the
        shards."""
        # The renewal under way, or the last. ``renewal`` writes all, and ``take_answer`` the last
        # three; ``ask`` brings ``due_at`` forward.
        self._number = 0
        self._wants = NONE
        self._unanswered = False
        self.in_quota_table = False
        """True if the quota table may name this worker."""
        self.due_at: float = math.inf
        """When the next renewal is due."""

    # Using it

    def enter(self) -> None:
        """Let a task in, after ``wait`` has returned 0."""
        self.inside += 1
        self._demand.entered(inside=self.inside)
        if self.bucket is not None:
            self.bucket.take()

    def undo_enter(self, *, after: float) -> None:
        """Undo an ``enter`` that is so many seconds ago: its task was not started."""
        self.inside -= 1
        self._demand.undo_entered()
        if self.bucket is not None:
            self.bucket.refund(after=after)

    def wait(self) -> float:
        """Return the seconds until another task could enter; inf until one has left, or until the
        quota is larger."""
        if self.free_slots <= 0:
            return math.inf
        return 0.0 if self.bucket is None else self.bucket.wait()

    def wait_of_any(self) -> float:
        """Return the seconds for which a poll would be useless: ``wait``, but 0 where a waiting
        task, once found, could ask for more."""
        return 0.0 if any(map(self._may_grow, self._lacking)) else self.wait()

    @property
    def free_slots(self) -> float:
        """The number of tasks that may enter beside those inside, whatever the rate."""
        if not self.usable:
            return 0
        if self.shared.in_flight is None:
            return math.inf
        return max(0, self._may_fill - self.inside)

    @property
    def _may_fill(self) -> int:
        """The slots on which tasks may run. A slot above the fair part is not filled again once its
        task has ended, so that the next renewal can give it back."""
        return min(self._has.slots, self._fair.slots)

    @property
    def usable(self) -> bool:
        """True until the quota has run out."""
        return self._host.monotonic() < self._usable_until

    def lease_left(self) -> float:
        """Return the seconds for which a task that runs on the quota may be leased at the most:
        others may have its slots from then on. inf where the limit has no slots."""
        if self.shared.in_flight is None:
            return math.inf
        return max(0.0, (self._usable_until + self._lease - self._host.monotonic()) / MICROSECONDS)

    def is_full_of(self, hung: int) -> bool:
        """Return True if so many tasks that hang take the whole quota, and it cannot grow."""
        no_more = self._has.slots < self._wants.slots or self._has.slots == self.shared.in_flight
        return no_more and 0 < self._has.slots <= hung

    # Asking for more

    def ask(self, free: int) -> bool:
        """Ask for a larger quota: the next task is blocked by this limit alone. ``free``: tasks
        that this process could start at once. Return True if the run should wait for the answer,
        False if a recent refusal already answers it, or a slot would have to wait for a token."""
        if self._all_taken and self.bucket is not None and 0 < self.bucket.wait() < math.inf:
            return False  # another slot would have to wait for a token
        now, lacking = self._host.monotonic(), self._lacking
        idle = free if SLOTS in lacking else max(0, self._has.slots - self.inside)
        self._demand.ask(Amount(idle, 0 if self._all_taken else free))
        has, needs = self._has if self.usable else NONE, self._needs(free)
        if any(now >= self._refused_until[kind] and has[kind] < needs[kind] for kind in lacking):
            self._answer_by = self._answer_by or now + microseconds(ANSWER_PATIENCE)
            if not self._unanswered:
                self.due_at = now
        return self.answer_due > 0

    @property
    def answer_due(self) -> float:
        """Seconds for which the run should still wait for an answer; 0 if it waits for none."""
        return max(0.0, (self._answer_by - self._host.monotonic()) / MICROSECONDS)

    def _may_grow(self, kind: int) -> bool:
        """Return True if this process may get more slots (or shards) than it has. A refusal is
        believed while tasks have asked a moment ago; after that the next task may ask again."""
        most = min(self.shared.amount[kind], (self._here, math.inf)[kind])
        refused = self._host.monotonic() < self._refused_until[kind]
        known = refused and self._demand.asked_just_now
        return not self.usable or (self._has[kind] < most and not known)

    @property
    def _lacking(self) -> list[int]:
        """The kinds, slots or shards, that keep the next task out."""
        slots = self.shared.in_flight is not None and self.free_slots <= 0
        shards = self.bucket is not None and (not self.usable or self.bucket.wait() > 0)
        shards = shards and not self._all_taken
        return [kind for kind, lacks in ((SLOTS, slots), (SHARDS, shards)) if lacks]

    @property
    def _all_taken(self) -> bool:
        """True if the quota has slots, and none of them is free: more shards would not help."""
        return self._has.slots > 0 and self._may_fill <= self.inside

    def _needs(self, free: int) -> Amount:
        """Return what was used in the last second, and what was asked for and can be used at
        once."""
        asked = self._demand.asked
        used = self._demand.most_inside(self.inside)
        slots = max(used, self.inside + min(free, asked.slots))
        starts = self._demand.starts + min(free, asked.shards)
        most, gain = self.shared.amount, self.shared.gain(1) or 1
        return Amount(
            min(most.slots, self._here, slots), min(most.shards, math.ceil(starts / gain))
        )

    # Renewing it

    def renewal(self, free: int, *, more: bool = True) -> Callable[[], RenewalAnswer]:
        """Begin a renewal: return the background call that makes it. ``free``: as for ``ask``.
        ``more``: False gives back all that is not in use, since nothing more is to start.

        The quota shrinks at once by what it gives back, so that nothing starts on that while the
        call is under way.
        """
        now = self._host.monotonic()
        used = 0 if self.shared.in_flight is None else self.inside
        wants = self._needs(free) if more else Amount(used)
        keeps = Amount(
            max(used, min(self._has.slots, wants.slots, self._fair.slots)),
            min(self._has.shards, wants.shards, self._fair.shards),
        )
        before = 0.0 if self.bucket is None else self.bucket.tokens
        self._has = Amount(*map(min, self._has, keeps))
        if self.bucket is not None:
            self.bucket.resize(self._has.shards, tokens=0)
        self._wants = wants
        self._number += 1
        self._unanswered = self.in_quota_table = True
        self.due_at = now + microseconds(RENEWAL_PATIENCE)
        renewal = Renewal(
            worker=self._worker,
            number=self._number,
            keeps=keeps,
            wants=wants,
            # For a type: take only what is free, since another task can start instead.
            insists=not (self._limit and self._answer_by),
            returns=before if self.bucket is None else before - self.bucket.tokens,
            lease=self._lease,
            renew=now >= self._usable_until - microseconds(QUOTA_LASTS - RENEW_AFTER),
        )
        return partial(self._take, renewal)

    def _take(self, renewal: Renewal) -> RenewalAnswer:
        try:
            grant = self._quota_tables.take(self._limit, self.shared, renewal)
        except LifoqError as error:
            return RenewalAnswer(limit=self._limit, number=renewal.number, error=error)
        return RenewalAnswer(limit=self._limit, number=renewal.number, grant=grant)

    def take_answer(self, answer: RenewalAnswer) -> bool:
        """Take the answer to a renewal. The answer to an earlier one than the last is ignored.
        Return True if the run waited for it, or if others may enter since."""
        if answer.number != self._number:
            return False
        asked, wait = self._answer_by > 0, self.wait()
        self._unanswered, self._answer_by = False, 0
        if answer.grant is not None:
            self._granted(answer.grant)
            self.in_quota_table = self._has != NONE or self._wants != NONE
        now = self._host.monotonic()
        for kind in (SLOTS, SHARDS):
            if answer.error is not None or self._has[kind] < self._wants[kind]:
                self._refused_until[kind] = now + microseconds(REFUSED_FOR)
        keeps = Amount(max(self.inside, self._fair.slots), self._fair.shards)
        if answer.grant is not None and any(map(lt, keeps, self._has)):
            self.due_at = now  # others wait for the rest
        elif self.in_quota_table or self._wants != NONE:
            self.due_at = now + microseconds(RENEW_EVERY)
        else:
            self.due_at = math.inf
        return asked or self.wait() < wait

    @property
    def answered(self) -> bool:
        """True if no renewal is under way."""
        return not self._unanswered

    def _granted(self, grant: Grant) -> None:
        if grant.sent is not None:
            self._usable_until = grant.sent + microseconds(QUOTA_LASTS)
        self._has, self._fair = grant.has, grant.fair
        if self.bucket is not None:
            # First the shards that were kept, with their tokens; what was given back is lost here.
            self.bucket.resize(grant.kept_shards, tokens=0)
            self.bucket.resize(grant.has.shards, tokens=grant.tokens)


class Quotas:
    """Makes the quotas of one process, which has one name in all quota tables."""

    def __init__(self, store: StoreBase, *, worker: str, lease: float, host: Host) -> None:
        """``worker``: the name of the process. ``lease``: of its tasks, in seconds."""
        self._quota_tables = QuotaTables(store, host=host)
        self._worker = worker
        self._lease = lease
        self._host = host

    def of(self, limit: str, *, in_flight: int | None, rate: float | None, here: int) -> Quota:
        """Make the quota of one limit. ``limit`` and ``here``: as for ``Quota``; ``in_flight`` and
        ``rate`` (starts per second): of all workers together."""
        return Quota(
            limit,
            SharedLimit(in_flight=in_flight, rate=rate),
            here=here,
            quota_tables=self._quota_tables,
            worker=self._worker,
            lease=self._lease,
            host=self._host,
        )
