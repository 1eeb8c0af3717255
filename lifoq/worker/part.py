"""A worker's part of a limit that holds over all workers together.

It is asked for when a task waits that may start but for this limit, renewed every other second
while it is used, and given back when nothing has asked for it for a second: at the next turn at the
book (see ``items.book``), twice a second. Where the book cannot be written, the part runs out, and
nothing more is started on it.

All times are monotonic microseconds. Under the lock of the limits, but for ``lease_left``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.errors import LifoqError
from lifoq.items.book import NONE, PART_LASTS, Amount, Grant, Turn, Whole
from lifoq.tables.books import Books
from lifoq.tables.store import Store
from lifoq.worker.limits import TokenBucket

TURN_EVERY: Final = 0.5
"""Seconds between two turns at the book, while the part is used or wanted."""
PATIENCE: Final = 2.0
"""Seconds after which another turn is taken, though the last was not answered."""
RENEW_AFTER: Final = 1.5
"""Seconds from which on a part is renewed that does not change."""
WANTED_FOR: Final = 1.0
"""Seconds since a task last asked for it."""


@dataclass(frozen=True, kw_only=True)
class Turned:
    """A turn was taken, or it could not be (``error``)."""

    limit: str
    number: int
    grant: Grant | None = None
    error: LifoqError | None = None


class Lanes(TokenBucket):
    """The tokens of the lanes that this worker has."""

    def __init__(self, whole: Whole, host: Host) -> None:
        super().__init__(whole.rate or 1.0, host)
        self._whole = whole
        self.resize(0, tokens=0)

    def wait(self) -> float:
        return super().wait() if self._rate > 0 else math.inf

    def resize(self, lanes: int, *, tokens: float) -> None:
        """From now on so many lanes, with so many tokens more or less than now at the most."""
        self._fill()
        self._rate, self._burst = self._whole.gain(lanes), self._whole.burst(lanes)
        self._tokens = min(self._burst, self._tokens + tokens)

    def empty(self) -> None:
        self._tokens = 0.0

    @property
    def tokens(self) -> float:
        self._fill()
        return self._tokens


class Part:
    def __init__(
        self,
        limit: str,
        whole: Whole,
        *,
        books: Books,
        worker: str,
        lease: float,
        host: Host,
    ) -> None:
        """``limit``: a task type's name, or empty for the queue's own. ``lease``: of its tasks."""
        self._books = books
        self._limit = limit
        self.whole = whole
        self.bucket = None if whole.rate is None else Lanes(whole, host)
        self._worker = worker
        self._lease = microseconds(lease)
        self._host = host
        self._has = self._fair = NONE
        self._usable_until = self._wanted_until = 0
        self._wants = NONE
        self._number = 0
        self._unanswered = False
        self.in_book = False
        """Whether the book may name this worker."""
        self.due_at: float = math.inf
        """When the next turn is due."""

    # Using it

    @property
    def usable(self) -> bool:
        """Whether it has not run out."""
        return self._host.monotonic() < self._usable_until

    @property
    def slots(self) -> float:
        """Tasks at a time."""
        return math.inf if self.whole.in_flight is None else self._has.slots

    def lease_left(self) -> float:
        """Seconds for which a task that runs on it may be leased at the most: others may have its
        slots from then on."""
        if self.whole.in_flight is None:
            return math.inf
        return max(0.0, (self._usable_until + self._lease - self._host.monotonic()) / MICROSECONDS)

    @property
    def wanted(self) -> bool:
        """Whether a task has asked for it a moment ago."""
        return self._host.monotonic() < self._wanted_until

    def ask(self) -> None:
        """A task waits that would use it."""
        now = self._host.monotonic()
        if not self.wanted and not self._unanswered:
            self.due_at = min(self.due_at, now)
        self._wanted_until = now + microseconds(WANTED_FOR)

    # Taking turns

    def turn(self, *, inside: int, room: int, more: bool) -> Callable[[], Turned]:
        """Take a turn: the call, to be made beside the run. ``inside``: tasks that have entered.
        ``room``: so many more this process could run. ``more``: whether they could start, but for
        this limit; else all is given back that is not in use."""
        now, most = self._host.monotonic(), self.whole.amount
        more = more and self.wanted
        used = 0 if self.whole.in_flight is None else inside
        wants = Amount(min(most.slots, used + room * more), most.lanes * more)
        keeps = Amount(
            max(used, min(self._has.slots, wants.slots, self._fair.slots)),
            min(self._has.lanes, wants.lanes, self._fair.lanes),
        )
        before = 0.0 if self.bucket is None else self.bucket.tokens
        self._has = Amount(*map(min, self._has, keeps))
        if self.bucket is not None:
            self.bucket.resize(self._has.lanes, tokens=0)
        self._wants = wants
        self._number += 1
        self._unanswered = self.in_book = True
        self.due_at = now + microseconds(PATIENCE)
        turn = Turn(
            worker=self._worker,
            number=self._number,
            keeps=keeps,
            wants=wants,
            returns=before if self.bucket is None else before - self.bucket.tokens,
            lease=self._lease,
            renew=now >= self._usable_until - microseconds(PART_LASTS - RENEW_AFTER),
        )
        return partial(self._take, turn)

    def _take(self, turn: Turn) -> Turned:
        try:
            grant = self._books.take(self._limit, self.whole, turn)
        except LifoqError as error:
            return Turned(limit=self._limit, number=turn.number, error=error)
        return Turned(limit=self._limit, number=turn.number, grant=grant)

    def turned(self, answer: Turned) -> None:
        """A turn was answered. What an earlier one gave than the last is not used."""
        if answer.number != self._number:
            return
        self._unanswered = False
        if answer.grant is not None:
            self._granted(answer.grant)
            self.in_book = self._has != NONE or self._wants != NONE
        active = self.in_book or self.wanted
        self.due_at = self._host.monotonic() + microseconds(TURN_EVERY) if active else math.inf

    @property
    def answered(self) -> bool:
        """Whether the last turn was."""
        return not self._unanswered

    @property
    def short(self) -> bool:
        """Whether it was given fewer slots than it wanted."""
        return self._has.slots < self._wants.slots

    def _granted(self, grant: Grant) -> None:
        if grant.sent is not None:
            self._usable_until = grant.sent + microseconds(PART_LASTS)
        self._has, self._fair = grant.has, grant.fair
        if self.bucket is not None:
            self.bucket.resize(grant.kept_lanes, tokens=0)
            self.bucket.resize(grant.has.lanes, tokens=grant.tokens)


class Parts:
    """Makes the parts of one process."""

    def __init__(self, store: Store, *, lease: float, host: Host) -> None:
        self._books = Books(store, host=host)
        self._worker = host.new_id()[:12]
        self._lease = lease
        self._host = host

    def of(self, limit: str, *, in_flight: int | None, rate: float | None) -> Part | None:
        """None where there is no such limit."""
        if in_flight is None and rate is None:
            return None
        whole = Whole(in_flight=in_flight, rate=rate)
        return Part(
            limit,
            whole,
            books=self._books,
            worker=self._worker,
            lease=self._lease,
            host=self._host,
        )
