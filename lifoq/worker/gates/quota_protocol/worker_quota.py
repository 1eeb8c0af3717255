"""The gate of a quota: a worker's part of a limit that holds over all workers together.

The life of a quota, in numbers. A task type may have ten tasks at work over all workers
(``in_flight=10``), and workers A and B have none of it.

1. A could run four tasks more, and one waits that nothing but this limit keeps from starting.
   ``ask_for_room`` makes a renewal due at once. The run waits for its answer, 0.1 s at the most
   (``ANSWER_PATIENCE``). This first renewal only takes what is free.
2. ``renewal`` makes a background call. It writes A into the limit's quota table: A has 4 slots of
   this limit and wants 4. ``take_answer`` takes the answer: A may start tasks on its 4 slots for
   5 s from when the write was sent (``QUOTA_LASTS``).
3. While A uses the quota or wants more, it reads the quota table every 0.5 s (``RENEW_EVERY``), and
   writes when something changes or when 1.5 s have passed since its last write (``RENEW_AFTER``).
4. B wants ten slots and gets the six that are free. Then A wants eight. Nothing is free, so A's
   first renewal brings nothing. The one after it insists: the quota table says that A wants eight.
   An even division gives each five, as B's next renewal tells it. When the first of its six tasks
   has ended, B starts no other on that slot, and its next renewal gives the slot back. A has five
   then.
5. For a second, A has no more than one task at work at a time: A's next renewal gives all slots
   but one back.
6. A cannot reach DynamoDB: 5 s after its last write was sent its quota has run out, and A starts
   nothing more on it. No task that A runs is leased beyond the quota's end and one lease more
   (``lease_left``). So others may take A's slots when that time is over, and the clocks' greatest
   difference (``CLOCKS_APART``) as well.

A rate is divided in the same way: into token-bucket shards, each with an equal part of the rate.
Where a limit counts the units that tasks weigh (``gates.unit_quota``), a slot is a unit.
``docs/decisions/shared-limits.md`` has the whole protocol, and an example over time.

All times are monotonic microseconds, unless a docstring says seconds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.errors import LifoqError
from lifoq.items.quota_table import (
    NONE,
    QUOTA_LASTS,
    SHARDS,
    SLOTS,
    Amount,
    Renewal,
    SharedLimit,
    quota_table_id,
)
from lifoq.store.candidate import Candidate
from lifoq.store.claims import Claim
from lifoq.store.quota_tables import QuotaTables
from lifoq.worker.gates.counting import CountedCall, CountingGate
from lifoq.worker.gates.quota_protocol.demand import Demand, Entered
from lifoq.worker.gates.quota_protocol.renewal_answer import RenewalAnswer
from lifoq.worker.gates.quota_protocol.state import QuotaState
from lifoq.worker.gates.quota_protocol.times import RENEW_AFTER
from lifoq.worker.gates.rate import Bucket
from lifoq.worker.gates.slots import Slots


class RateShards(Bucket):
    """The token-bucket shards that this worker has, as one bucket."""

    def __init__(
        self, shared: SharedLimit, *, now: int, weigh: Callable[[Candidate], int] | None
    ) -> None:
        super().__init__(shared.rate or 1.0, now=now, weigh=weigh)
        self._shared = shared
        self._shards = 0
        self.resize(0, tokens=0, now=now)

    def wait_of_any(self, now: int) -> float:
        """Return the seconds until there is a token; inf without a shard."""
        return super().wait_of_any(now) if self._rate > 0 else math.inf

    def resize(self, shards: int, *, tokens: float, now: int) -> None:
        """Have so many shards from now on, and so many tokens more. Tokens for which these shards
        have no room are lost. A shard that goes takes its part of what is owed along."""
        self._fill(now)
        if self._tokens < 0:
            self._tokens *= min(1.0, shards / max(1, self._shards))
        self._shards = shards
        self._rate, self._burst = self._shared.gain(shards), self._shared.room(shards)
        self._tokens = min(self._burst, self._tokens + tokens)

    def owes(self, tokens: float, now: int) -> None:
        """Owe so many tokens more."""
        self._fill(now)
        self._tokens -= tokens


@dataclass(kw_only=True)
class QuotaUse(CountedCall):
    """A call of a handler that runs on the quota."""

    entered: Entered
    """The note of it in the quota's ``Demand``."""


