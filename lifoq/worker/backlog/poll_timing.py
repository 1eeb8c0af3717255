"""The timing of polls: when a run asks for the backlog next, and when it believes that the queue is
empty.

How a run decides that the queue is empty, and ends:

1. A poll is due (``PollTiming.poll_at``) and a slot is free: the loop's ``_agenda`` has ``Poller``
   ask for the first page.
2. The page comes. The loop's ``_shown`` puts its rows into the view and starts what may start.
3. ``Poller.judge`` tells what the pages so far say. A task was started: ``found_some``. Tasks wait
   that must not start, due tasks are being promoted, or the index still shows a task that this run
   has: ``found_blocked``. Nothing waits, but the index goes on behind these pages:
   ``found_nothing_yet``, and the loop reads on. Nothing waits, and all was read:
   ``found_nothing``.
4. ``found_nothing`` counts if nothing that the run knows of has changed since the first of these
   pages was asked for (``knows_since``). Then the queue is empty since now; since the kick, if the
   run has claimed and promoted nothing yet.
5. ``found_some``, ``found_blocked`` and a task that comes back (``one_came_back``) end that. An
   attempt that was settled may have put follow-ups: ``more_may_have_come`` wants one more poll, and
   half of ``linger`` from then on at the least.
6. ``linger`` after the queue became empty is ``believed_at``. The run is over then if it holds no
   task; but not before ``Promotions.awaited_until``, where a retry of its own is due within
   ``RETRY_LINGER`` (``_done_at`` and ``_over`` of the loop).
7. Only where this is not believed does the end of the run (``_conclude``) ask the table whether
   tasks wait. A tail call follows if some do.
"""

from collections.abc import Callable
from typing import Final

from lifoq.basics.host import microseconds

EMPTY_POLL: Final = 0.1
"""Seconds between two polls of a queue that was empty: a task that comes waits half of it."""
IDLE_POLL: Final = 1.0
"""Seconds between two polls of a worker that does not go when the queue is empty; reached by and
by."""
IDLE_GROWTH: Final = 1.2
"""Factor by which each pause between two such polls is longer than the one before."""
SHORTEST_POLL: Final = 0.05
"""Seconds between two polls that could start nothing, or failed; it doubles each time."""
LONGEST_POLL: Final = 0.5
"""Seconds up to which that doubles: so long it may take to see a task that can start at once."""
SHORTEST_WAIT: Final = 0.001
"""Seconds by which a poll is put off, at the least."""
PROMOTE_EVERY: Final = 1.0
"""Seconds between two promotions of due tasks."""
PROMOTE_PATIENCE: Final = 5.0
"""Seconds after which due tasks are promoted again, though the last promotion was not answered."""
RETRY_LINGER: Final = 5.0
"""Seconds for which a run that has nothing else to do waits for a retry of its own: the first retry
of the default backoff is due in 3 at most. For a later one the sweep starts another run."""
POLL_PATIENCE: Final = 1.0
"""Seconds after which a poll that was not answered keeps no other waiting."""


