"""The facts of a run about the backlog, and what follows from them: when the next poll is due, when
the queue is believed to be empty, and why.

How a run decides that the queue is empty, and ends:

1. A poll is due (``next_poll``) and the gates are open: the run asks for the first page.
2. The page comes. Its rows go into the view, and what may start is started.
3. ``judge`` says what the pages so far tell (``Found``), and that becomes a fact
   (``after_pages_judged``). While the index goes on behind these pages, the run reads on
   (``MORE_TO_READ``).
4. NOTHING is confirmed if nothing that the run knows of has changed since the first of these pages
   was asked for. Then the queue is empty since now; since the kick, if the run has claimed and
   promoted nothing yet.
5. A start, a task that waits and a task that comes back end that. An attempt that was settled may
   have put follow-ups: the queue is polled once more, and watched for half of ``linger`` from then
   on at the least.
6. ``linger`` after the queue became empty it is believed to be (``believed_at``). The run is over
   then if it holds no task; but not before ``Promotions.awaited_until``, where a retry of its own
   is due soon.
7. A run that ends otherwise (its time is over, it claims no more) asks the index once more whether
   tasks wait. A tail call follows if some do, and if this run has claimed any.

For example, two tasks of 0.4 s wait for a worker with one slot. ``linger`` is 0.2 s, and each call
takes 5 ms (``tests/faults/test_run.py`` has it run so):

    second  what happens                          facts                     next poll
    0.000   the run begins                                                  at once
    0.005   two rows: the first is started,       BLOCKED                   in 0.05 s; but there is
            the other finds no slot                                         no slot before 0.410
    0.410   the handler is back: a free slot      poll at once              at once
    0.415   one row, which is started             STARTED                   no slot before 0.820
    0.820   the handler is back                   poll at once              at once
    0.825   no row. But the attempt was settled   NOTHING, not confirmed    at once
            after this poll was sent
    0.830   no row, and nothing has changed       NOTHING, confirmed,       in 0.1 s
            since this poll was sent              empty since 0.830
    0.935   no row                                NOTHING, confirmed        in 0.1 s
    1.030   empty for 0.2 s: the run is over

The index may lag by some tenths of a second. It may still show a task that was claimed: then the
queue does not count as empty before it is gone (``shows_claimed``), or it costs a tail call (7). It
may not yet show a task that was just put, or that this run has just returned: this run finds it
while it lingers (6); or the next one does, which the task's own kick has started, since each change
to PENDING sends one.

All times are monotonic microseconds.
"""

from enum import Enum
from typing import Final, NamedTuple

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
POLL_PATIENCE: Final = 1.0
"""Seconds after which a poll that was not answered keeps no other waiting."""


class Found(Enum):
    """The sentences that the pages of a poll can say."""

    STARTED = "tasks were started"
    BLOCKED = "tasks wait that must not start yet"
    NOTHING = "nothing waits"
    MORE_TO_READ = "nothing waits in what was read so far"
    FAILED = "the database did not answer"


def judge(
    *, started: bool, seen_all: bool, waits: bool, promoting: bool, shows_claimed: bool
) -> tuple[Found, ...]:
    """Return what the pages of a poll so far tell. Of two findings the second is the one that
    stays: a task was started, and others are held back. ``started``: at least one task was.
    ``seen_all``: all of the queue was read. ``waits``: rows are left that must not start.
    ``promoting``: due tasks are on their way into the queue. ``shows_claimed``: the index still
    shows a task that this run has, or has just had."""
    if started:
        return (Found.STARTED, Found.BLOCKED) if seen_all and waits else (Found.STARTED,)
    if promoting or waits or shows_claimed:
        return (Found.BLOCKED,)
    return (Found.NOTHING,) if seen_all else (Found.MORE_TO_READ,)


