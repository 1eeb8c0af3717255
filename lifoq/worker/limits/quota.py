"""A worker's quota of a limit that holds over all workers together.

The worker asks for it when only this limit keeps the next task from starting, renews it while it is
used, and gives back what nothing has used for a second: by renewals at the lease table (see
``items.lease_table``), twice a second. Where the lease table cannot be written, the quota runs out,
and nothing more is started on it.

All times are monotonic microseconds. Under the lock of the limits, but for ``lease_left``.
"""

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from operator import lt
from typing import Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.errors import LifoqError
from lifoq.items.lease_table import NONE, QUOTA_LASTS, Amount, Grant, Renewal, Whole
from lifoq.store.base import StoreBase
from lifoq.store.lease_tables import LeaseTables
from lifoq.worker.limits.concurrency_limit import TokenBucket
from lifoq.worker.limits.renewed import Renewed

RENEW_EVERY: Final = 0.5
"""Seconds between two renewals, while the quota is used or wanted."""
RENEWAL_PATIENCE: Final = 2.0
"""Seconds after which a renewal is sent, though the last one was not answered."""
RENEW_AFTER: Final = 1.5
"""Seconds after which a renewal writes, though nothing has changed."""
SLOTS, SHARDS = 0, 1
"""Kinds of an amount."""
USED_FOR: Final = 1.0
"""Seconds for which a quota is kept since a task used it, or asked for it."""
ASKS_AGAIN: Final = 0.5
"""Seconds after which nobody knows any more whether a task waits that would use it."""
REFUSED_FOR: Final = 1.0
"""Seconds for which a refusal is believed, unless a renewal has brought more by then."""
ANSWER_PATIENCE: Final = 0.1
"""Seconds for which the next task to start waits for the answer whether it may."""


class RateShards(TokenBucket):
    """The token bucket of the shards that this worker has."""

    def __init__(self, whole: Whole, host: Host) -> None:
        super().__init__(whole.rate or 1.0, host)
        self._whole = whole
        self.resize(0, tokens=0)

    def wait(self) -> float:
        return super().wait() if self._rate > 0 else math.inf

    def resize(self, shards: int, *, tokens: float) -> None:
        """Have so many shards from now on. ``tokens``: how many come with them, or, below 0, go."""
        self._fill()
        self._rate, self._burst = self._whole.gain(shards), self._whole.burst(shards)
        self._tokens = min(self._burst, self._tokens + tokens)

    def empty(self) -> None:
        self._tokens = 0.0

    @property
    def tokens(self) -> float:
        self._fill()
        return self._tokens