class PollTiming:
    """Decides when to poll next, and if the queue is believed to be empty. All times are monotonic
    microseconds. Used by the thread of the run only."""

    def __init__(
        self, *, now: int, linger: float | None, woken_at: Callable[[], int] | None = None
    ) -> None:
        """``linger``: seconds for which an empty queue is watched before it is believed; None: for
        ever. ``woken_at`` tells when the kick was sent that started the run. It is called only
        after a poll was answered: by then the process knows the server's clock."""
        self._next = now
        self._pause = SHORTEST_POLL
        self._linger = None if linger is None else microseconds(linger)
        self._empty_pause = EMPTY_POLL
        self._woken_at = woken_at or (lambda: now)
        self._nothing_done_yet = True
        """True until the run has claimed or promoted anything: only then does the time since the
        kick count towards an empty queue."""
        self._changed_at = now
        """The last moment at which the run learned of something that may wait."""
        self._empty_since: int | None = None
        self._confirmed = False
        """True if a poll that was sent after all changes found nothing either."""
        self._found_nothing = False
        """True if the latest poll found nothing."""
        self._sent = self._ended = self._shown = 0
        """Numbers of the latest poll that was sent, that ended in any way, that showed a page."""
        self._sent_at = now

    # Polls on their way

    def sends(self, now: int) -> int:
        """Return the number of a poll that is now sent."""
        self._sent += 1
        self._sent_at = now
        return self._sent

    def shows(self, number: int) -> bool:
        """Note that a poll was answered. Return False if a later one was answered before: this page
        is old news."""
        newest = number > self._shown
        self._shown = max(self._shown, number)
        self._ended = max(self._ended, number)
        return newest

    @property
    def poll_at(self) -> int:
        """The moment at which the next poll is due. It waits for the answer to the last one, for
        POLL_PATIENCE at the most."""
        on_its_way = self._ended < self._sent
        patience = self._sent_at + microseconds(POLL_PATIENCE)
        return max(self._next, patience) if on_its_way else self._next

    # What they found

    def poll_at_once(self, now: int) -> None:
        """Make the next poll due at once: something may have changed."""
        self._next = now

    def found_some(self, now: int) -> None:
        """Note that tasks were started. If slots are left, more tasks may be found for them at
        once."""
        self._next, self._pause = now, SHORTEST_POLL
        self._empty_since, self._found_nothing = None, False
        self._empty_pause = EMPTY_POLL

    def found_nothing(self, now: int, *, seen_at: int) -> None:
        """Note that the queue held nothing that waits. ``seen_at``: the moment of which the pages
        tell, when the oldest of them was asked for."""
        # A poll that took long was itself a part of the pause.
        late = max(now, self._sent_at + microseconds(IDLE_POLL))
        self._next, self._pause = min(now + microseconds(self._empty_pause), late), SHORTEST_POLL
        self._found_nothing = True
        if self._sent_at < self._changed_at:
            self._next = now
        if self._linger is None:
            self._empty_pause = min(IDLE_POLL, self._empty_pause * IDLE_GROWTH)
        if not self.knows_since(seen_at):
            return
        self._confirmed = True
        if self._empty_since is None:
            # Since the kick, if the run has changed nothing yet: the index has had that long to
            # show what it was sent for, and a run that a late kick started ends after one poll.
            self._empty_since = self._woken_at() if self._nothing_done_yet else now

    def knows_since(self, moment: int) -> bool:
        """Return True if nothing that the run knows of has changed since ``moment``."""
        return moment >= self._changed_at

    def found_nothing_yet(self, now: int) -> None:
        """Note that the pages so far hold nothing that waits, and that more are being read."""
        self._next = now + microseconds(EMPTY_POLL)

    def found_blocked(self, now: int, *, wait: float) -> None:
        """Note that tasks wait which must not start yet. The first of them may in ``wait`` seconds,
        as far as one can know. Others may come in before."""
        self._empty_since, self._found_nothing = None, False
        self._back_off(now, wait)

    def failed(self, number: int, now: int) -> None:
        """Note that the poll with this number has failed."""
        self._ended = max(self._ended, number)
        self._back_off(now, LONGEST_POLL)

    def claim_failed(self, now: int) -> None:
        """Put the next poll off: a claim was not confirmed, so the database is overloaded or
        down."""
        self._back_off(now, LONGEST_POLL)

    def changed(self) -> None:
        """Note that the run has claimed or promoted a task: what waits has changed since the
        kick."""
        self._nothing_done_yet = False

    def one_came_back(self, now: int) -> None:
        """Note that a task waits again that the run held or promoted."""
        self._empty_since, self._confirmed = None, False
        self._next = self._changed_at = now

    def more_may_have_come(self, now: int) -> None:
        """Note that an attempt was settled, perhaps with follow-ups: an empty queue is polled once
        more, and watched for half of ``linger`` at the least."""
        self._changed_at, self._confirmed = now, False
        if self._found_nothing:
            self._next = now
        if self._empty_since is not None and self._linger is not None:
            self._empty_since = max(self._empty_since, now - self._linger // 2)

    # The end

    @property
    def believed_at(self) -> int | None:
        """The moment at which the queue has been empty for so long that this is believed. None if
        it was not empty, or is watched for ever."""
        if self._empty_since is None or self._linger is None or not self._confirmed:
            return None
        return self._empty_since + self._linger

    def believed_empty(self, now: int) -> bool:
        """Return True if the queue is believed to be empty at ``now`` (microseconds of the
        monotonic clock)."""
        return self.believed_at is not None and now >= self.believed_at

    def _back_off(self, now: int, wait: float) -> None:
        self._next = now + microseconds(min(self._pause, max(wait, SHORTEST_WAIT)))
        self._pause = min(LONGEST_POLL, self._pause * 2)


class Promotions:
    """Decides when due tasks are promoted: once a second. Not before the last promotion is over,
    unless that takes longer than PROMOTE_PATIENCE. All times are monotonic microseconds. Used by
    the thread of the run only."""

    def __init__(self, *, now: int, until: int) -> None:
        """``until``: the run waits for no retry that is due later."""
        self.due_at = now
        self._until = until
        self._since: int | None = None
        self._retry_at = now
        """The moment at which the last retry is due that the run waits for."""
        self.awaited_until = now
        """The moment at which the run has waited long enough for its retries."""

    @property
    def under_way(self) -> bool:
        return self._since is not None

    def delays(self, due_at: int, *, now: int) -> None:
        """Note that a task of the run's own is to be retried at ``due_at``. The run waits for it if
        it is due soon."""
        if due_at <= min(now + microseconds(RETRY_LINGER), self._until):
            self._retry_at = max(self._retry_at, due_at)
            # One until the next promotion is sent, and one for its answer.
            self.awaited_until = self._retry_at + 2 * microseconds(PROMOTE_EVERY)

    def sends(self, now: int) -> None:
        """Note that a promotion is sent."""
        self._since, self.due_at = now, now + microseconds(PROMOTE_PATIENCE)

    def done(self, now: int) -> None:
        """Note that the promotion is over, or has failed."""
        if self._since is not None:
            self.due_at = max(now, self._since + microseconds(PROMOTE_EVERY))
            if self._since >= self._retry_at:
                self.awaited_until = now
        self._since = None