class Facts(NamedTuple):
    """The events of a run, as far as they say when to poll. Each method returns the facts
    after one more thing has happened."""

    asked_at: int
    """When the latest poll was sent."""
    found_at: int
    """When the latest pages were judged."""
    poll_at_once_since: int
    """When something happened last that calls for a poll at once."""
    changed_at: int
    """The last moment at which the run learned of something that may wait."""

    # Asked and answered.
    last_poll_sent: int = 0
    """The number of the latest poll."""
    last_poll_ended: int = 0
    """The number of the latest poll that was answered, or has failed."""
    last_poll_shown: int = 0
    """The number of the latest poll that has shown a page."""

    # Found.
    found: Found | None = None
    """The news of the latest pages; None before the first."""
    opens_in: float = 0.0
    """Seconds until the first of the tasks that wait may start, as far as one can know."""
    blocked_polls: int = 0
    """The polls in a row that could start nothing, or failed."""
    empty_polls: int = 0
    """The polls that found nothing since the last start."""

    # Changed.
    poll_at_once: bool = False
    """True if something has happened since the latest finding that calls for a poll at once, at
    ``poll_at_once_since``."""
    settled_at: int | None = None
    """When an attempt was settled last."""
    has_worked: bool = False
    """True once the run has claimed or promoted anything: the time since the kick does not count
    towards an empty queue any more."""

    # Empty.
    empty_since: int | None = None
    """The moment from which on the queue counts as empty; None while something waits. ``linger``
    later it is believed to be empty (``believed_at``), if that is ``confirmed`` by then."""
    confirmed: bool = False
    """True if a poll that was sent after all changes found nothing."""

    @classmethod
    def of_start(cls, now: int) -> "Facts":
        """Return the facts of a run that begins."""
        return cls(asked_at=now, found_at=now, poll_at_once_since=now, changed_at=now)

    def after_poll_sent(self, now: int) -> "Facts":
        """A poll is sent."""
        return self._replace(last_poll_sent=self.last_poll_sent + 1, asked_at=now)

    def is_news(self, number: int) -> bool:
        """Return False if a later poll was answered before: the page is old news."""
        return number > self.last_poll_shown

    def after_poll_answered(self, number: int) -> "Facts":
        """A poll is answered."""
        return self._replace(
            last_poll_shown=max(self.last_poll_shown, number),
            last_poll_ended=max(self.last_poll_ended, number),
        )

    def after_poll_failed(self, number: int, now: int) -> "Facts":
        """A poll has failed."""
        after = self._replace(last_poll_ended=max(self.last_poll_ended, number))
        return after.after_call_failed(now)

    def after_call_failed(self, now: int) -> "Facts":
        """A call has failed: the database is overloaded or down."""
        return self._replace(
            found=Found.FAILED,
            found_at=now,
            poll_at_once=False,
            opens_in=LONGEST_POLL,
            blocked_polls=self.blocked_polls + 1,
        )

    def after_pages_judged(
        self, found: Found, now: int, *, seen_at: int, woken_at: int, opens_in: float = 0.0
    ) -> "Facts":
        """The pages of a poll are judged. ``seen_at``: when the oldest of them was asked for.
        ``woken_at``: when the kick was sent that started the run. ``opens_in``: seconds until the
        first of the tasks that wait may start."""
        after = self._replace(found=found, found_at=now, poll_at_once=False)
        match found:
            case Found.STARTED:
                return after._replace(blocked_polls=0, empty_polls=0, empty_since=None)
            case Found.BLOCKED:
                blocked = self.blocked_polls + 1
                return after._replace(blocked_polls=blocked, opens_in=opens_in, empty_since=None)
            case Found.NOTHING:
                after = after._replace(blocked_polls=0, empty_polls=self.empty_polls + 1)
                if not self.unchanged_since(seen_at):
                    return after
                # Since the kick, if the run has changed nothing yet: the index has had that long to
                # show what it was sent for, and a run that a late kick started ends after one poll.
                since = now if self.has_worked else woken_at
                first = since if self.empty_since is None else self.empty_since
                return after._replace(confirmed=True, empty_since=first)
            case _:
                return after

    def unchanged_since(self, moment: int) -> bool:
        """Return True if nothing that the run knows of has changed since ``moment``."""
        return moment >= self.changed_at

    def after_cause_to_poll(self, now: int) -> "Facts":
        """A waiting task may be able to start now: a slot or a key is free, a quota is larger, or
        the order in which tasks go has changed."""
        return self._replace(poll_at_once=True, poll_at_once_since=now)

    def after_claim_or_promotion(self, _now: int) -> "Facts":
        """A task is claimed or promoted: what waits has changed since the kick, whenever that was
        (``Poller.note`` tells each of these the time)."""
        return self if self.has_worked else self._replace(has_worked=True)

    def after_return(self, now: int) -> "Facts":
        """A task waits again that the run held or promoted."""
        after = self.after_cause_to_poll(now)
        return after._replace(changed_at=now, confirmed=False, empty_since=None)

    def after_settlement(self, now: int) -> "Facts":
        """An attempt is settled, perhaps with follow-ups: a queue that was empty is polled once
        more."""
        after = self.after_cause_to_poll(now) if self.found is Found.NOTHING else self
        return after._replace(changed_at=now, settled_at=now, confirmed=False)


class Due(NamedTuple):
    """A moment, and the reason for it."""

    at: int
    why: str


def next_poll(facts: Facts, *, watches: bool = False) -> Due:
    """Return when the next poll is due. ``watches``: the run does not end when the queue is empty,
    and polls an empty queue ever more rarely."""
    due = _after_what_was_found(facts, watches=watches)
    if facts.poll_at_once:
        due = Due(facts.poll_at_once_since, "something may be free")
    patience = facts.asked_at + microseconds(POLL_PATIENCE)
    if facts.last_poll_ended < facts.last_poll_sent and patience > due.at:
        return Due(patience, "the last poll is on its way")
    return due


def _after_what_was_found(facts: Facts, *, watches: bool) -> Due:
    at = facts.found_at
    match facts.found:
        case Found.BLOCKED | Found.FAILED:
            pause = _pause(SHORTEST_POLL, 2.0, facts.blocked_polls, most=LONGEST_POLL)
            at += microseconds(min(pause, max(facts.opens_in, SHORTEST_WAIT)))
        case Found.MORE_TO_READ:
            at += microseconds(EMPTY_POLL)
        case Found.NOTHING if facts.asked_at >= facts.changed_at:
            pause = _pause(
                EMPTY_POLL, IDLE_GROWTH if watches else 1.0, facts.empty_polls, most=IDLE_POLL
            )
            # A poll that took long was itself a part of the pause.
            at = min(at + microseconds(pause), max(at, facts.asked_at + microseconds(IDLE_POLL)))
        case _:
            pass  # at once
    return Due(at, facts.found.value if facts.found else "the run begins")


def _pause(first: float, growth: float, times: int, *, most: float) -> float:
    """Return the seconds of a pause that begins with ``first`` and grows each time, up to
    ``most``."""
    return min(most, first * growth ** min(times - 1, 50))


def believed_at(facts: Facts, *, linger: float | None) -> int | None:
    """Return the moment at which the queue has been empty for so long that this is believed. None
    if it was not empty. ``linger``: seconds for which an empty queue is watched; None: for ever."""
    if facts.empty_since is None or linger is None or not facts.confirmed:
        return None
    watched = microseconds(linger)
    since = facts.empty_since
    if facts.settled_at is not None:
        since = max(since, facts.settled_at - watched // 2)
    return since + watched
