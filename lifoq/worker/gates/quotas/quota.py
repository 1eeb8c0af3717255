"""The gate of a quota: a worker's part of a limit that holds over all workers together.

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
from typing import Any, Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.errors import LifoqError
from lifoq.items.quota_table import NONE, QUOTA_LASTS, Amount, Renewal, SharedLimit
from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim
from lifoq.store.quota_tables import QuotaTables
from lifoq.worker.gates.gate import Gate, Left
from lifoq.worker.gates.quotas.demand import Demand
from lifoq.worker.gates.quotas.renewal_answer import RenewalAnswer
from lifoq.worker.gates.quotas.state import SHARDS, SLOTS, QuotaState
from lifoq.worker.gates.rate import Bucket
from lifoq.worker.gates.slots import Slots

RENEW_AFTER: Final = 1.5
"""Seconds since its last write after which a quota is written anew though nothing changes."""


class RateShards(Bucket):
    """The token-bucket shards that this worker has, as one bucket."""

    def __init__(self, shared: SharedLimit, *, now: int) -> None:
        super().__init__(shared.rate or 1.0, now=now)
        self._shared = shared
        self.resize(0, tokens=0, now=now)

    def poll_wait(self, now: int) -> float:
        """Return the seconds until there is a token; inf without a shard."""
        return super().poll_wait(now) if self._rate > 0 else math.inf

    def resize(self, shards: int, *, tokens: float, now: int) -> None:
        """Have so many shards from now on, and so many tokens more. Tokens for which these shards
        have no room are lost."""
        self._fill(now)
        self._rate, self._burst = self._shared.gain(shards), self._shared.burst(shards)
        self._tokens = min(self._burst, self._tokens + tokens)


class Quota(Gate):
    """The quota that this worker has of one limit: of a task type's, or of the queue's own.

    It is written under the lock of ``Gates``: by the run, and by the threads of claims and handlers
    that leave (``undo``, ``leave``). Without the lock others read ``may_begin`` and ``lease_left``,
    each a single read of one frozen state. The background call (``_take``) reads only what never
    changes.
    """

    can_grow = True

    def __init__(
        self,
        limit: str,
        shared: SharedLimit,
        *,
        slots: Slots,
        whole: "Quota | None",
        quota_tables: QuotaTables,
        worker: str,
        lease: float,
        host: Host,
    ) -> None:
        """``limit``: a task type's name, or empty for the queue's own limit. ``slots``: those of
        the worker. ``whole``: the quota of the queue's own limit, for that of a type. ``lease``: of
        its tasks, in seconds."""
        # Set once, and never changed.
        self._quota_tables = quota_tables
        self.limit = limit
        self.shared = shared
        self._slots = slots
        self._whole = whole
        self._worker = worker
        self._lease = microseconds(lease)
        self._host = host
        # Written as tasks pass.
        self.inside = 0
        """Tasks that run on the quota."""
        self.hung = 0
        """The number of those inside that have outlived their attempt's timeout."""
        self.bucket = None if shared.rate is None else RateShards(shared, now=host.monotonic())
        self._demand = Demand(host)
        # Written by ``ask``, ``renewal`` and ``take_answer``.
        self.state = QuotaState()

    # Passing

    def wait(self, row: Candidate, now: int) -> float:
        """Return the seconds until another task could enter; inf until one has left, or until the
        quota is larger."""
        return self._wait(now)

    def poll_wait(self, now: int) -> float:
        """Return the seconds for which a poll would be useless: ``wait``, but 0 where a waiting
        task, once found, could ask for more."""
        grows = any(self._may_grow(kind, now) for kind in self._lacking(now))
        return 0.0 if grows else self._wait(now)

    def why(self, row: Candidate, now: int) -> str:
        whose, most = f"task type {self.limit}" if self.limit else "the queue", self.shared
        said = [] if most.in_flight is None else [f"{most.in_flight} tasks at a time"]
        said += [] if most.rate is None else [f"{most.rate:g} starts per second"]
        limit = " and ".join(said)
        return f"{whose} is limited to {limit} over all workers; this worker's part of it is used"

    def may_begin(self, row: Candidate, claim: Claim | None, now: int) -> bool:
        """Return False once the quota has run out."""
        return self.state.usable(now)

    def enter(self, row: Candidate, now: int) -> int | None:
        self.inside += 1
        self._demand.entered(inside=self.inside)
        return None if self.bucket is None else self.bucket.enter(row, now)

    def undo(self, token: Any, *, after: float, error: Exception | None = None) -> None:
        self.inside -= 1
        self._demand.undo_entered()
        if self.bucket is not None:
            self.bucket.undo(token, after=after)

    def hangs(self, token: Any) -> None:
        self.hung += 1

    def leave(self, token: Any, left: Left) -> None:
        self.inside -= 1
        self.hung -= left.hung

    @property
    def is_stuck(self) -> bool:
        """True if tasks that hang take the whole quota, and it cannot grow."""
        has, wants = self.state.has.slots, self.state.wants.slots
        return (has < wants or has == self.shared.in_flight) and 0 < has <= self.hung

    def free_slots(self, now: int) -> float:
        """Return the number of tasks that may enter beside those inside, whatever the rate."""
        if not self.state.usable(now):
            return 0
        if self.shared.in_flight is None:
            return math.inf
        return max(0, self._may_fill - self.inside)

    def lease_left(self) -> float:
        """Return the seconds for which a task that runs on the quota may be leased at the most:
        others may have its slots from then on. inf where the limit has no slots."""
        if self.shared.in_flight is None:
            return math.inf
        left = self.state.usable_until + self._lease - self._host.monotonic()
        return max(0.0, left / MICROSECONDS)

    def _wait(self, now: int) -> float:
        if self.free_slots(now) <= 0:
            return math.inf
        return 0.0 if self.bucket is None else self.bucket.poll_wait(now)

    @property
    def _may_fill(self) -> int:
        """The slots on which tasks may run. A slot above the fair part is not filled again once its
        task has ended, so that the next renewal can give it back."""
        return min(self.state.has.slots, self.state.fair.slots)

    # Asking for more

    def ask(self, now: int) -> bool:
        """Ask for a larger quota. Return True if the run should wait for the answer, False if a
        recent refusal already answers it, or a slot would have to wait for a token."""
        bucket, free = self.bucket, self._could_start(now)
        if self._all_taken and bucket is not None and 0 < bucket.poll_wait(now) < math.inf:
            return False  # another slot would have to wait for a token
        state, lacking = self.state, self._lacking(now)
        idle = free if SLOTS in lacking else max(0, state.has.slots - self.inside)
        self._demand.ask(Amount(idle, 0 if self._all_taken else free))
        has, needs = state.has if state.usable(now) else NONE, self._needs(free)
        if any(now >= state.refused_until[kind] and has[kind] < needs[kind] for kind in lacking):
            self.state = state.asks(now)
        return self.answer_due(now) > 0

    def answer_due(self, now: int) -> float:
        return max(0.0, (self.state.answer_by - now) / MICROSECONDS)

    def _could_start(self, now: int) -> int:
        """Return the number of tasks that this process could start at once, if this quota were
        large enough. A quota of all tasks that is smaller counts, unless it may be about to
        grow."""
        free, whole = self._slots.number - self._slots.inside, self._whole
        if whole is None or whole.answer_due(now) > 0:
            return free
        return int(min(free, whole.free_slots(now)))

    def _may_grow(self, kind: int, now: int) -> bool:
        """Return True if this process may get more slots (or shards) than it has. A refusal is
        believed while tasks have asked a moment ago; after that the next task may ask again."""
        most = min(self.shared.amount[kind], (self._slots.number, math.inf)[kind])
        known = now < self.state.refused_until[kind] and self._demand.asked_just_now
        return not self.state.usable(now) or (self.state.has[kind] < most and not known)

    def _lacking(self, now: int) -> list[int]:
        """Return the kinds, slots or shards, that keep the next task out."""
        slots = self.shared.in_flight is not None and self.free_slots(now) <= 0
        shards = self.bucket is not None and (
            not self.state.usable(now) or self.bucket.poll_wait(now) > 0
        )
        shards = shards and not self._all_taken
        return [kind for kind, lacks in ((SLOTS, slots), (SHARDS, shards)) if lacks]

    @property
    def _all_taken(self) -> bool:
        """True if the quota has slots, and none of them is free: more shards would not help."""
        return self.state.has.slots > 0 and self._may_fill <= self.inside

    def _needs(self, free: int) -> Amount:
        """Return what was used in the last second, and what was asked for and can be used at
        once."""
        asked = self._demand.asked
        used = self._demand.most_inside(self.inside)
        slots = max(used, self.inside + min(free, asked.slots))
        starts = self._demand.starts + min(free, asked.shards)
        most, gain = self.shared.amount, self.shared.gain(1) or 1
        return Amount(
            min(most.slots, self._slots.number, slots), min(most.shards, math.ceil(starts / gain))
        )

    # Renewing it

    def renewal(self, *, more: bool = True) -> Callable[[], RenewalAnswer]:
        """Begin a renewal: return the background call that makes it. ``more``: False gives back all
        that is not in use, since nothing more is to start."""
        now, state, bucket = self._host.monotonic(), self.state, self.bucket
        used = 0 if self.shared.in_flight is None else self.inside
        wants = self._needs(self._could_start(now)) if more else Amount(used)
        keeps = Amount(
            max(used, min(state.has.slots, wants.slots, state.fair.slots)),
            min(state.has.shards, wants.shards, state.fair.shards),
        )
        self.state = state.renews(now, keeps=keeps, wants=wants)
        returns = 0.0
        if bucket is not None:
            before = bucket.tokens(now)
            bucket.resize(self.state.has.shards, tokens=0, now=now)
            returns = before - bucket.tokens(now)
        renewal = Renewal(
            worker=self._worker,
            number=self.state.number,
            keeps=keeps,
            wants=wants,
            # For a type: take only what is free, since another task can start instead.
            insists=not (self.limit and state.answer_by),
            returns=returns,
            lease=self._lease,
            renew=now >= state.usable_until - microseconds(QUOTA_LASTS - RENEW_AFTER),
        )
        return partial(self._take, renewal)

    def _take(self, renewal: Renewal) -> RenewalAnswer:
        try:
            grant = self._quota_tables.take(self.limit, self.shared, renewal)
        except LifoqError as error:
            return RenewalAnswer(limit=self.limit, number=renewal.number, error=error)
        return RenewalAnswer(limit=self.limit, number=renewal.number, grant=grant)

    def take_answer(self, answer: RenewalAnswer) -> bool:
        """Take the answer to a renewal. The answer to an earlier one than the last is ignored.
        Return True if the run waited for it, or if others may enter since."""
        if answer.number != self.state.number:
            return False
        now = self._host.monotonic()
        asked, wait = self.state.answer_by > 0, self._wait(now)
        grant = answer.grant
        if grant is None:
            self.state = self.state.failed(now)
        else:
            self.state = self.state.granted(grant, now, inside=self.inside)
            if self.bucket is not None:
                # First the shards that were kept, with their tokens; what was given back is lost.
                self.bucket.resize(grant.kept_shards, tokens=0, now=now)
                self.bucket.resize(grant.has.shards, tokens=grant.tokens, now=now)
        return asked or self._wait(now) < wait