class Quota:
    def __init__(
        self,
        limit: str,
        whole: Whole,
        *,
        here: int,
        lease_tables: LeaseTables,
        worker: str,
        lease: float,
        host: Host,
    ) -> None:
        """``limit``: a task type's name, or empty for the queue's own. ``here``: tasks of any type
        that this process runs at a time, at the most. ``lease``: of its tasks."""
        self._lease_tables = lease_tables
        self._limit = limit
        self.whole = whole
        self._here = here
        self.bucket = None if whole.rate is None else RateShards(whole, host)
        self._worker = worker
        self._lease = microseconds(lease)
        self._host = host
        self.inside = 0
        self._has = self._fair = self._wants = NONE
        self._usable_until = 0
        self._begun: deque[tuple[int, int]] = deque()
        """When tasks entered in the last second, and how many were inside then."""
        self._asked, self._asked_at = NONE, 0
        self._refused_until = [0, 0]
        """Until when it is known that others have the rest: of the slots, of the shards."""
        self._answer_by = 0
        """Until when an answer is waited for; 0: nothing was asked."""
        self._number = 0
        self._unanswered = False
        self.in_lease_table = False
        """Whether the lease table may name this worker."""
        self.due_at: float = math.inf
        """When the next renewal is due."""

    # Using it

    def enter(self) -> None:
        """``wait`` has said that one may."""
        self.inside += 1
        self._begun.append((self._host.monotonic(), self.inside))
        if self.bucket is not None:
            self.bucket.take()

    def undo_enter(self, *, after: float) -> None:
        """Undo an ``enter``, so many seconds ago, after which nothing was started."""
        self.inside -= 1
        if self._begun:
            self._begun.pop()
        if self.bucket is not None:
            self.bucket.refund(after=after)

    def wait(self) -> float:
        """Seconds until another could enter; inf until one has left, or there is more of it."""
        if self.room <= 0:
            return math.inf
        return 0.0 if self.bucket is None else self.bucket.wait()

    def wait_of_any(self) -> float:
        """``wait``; but 0 where more of it may be had, if only a task waits that would use it."""
        return 0.0 if any(map(self._may_grow, self._lacking)) else self.wait()

    @property
    def room(self) -> float:
        """How many more may enter, whatever the rate."""
        if not self.usable:
            return 0
        return math.inf if self.whole.in_flight is None else self._has.slots - self.inside

    @property
    def usable(self) -> bool:
        """Whether it has not run out."""
        return self._host.monotonic() < self._usable_until

    def lease_left(self) -> float:
        """Seconds for which a task that runs on it may be leased at the most: others may have its
        slots from then on."""
        if self.whole.in_flight is None:
            return math.inf
        return max(0.0, (self._usable_until + self._lease - self._host.monotonic()) / MICROSECONDS)

    def is_full_of(self, hung: int) -> bool:
        """Whether so many that hang are all that it has, and no more could be had."""
        no_more = self._has.slots < self._wants.slots or self._has.slots == self.whole.in_flight
        return no_more and 0 < self._has.slots <= hung

    # Asking for more

    def ask(self, free: int) -> bool:
        """Request more: this limit alone blocks the next task. ``free``: tasks that this process
        could start at once. True if the run should wait for the answer; False if a recent refusal
        already answers it."""
        if self._all_taken and self.bucket is not None and 0 < self.bucket.wait() < math.inf:
            return False  # another slot would have to wait for a token
        now, lacking = self._host.monotonic(), self._lacking
        idle = free if SLOTS in lacking else max(0, self._has.slots - self.inside)
        self._asked, self._asked_at = Amount(idle, 0 if self._all_taken else free), now
        has, needs = self._has if self.usable else NONE, self._needs(free)
        if any(now >= self._refused_until[kind] and has[kind] < needs[kind] for kind in lacking):
            self._answer_by = self._answer_by or now + microseconds(ANSWER_PATIENCE)
            if not self._unanswered:
                self.due_at = now
        return self.answer_due > 0

    @property
    def answer_due(self) -> float:
        """Seconds for which the answer is still worth to be waited for."""
        return max(0.0, (self._answer_by - self._host.monotonic()) / MICROSECONDS)

    def _may_grow(self, kind: int) -> bool:
        """Whether there may be more of it than this process has; a refusal is asked about again."""
        most = min(self.whole.amount[kind], (self._here, math.inf)[kind])
        refused = self._host.monotonic() < self._refused_until[kind]
        known = refused and self._lately(self._asked_at, ASKS_AGAIN)
        return not self.usable or (self._has[kind] < most and not known)

    @property
    def _lacking(self) -> list[int]:
        """The kinds that keep another task from starting: slots, shards."""
        slots = self.whole.in_flight is not None and self.room <= 0
        shards = self.bucket is not None and (not self.usable or self.bucket.wait() > 0)
        shards = shards and not self._all_taken
        return [kind for kind, lacks in ((SLOTS, slots), (SHARDS, shards)) if lacks]

    @property
    def _all_taken(self) -> bool:
        """Whether it has slots, and none of them is free: then shards would be of no use."""
        return 0 < self._has.slots <= self.inside

    def _lately(self, moment: int, seconds: float = USED_FOR) -> bool:
        return self._host.monotonic() < moment + microseconds(seconds)

    def _needs(self, free: int) -> Amount:
        """What was used in the last second, and what was asked for and can be used at once."""
        while self._begun and not self._lately(self._begun[0][0]):
            self._begun.popleft()
        asked = self._asked if self._lately(self._asked_at) else NONE
        used = max((inside for _, inside in self._begun), default=self.inside)
        slots = max(used, self.inside + min(free, asked.slots))
        shards = len(self._begun) + min(free, asked.shards)
        most, gain = self.whole.amount, self.whole.gain(1) or 1
        return Amount(
            min(most.slots, self._here, slots), min(most.shards, math.ceil(shards / gain))
        )

    # Renewing it

    def renewal(self, free: int, *, more: bool = True) -> Callable[[], Renewed]:
        """Begin a renewal; return the call, to be made beside the run. ``free``: as for ``ask``.
        ``more``: whether more tasks may be started; else all is given back that is not in use."""
        now = self._host.monotonic()
        used = 0 if self.whole.in_flight is None else self.inside
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
        self._unanswered = self.in_lease_table = True
        self.due_at = now + microseconds(RENEWAL_PATIENCE)
        renewal = Renewal(
            worker=self._worker,
            number=self._number,
            keeps=keeps,
            wants=wants,
            # In place of the task of a type that asks, another can start: it does not insist.
            insists=not (self._limit and self._answer_by),
            returns=before if self.bucket is None else before - self.bucket.tokens,
            lease=self._lease,
            renew=now >= self._usable_until - microseconds(QUOTA_LASTS - RENEW_AFTER),
        )
        return partial(self._take, renewal)

    def _take(self, renewal: Renewal) -> Renewed:
        try:
            grant = self._lease_tables.take(self._limit, self.whole, renewal)
        except LifoqError as error:
            return Renewed(limit=self._limit, number=renewal.number, error=error)
        return Renewed(limit=self._limit, number=renewal.number, grant=grant)

    def renewed(self, answer: Renewed) -> bool:
        """Take in the answer to a renewal; that to an earlier one than the last is not used. Return
        whether the run waited for it, or more tasks may start now."""
        if answer.number != self._number:
            return False
        asked, wait = self._answer_by > 0, self.wait()
        self._unanswered, self._answer_by = False, 0
        if answer.grant is not None:
            self._granted(answer.grant)
            self.in_lease_table = self._has != NONE or self._wants != NONE
        now = self._host.monotonic()
        for kind in (SLOTS, SHARDS):
            if answer.error is not None or self._has[kind] < self._wants[kind]:
                self._refused_until[kind] = now + microseconds(REFUSED_FOR)
        keeps = Amount(max(self.inside, self._fair.slots), self._fair.shards)
        if answer.grant is not None and any(map(lt, keeps, self._has)):
            self.due_at = now  # others wait for the rest
        elif self.in_lease_table or self._wants != NONE:
            self.due_at = now + microseconds(RENEW_EVERY)
        else:
            self.due_at = math.inf
        return asked or self.wait() < wait

    @property
    def answered(self) -> bool:
        """Whether the last renewal was answered."""
        return not self._unanswered

    def _granted(self, grant: Grant) -> None:
        if grant.sent is not None:
            self._usable_until = grant.sent + microseconds(QUOTA_LASTS)
        self._has, self._fair = grant.has, grant.fair
        if self.bucket is not None:
            self.bucket.resize(grant.kept_shards, tokens=0)
            self.bucket.resize(grant.has.shards, tokens=grant.tokens)


class Quotas:
    """Makes the quotas of one process."""

    def __init__(self, store: StoreBase, *, lease: float, host: Host) -> None:
        self._lease_tables = LeaseTables(store, host=host)
        self._worker = host.new_id()[:12]
        self._lease = lease
        self._host = host

    def of(self, limit: str, *, in_flight: int | None, rate: float | None, here: int) -> Quota:
        return Quota(
            limit,
            Whole(in_flight=in_flight, rate=rate),
            here=here,
            lease_tables=self._lease_tables,
            worker=self._worker,
            lease=self._lease,
            host=self._host,
        )