class Quota(CountingGate):
    """The quota that this worker has of one limit: of a task type's, or of the queue's own.

    It is written under the lock of ``Gates``: by the run, and by the threads of claims and handlers
    that leave (``undo``, ``leave``). Without the lock others read ``may_begin``, ``lease_left`` and
    when a renewal is due, each a single read of one frozen state. The background call (``_take``)
    reads nothing that changes here.
    """

    can_grow = True

    def __init__(
        self,
        limit_name: str,
        shared: SharedLimit,
        *,
        slots: Slots,
        whole: "Quota | None",
        quota_tables: QuotaTables,
        worker: str,
        lease: float,
        host: Host,
        weigh: Callable[[Candidate], int] | None = None,
    ) -> None:
        """``limit_name``: a task type's name, or empty for the queue's own limit. ``slots``: those
        of the worker. ``whole``: the quota of the queue's own limit, for that of a type.
        ``lease``: of its tasks, in seconds. ``weigh``: tells the units that a task takes; None:
        each is one."""
        # Set once, and never changed.
        self._quota_tables = quota_tables
        self.limit_name = limit_name
        self.quota_table = quota_table_id(limit_name, units=shared.unit is not None)
        self.shared = shared
        self._weigh = weigh or _one
        self._slots = slots
        self._whole = whole
        self._worker = worker
        self._lease = microseconds(lease)
        self._host = host
        # Written as tasks pass.
        self.bucket = (
            None
            if shared.rate is None
            else RateShards(shared, now=host.monotonic(), weigh=self._weigh)
        )
        self._demand = Demand(host)
        self._asker = 1
        """The weight of the task that asked last."""
        # Written by ``ask_for_room``, ``renewal`` and ``take_answer``.
        self.state = QuotaState()

    # Passing

    def wait(self, row: Candidate, now: int) -> float:
        """Return the seconds until the task could enter; inf until another has left, or until the
        quota is larger."""
        return self._wait(self._weigh(row), now)

    def wait_of_any(self, now: int) -> float:
        """Return the seconds for which a poll would be useless: ``wait``, but 0 where a waiting
        task, once found, could ask for more."""
        return self._poll_wait(1, now)

    def _poll_wait(self, weight: int, now: int) -> float:
        grows = any(self._may_grow(resource, now) for resource in self._lacking(weight, now))
        return 0.0 if grows else self._wait(weight, now)

    def why(self, row: Candidate, now: int) -> str:
        whose = f"task type {self.limit_name}" if self.limit_name else "the queue"
        most = self.shared
        said = [] if most.in_flight is None else [f"{most.in_flight} tasks at a time"]
        said += [] if most.rate is None else [f"{most.rate:g} starts per second"]
        limit = " and ".join(said)
        return f"{whose} is limited to {limit} over all workers; this worker's part of it is used"

    def may_begin(self, row: Candidate, claim: Claim | None, now: int) -> bool:
        """Return False once the quota has run out."""
        return self.state.usable(now)

    def enter(self, row: Candidate, now: int) -> QuotaUse:
        weight = self._weigh(row)
        entered = self._demand.entered(weight, inside=self.inside + weight)
        call = QuotaUse(weight=weight, entered=entered)
        self.count(call)
        if self.bucket is not None:
            self.bucket.enter(row, now)
        return call

    def undo(self, receipt: Any, *, after: float, error: Exception | None = None) -> None:
        super().undo(receipt, after=after, error=error)
        self._demand.undo_entered(receipt.entered)
        if self.bucket is not None:
            self.bucket.undo(receipt.weight, after=after)

    @property
    def is_stuck(self) -> bool:
        """True if tasks that hang take the whole quota, and it cannot grow."""
        has, wants = self.state.has.slots, self.state.wants.slots
        return (has < wants or has == self.shared.in_flight) and 0 < has <= self.hung

    def free_slots(self, now: int) -> float:
        """Return the number of tasks (or units) that may enter beside those inside, whatever the
        rate."""
        if not self.state.usable(now):
            return 0
        if self.shared.in_flight is None:
            return math.inf
        return max(0, self._may_fill - self.inside)

    def lease_left(self) -> float:
        """Return the seconds for which a task that runs on the quota may be leased at the most:
        others may have its slots from then on. inf where the limit has no slots. A heartbeat that
        is written at the second try (the task was cancelled) leases by one call longer:
        ``CLOCKS_APART`` has room for that."""
        if self.shared.in_flight is None:
            return math.inf
        left = self.state.usable_until + self._lease - self._host.monotonic()
        return max(0.0, left / MICROSECONDS)

    def _wait(self, weight: int, now: int) -> float:
        if self.free_slots(now) < weight or self.state.has.shards < self.shared.shards_for(weight):
            return math.inf
        return 0.0 if self.bucket is None else self.bucket.wait_of_any(now)

    @property
    def _may_fill(self) -> int:
        """The slots on which tasks may run. A slot above the fair part is not filled again once its
        task has ended, so that the next renewal can give it back."""
        return min(self.state.has.slots, self.state.fair.slots)

    # Asking for more
    #
    # A task does not pass. Is more of the limit worth asking for?
    #
    #   it lacks            because                            asks for
    #   slots               free_slots < its weight            slots: as many as it could start on
    #   shards              no token is there yet              shards: as many as it could start
    #   both                the quota is new, or has run out   both
    #   slots, and a token  it would wait for the token        nothing (``ask_for_room`` is False)
    #   what was refused    less than REFUSED_FOR ago          nothing
    #
    # ``_lacking`` tells the first column; ``_may_grow`` whether a poll is of use meanwhile.

    def ask_for_room(self, row: Candidate, now: int) -> bool:
        """Ask for a larger quota. Return True if the run should wait for the answer, False if a
        recent refusal already answers it, or a slot would have to wait for a token."""
        self._asker = self._weigh(row)
        bucket, free = self.bucket, self._could_start(now)
        too_few_free = self._too_few_free(self._asker)
        if too_few_free and bucket is not None and 0 < bucket.wait_of_any(now) < math.inf:
            return False  # another slot would have to wait for a token
        state, lacking = self.state, self._lacking(self._asker, now)
        idle = free if SLOTS in lacking else max(0, state.has.slots - self.inside)
        self._demand.note_request(Amount(idle, 0 if too_few_free else free))
        has, wants = state.has if state.usable(now) else NONE, self._wanted(free)
        if any(
            now >= state.refused_until[resource] and has[resource] < wants[resource]
            for resource in lacking
        ):
            self.state = state.after_asking(now)
        return self.answer_due(now) > 0

    def answer_due(self, now: int) -> float:
        return max(0.0, (self.state.answer_by - now) / MICROSECONDS)

    def _could_start(self, now: int) -> int:
        """Return the number of tasks that this process could start at once, if this quota were
        large enough; their units, if all weighed as much as the one that asked. A quota of all
        tasks that is smaller counts, unless it may be about to grow."""
        free, whole = self._slots.number - self._slots.inside, self._whole
        if whole is not None and whole.answer_due(now) <= 0:
            free = int(min(free, whole.free_slots(now)))
        return free * self._asker

    def _may_grow(self, resource: int, now: int) -> bool:
        """Return True if this process may get more slots (or shards) than it has. A refusal is
        believed while tasks have asked a moment ago; after that the next task may ask again."""
        most = self._most[resource]
        known = now < self.state.refused_until[resource] and self._demand.asked_just_now
        return not self.state.usable(now) or (self.state.has[resource] < most and not known)

    @property
    def _most(self) -> Amount:
        """The most that this process can use of the limit."""
        return self.shared.amount._replace(slots=min(self.shared.amount.slots, self._slots.number))

    def _lacking(self, weight: int, now: int) -> list[int]:
        """Return the resources, slots or shards, that keep the next task out."""
        slots = self.shared.in_flight is not None and self.free_slots(now) < weight
        shards = self.bucket is not None and (
            not self.state.usable(now)
            or self.state.has.shards < self.shared.shards_for(weight)
            or self.bucket.wait_of_any(now) > 0
        )
        shards = shards and not self._too_few_free(weight)
        return [resource for resource, lacks in ((SLOTS, slots), (SHARDS, shards)) if lacks]

    def _too_few_free(self, weight: int) -> bool:
        """Return True if the quota has slots, but not enough of them are free: more shards would
        not help."""
        return self.state.has.slots > 0 and self._may_fill - self.inside < weight

    def _needs_of_next(self) -> tuple[Amount, int]:
        """Return the quota with which the next task can start, and since when that task waits, in
        epoch microseconds. Where each task is one, an even part is enough for it in the end."""
        return NONE, 0

    def _wanted(self, free: int) -> Amount:
        """Return what was used in the last second, and what was asked for and can be used at
        once."""
        asked = self._demand.asked
        used = self._demand.most_inside(self.inside)
        slots = max(used, self.inside + min(free, asked.slots))
        starts = self._demand.starts + min(free, asked.shards)
        shards = math.ceil(starts / (self.shared.gain(1) or 1))
        wants = map(max, (slots, shards), self._needs_of_next()[0])
        return Amount(*map(min, wants, self._most))

    # Renewing it

    def renewal(self, *, more: bool = True) -> Callable[[], RenewalAnswer]:
        """Begin a renewal: return the background call that makes it. ``more``: False gives back all
        that is not in use, since nothing more is to start."""
        now, state, bucket = self._host.monotonic(), self.state, self.bucket
        used = 0 if self.shared.in_flight is None else self.inside
        wants = self._wanted(self._could_start(now)) if more else Amount(used)
        keeps = Amount(
            max(used, min(state.has.slots, wants.slots, state.fair.slots)),
            min(state.has.shards, wants.shards, state.fair.shards),
        )
        self.state = state.after_sending(now, keeps=keeps, wants=wants)
        returns = 0.0
        if bucket is not None:
            before = bucket.tokens(now)
            bucket.resize(self.state.has.shards, tokens=0, now=now)
            returns = before - bucket.tokens(now)
        needs, since = self._needs_of_next() if more else (NONE, 0)
        # The run waits for the answer about a type. Where too little is free, a task of another
        # type can start: this renewal only takes what is free, and the next one insists.
        takes_only_what_is_free = self.limit_name != "" and state.run_waits
        renewal = Renewal(
            worker=self._worker,
            number=self.state.number,
            keeps=keeps,
            wants=wants,
            insists=not takes_only_what_is_free,
            returns=returns,
            lease=self._lease,
            renew=now >= state.usable_until - microseconds(QUOTA_LASTS - RENEW_AFTER),
            needs=needs,
            since=since,
        )
        return partial(self._take, renewal)

    def _take(self, renewal: Renewal) -> RenewalAnswer:
        answer = RenewalAnswer(
            quota_table=self.quota_table, number=renewal.number, owed=max(0.0, -renewal.returns)
        )
        try:
            return replace(
                answer, grant=self._quota_tables.take(self.limit_name, self.shared, renewal)
            )
        except LifoqError as error:
            return replace(answer, error=error)

    def take_answer(self, answer: RenewalAnswer) -> bool:
        """Take the answer to a renewal. Of the answer to an earlier one than the last, nothing
        counts but what is owed after a failure. Return True if the run waited for it, or if others
        may enter since."""
        now, grant = self._host.monotonic(), answer.grant
        if grant is None and self.bucket is not None:
            self.bucket.owes(answer.owed, now)
        if answer.number != self.state.number:
            return False
        run_waited, wait = self.state.run_waits, self._wait(self._asker, now)
        if grant is None:
            self.state = self.state.after_failure(now)
        else:
            self.state = self.state.after_grant(grant, now, inside=self.inside)
            if self.bucket is not None:
                # First the shards that were kept, with their tokens: those of the others lie in
                # the quota table since the renewal. Then the shards that came.
                self.bucket.resize(grant.kept_shards, tokens=0, now=now)
                self.bucket.resize(grant.has.shards, tokens=grant.tokens, now=now)
        return run_waited or self._wait(self._asker, now) < wait


def _one(_row: Candidate) -> int:
    return 1
