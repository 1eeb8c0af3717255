"""The state of a worker's quota, and its changes, each by its name.

              after_asking         after_sending         after_grant
    has ───────────────────▶ asked ───────────▶ renewing ───────────▶ has
     │                                             ▲    │after_failure ▲
     └─────────────────────────────────────────────┘    └──────────────┘
              after_sending: each half second

A quota that is asked for is renewed at once. A quota in use is renewed each half second, whether
somebody asked or not. A renewal that is not answered for ``RENEWAL_PATIENCE`` is sent
anew. All times are monotonic microseconds.
"""

import math
from dataclasses import dataclass, replace
from operator import lt

from lifoq.basics.host import microseconds
from lifoq.items.quota_table import NONE, QUOTA_LASTS, Amount, Grant
from lifoq.worker.gates.quota_protocol.times import (
    ANSWER_PATIENCE,
    REFUSED_FOR,
    RENEW_EVERY,
    RENEWAL_PATIENCE,
)


@dataclass(frozen=True, kw_only=True)
class QuotaState:
    """The quota that a worker has, what it has asked for, and its renewal under way."""

    # What it has.
    has: Amount = NONE
    fair: Amount = NONE
    """The most that this worker may have while the others want what they wanted at its last
    renewal; nothing before the first answer."""
    usable_until: int = 0

    # What it has asked for.
    answer_by: int = 0
    """The moment until which the run waits for the answer; 0: it waits for none."""
    refused_until: tuple[int, int] = (0, 0)
    """The moments until which it is known that others have the rest: of the slots, of the
    shards."""

    # Its renewal.
    number: int = 0
    """The number of the latest renewal."""
    wants: Amount = NONE
    """The amount that this renewal asked for."""
    renewing: bool = False
    """True until it is answered."""
    in_quota_table: bool = False
    """True if the quota table may name this worker."""
    due_at: float = math.inf
    """When the next renewal is due."""

    def after_asking(self, now: int) -> "QuotaState":
        """A task waits for more: a renewal is due at once, and the run waits for its answer."""
        return replace(
            self,
            answer_by=self.answer_by or now + microseconds(ANSWER_PATIENCE),
            due_at=self.due_at if self.renewing else now,
        )

    def after_sending(self, now: int, *, keeps: Amount, wants: Amount) -> "QuotaState":
        """A renewal is sent. The quota shrinks at once by what it gives back, so that nothing
        starts on that while the call is under way."""
        return replace(
            self,
            has=Amount(*map(min, self.has, keeps)),
            wants=wants,
            number=self.number + 1,
            renewing=True,
            in_quota_table=True,
            due_at=now + microseconds(RENEWAL_PATIENCE),
        )

    def after_grant(self, grant: Grant, now: int, *, inside: int) -> "QuotaState":
        """The renewal is answered. What it did not bring is refused for a while. ``inside``: tasks
        that run on the quota."""
        lasts = self.usable_until
        if grant.sent is not None:
            lasts = grant.sent + microseconds(QUOTA_LASTS)
        slots, shards = map(lt, grant.has, self.wants)
        after = self._answered(now, slots_refused=slots, shards_refused=shards)
        in_table = grant.has != NONE or self.wants != NONE
        keeps = Amount(max(inside, grant.fair.slots), grant.fair.shards)
        if any(map(lt, keeps, grant.has)):
            due_at: float = now  # others wait for the rest
        else:
            due_at = now + microseconds(RENEW_EVERY) if in_table else math.inf
        return replace(
            after,
            has=grant.has,
            fair=grant.fair,
            usable_until=lasts,
            in_quota_table=in_table,
            due_at=due_at,
        )

    def after_failure(self, now: int) -> "QuotaState":
        """The renewal has failed: all that it asked for counts as refused for a while."""
        after = self._answered(now, slots_refused=True, shards_refused=True)
        return replace(after, due_at=now + microseconds(RENEW_EVERY))

    @property
    def run_waits(self) -> bool:
        """True if an answer is due that was asked for by a task. The run waits for it until
        ``answer_by``, and starts nothing else meanwhile."""
        return self.answer_by > 0

    def usable(self, now: int) -> bool:
        """Return True until the quota has run out."""
        return now < self.usable_until

    def _answered(self, now: int, *, slots_refused: bool, shards_refused: bool) -> "QuotaState":
        until, (slots, shards) = now + microseconds(REFUSED_FOR), self.refused_until
        refused = (until if slots_refused else slots, until if shards_refused else shards)
        return replace(self, refused_until=refused, renewing=False, answer_by=0)
