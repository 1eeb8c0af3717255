"""When a run polls the queue next, and when it believes that the queue is empty."""

from collections.abc import Callable
from typing import Final

from lifoq.basics.host import microseconds

EMPTY_POLL: Final = 0.1
"""Seconds between two polls of a queue that was empty: a task that comes waits half of it."""
IDLE_POLL: Final = 1.0
"""Seconds up to which that grows in a worker that stays when the queue is empty."""
IDLE_GROWTH: Final = 1.2
"""How much longer each of its pauses is than the one before."""
SHORTEST_POLL: Final = 0.05
"""Seconds between two polls that could start nothing, or failed; it doubles each time."""
LONGEST_POLL: Final = 0.5
"""Seconds up to which that doubles: so long it may take to see a task that can start at once."""
SHORTEST_WAIT: Final = 0.001
"""Seconds by which a poll is put off, at the least."""
PROMOTE_EVERY: Final = 1.0
"""Seconds between two polls for due tasks."""
PROMOTE_PATIENCE: Final = 5.0
"""Seconds after which due tasks are polled for again, though the last poll was not answered."""
RETRY_LINGER: Final = 5.0
"""Seconds for which a run that has nothing else to do waits for a retry of its own: the first retry
of the default backoff is due in 3 at most. For a later one the sweep starts another run."""
POLL_PATIENCE: Final = 1.0
"""Seconds after which a poll that was not answered keeps no other waiting."""


class PollTiming:
    """All times are monotonic microseconds."""

    def __init__(
        self, *, now: int, linger: float | None, woken_at: Callable[[], int] | None = None
    ) -> None:
        """``linger``: for how many seconds an empty queue is watched before it is believed; None:
        for ever. ``woken_at`` tells when the kick was sent that started the run, and is asked once
        a poll was answered: by then the process knows the server's clock."""
        self._next = now
        self._poll = SHORTEST_POLL
        self._linger = None if linger is None else microseconds(linger)
        self._empty_poll = EMPTY_POLL
        self._woken_at = woken_at or (lambda: now)
        self._unchanged = True
        self._changed_at = now
        """When the run last knew of something that may wait."""
        self._empty_since: int | None = None
        self._confirmed = False
        """Whether a poll was sent since then, and after all changes, that found nothing either."""
        self._found_nothing = False
        """Whether the latest poll found nothing."""
        self._sent = self._ended = self._shown = 0
        """Numbers of the latest poll that was sent, that ended somehow, that showed something."""
        self._sent_at = now

    # Polls on their way

    def sends(self, now: int) -> int:
        """Note that a poll is sent; return its number."""
        self._sent += 1
        self._sent_at = now
        return self._sent

    def shows(self, number: int) -> bool:
        """Note that a poll was answered; False where a later one was answered before it."""
        newest = number > self._shown
        self._shown = max(self._shown, number)
        self._ended = max(self._ended, number)
        return newest

    @property
    def poll_at(self) -> int:
        """When the next poll is due."""
        on_its_way = self._ended < self._sent
        patience = self._sent_at + microseconds(POLL_PATIENCE)
        return max(self._next, patience) if on_its_way else self._next

    # What they found

    def poll_at_once(self, now: int) -> None:
        """Something may have changed."""
        self._next = now

    def found_some(self, now: int) -> None:
        """Tasks were started; where there are slots left, there may be more."""
        self._next, self._poll = now, SHORTEST_POLL
        self._empty_since, self._found_nothing = None, False
        self._empty_poll = EMPTY_POLL

    def found_nothing(self, now: int, *, seen_at: int) -> None:
        """The queue held nothing that waited, as it was when the poll was sent."""
        late = max(now, self._sent_at + microseconds(IDLE_POLL))  # where the poll took long
        self._next, self._poll = min(now + microseconds(self._empty_poll), late), SHORTEST_POLL
        self._found_nothing = True
        if self._sent_at < self._changed_at:
            self._next = now
        if self._linger is None:
            self._empty_poll = min(IDLE_POLL, self._empty_poll * IDLE_GROWTH)
        if not self.knows_since(seen_at):
            return
        self._confirmed = True
        if self._empty_since is None:
            # Since the kick, if the run has changed nothing yet: the index has had that long to
            # show what it was sent for, and a run that a late kick started ends after one poll.
            self._empty_since = self._woken_at() if self._unchanged else now

    def knows_since(self, moment: int) -> bool:
        """Whether nothing that the run knows of has changed since then."""
        return moment >= self._changed_at

    def found_nothing_yet(self, now: int) -> None:
        """The queue's first rows hold nothing that waits; the others are being read."""
        self._next = now + microseconds(EMPTY_POLL)

    def found_blocked(self, now: int, *, wait: float) -> None:
        """Tasks wait that must not start yet: the first of them in ``wait`` seconds, as far as one
        can know. Others may come in before."""
        self._empty_since, self._found_nothing = None, False
        self._back_off(now, wait)

    def failed(self, number: int, now: int) -> None:
        """Note that a poll failed."""
        self._ended = max(self._ended, number)
        self._back_off(now, LONGEST_POLL)

    def claim_failed(self, now: int) -> None:
        """A claim was not confirmed: the database is in trouble."""
        self._back_off(now, LONGEST_POLL)

    def changed(self) -> None:
        """The run has claimed or promoted a task, so more may come of it."""
        self._unchanged = False

    def one_came_back(self, now: int) -> None:
        """A task waits again."""
        self._empty_since, self._confirmed = None, False
        self._next = self._changed_at = now

    def more_may_have_come(self, now: int) -> None:
        """An attempt was settled, perhaps with follow-ups: an empty queue is looked at once more,
        and watched for half as long at the least."""
        self._changed_at, self._confirmed = now, False
        if self._found_nothing:
            self._next = now
        if self._empty_since is not None and self._linger is not None:
            self._empty_since = max(self._empty_since, now - self._linger // 2)

    # The end

    @property
    def believed_at(self) -> int | None:
        """When the queue will have been empty for so long that it is believed; None: it was not,
        or it is watched for ever."""
        if self._empty_since is None or self._linger is None or not self._confirmed:
            return None
        return self._empty_since + self._linger

    def believed_empty(self, now: int) -> bool:
        return self.believed_at is not None and now >= self.believed_at

    def _back_off(self, now: int, wait: float) -> None:
        self._next = now + microseconds(min(self._poll, max(wait, SHORTEST_WAIT)))
        self._poll = min(LONGEST_POLL, self._poll * 2)


class Promotions:
    """When due tasks are brought in: once a second, after the last time is over; or once that has
    taken unusually long. All times are monotonic microseconds."""

    def __init__(self, *, now: int, until: int) -> None:
        """``until``: beyond that the run waits for no retry."""
        self.due_at = now
        self._until = until
        self._since: int | None = None
        self._retry_at = now
        """When the last of the run's own retries that it waits for is due."""
        self.awaited_until = now
        """When the run has waited long enough for them."""

    @property
    def under_way(self) -> bool:
        return self._since is not None

    def delays(self, due_at: int, *, now: int) -> None:
        """The run has put off a task of its own until ``due_at``."""
        if due_at <= min(now + microseconds(RETRY_LINGER), self._until):
            self._retry_at = max(self._retry_at, due_at)
            self.awaited_until = self._retry_at + 2 * microseconds(PROMOTE_EVERY)

    def sends(self, now: int) -> None:
        """Due tasks are looked for."""
        self._since, self.due_at = now, now + microseconds(PROMOTE_PATIENCE)

    def done(self, now: int) -> None:
        """All that were due have been brought in, or could not be."""
        if self._since is not None:
            self.due_at = max(now, self._since + microseconds(PROMOTE_EVERY))
            if self._since >= self._retry_at:
                self.awaited_until = now
        self._since = None
