"""The calls of a run that belong to no attempt: polls, promotions, dead letters, renewals and
notes. Each is made in a thread of its own beside the run, and its answer comes to the run's mailbox
as a message."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lifoq.basics.host import Host, Outbox
from lifoq.errors import DamagedTask, StoreUnavailable
from lifoq.health import pressure
from lifoq.health.pressure import Starts
from lifoq.items.change import Item
from lifoq.items.schema import Attribute, Status
from lifoq.store.candidate import Candidate, Candidates
from lifoq.store.store import Store
from lifoq.store.table_protocol import Cursor
from lifoq.worker.gates.quota_protocol.renewal_answer import RenewalAnswer
from lifoq.worker.known_types import Types

if TYPE_CHECKING:
    from lifoq.worker.gates.adaptive.kept_limits import KeptLimits  # not where no type is adaptive

log = logging.getLogger("lifoq.background_calls")

PROMOTE_AT_MOST: Final = 25
"""Due tasks that one promotion brings in."""


@dataclass(frozen=True, kw_only=True)
class Poll:
    """The request for a first page of the backlog."""

    number: int
    """The poll's place in the order of sending. An answer is old news once a poll with a higher
    number has been answered."""
    sent: int
    """Monotonic microseconds at which the poll was sent. Its page shows nothing that came later."""
    newest_first: bool


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Message: the first page that a poll asked for has come."""

    poll: Poll
    page: Candidates


@dataclass(frozen=True, kw_only=True)
class ShownBehind:
    """Message: the page after ``cursor`` has come."""

    cursor: Cursor
    page: Candidates


@dataclass(frozen=True)
class Promoted:
    """Message: a due task is PENDING again. A promotion sends one for each task."""

    row: Candidate


@dataclass(frozen=True)
class PromotedAll:
    """Message: the promotion is over. All tasks that were due at its beginning, up to
    PROMOTE_AT_MOST, were brought in, but for those that the run still holds."""


@dataclass(frozen=True)
class DeadLettered:
    """Message: a damaged item became a dead letter: its status is FAILURE now."""


@dataclass(frozen=True)
class Remaining:
    """Message: tasks wait (``some``), or none does. The end of a run asks for it."""

    some: bool


@dataclass(frozen=True)
class Noted:
    """Message: the note for producers is written, or the database did not answer."""


@dataclass(frozen=True, kw_only=True)
class Failed:
    """Message: a background call has failed. ``request`` names the call if the run waits for its
    answer: a poll, the cursor of a later page, or a promotion."""

    error: Exception
    request: Poll | Cursor | PromotedAll | None = None


CallMessage = (
    Shown
    | ShownBehind
    | Promoted
    | PromotedAll
    | DeadLettered
    | Remaining
    | Noted
    | Failed
    | RenewalAnswer
)


class BackgroundCalls:
    """Makes the background calls of a run. Every method returns at once and may raise OutOfThreads.
    The answer, or the error, comes as a message."""

    def __init__(
        self, store: Store, host: Host, *, types: Types, mailbox: Outbox[CallMessage]
    ) -> None:
        self._where = types.where
        self._store = store
        self._host = host
        self._mailbox = mailbox

    def poll(self, poll: Poll, *, limit: int) -> None:
        """Ask for a first page of ``limit`` rows. The answer is Shown, or Failed."""

        def ask() -> CallMessage:
            page = self._store.candidates(limit=limit, newest_first=poll.newest_first)
            return Shown(poll=poll, page=page)

        self._send(ask, "poll", request=poll)

    def poll_behind(self, cursor: Cursor, *, newest_first: bool, limit: int) -> None:
        """Ask for the page of ``limit`` rows after ``cursor``. The answer is ShownBehind, or
        Failed."""

        def ask() -> CallMessage:
            page = self._store.candidates(
                limit=limit, start=cursor, newest_first=newest_first, where=self._where
            )
            return ShownBehind(cursor=cursor, page=page)

        self._send(ask, "poll behind", request=cursor)

    def promote(self, *, but: Collection[str]) -> None:
        """Promote the tasks that are due, except those in ``but``: the run still holds them, since
        it has not yet heard that their retry was written. Answers: Promoted for each task, then
        PromotedAll."""

        def bring_in() -> CallMessage:
            due, _ = self._store.due(limit=PROMOTE_AT_MOST)
            for task_id in due:
                if task_id not in but:
                    self._promote(task_id)
            return PromotedAll()

        self._send(bring_in, "promote", request=PromotedAll())

    def dead_letter(self, task_id: str, *, seen: Collection[Status], reason: str) -> None:
        """Dead-letter a damaged item if its status is one of ``seen``. The answer is DeadLettered
        if it was."""

        def dead_letter() -> None:
            for status in seen:
                self._dead_letter(task_id, status, reason)

        self._send(dead_letter, "dead letter")

    def let_fall(self, rows: Sequence[Candidate]) -> None:
        """Take the head start from tasks that have expired, so that later polls do not read them
        before the tasks that still count. There is no answer."""

        def fall() -> None:
            for row in rows:
                self._store.let_fall(row)

        self._send(fall, "let fall")

    def renewals(self, calls: Collection[Callable[[], RenewalAnswer]]) -> None:
        """Make the calls that renew this process's quotas at the quota tables of the limits over
        all workers. Each is answered by RenewalAnswer."""
        for call in calls:
            self._send(call, "renewal")

    def recall(self, kept: "KeptLimits") -> None:
        """Begin with what the last process found for adaptive types. There is no answer."""

        def recall() -> None:
            with suppress(StoreUnavailable):
                kept.recall(self._store)

        self._send(recall, "recall")

    def note(
        self,
        starts: Starts,
        kept: "KeptLimits | None",
        *,
        about: Callable[[Item | None], Mapping[Attribute, str]],
        ended: bool,
    ) -> None:
        """Write down how many tasks were started, for producers, and what was found for adaptive
        types (``kept``), for the next process. A note that is lost does no harm: the next one
        covers its time, too. ``about``: what the process tells of itself, by how the item is.
        ``ended``: True if the run is over. The answer is Noted, or Failed where the item is not
        as it should be."""
        terms: dict[str, Any] = {"also": about}
        if kept is not None:
            found = partial(kept.attributes, now=self._store.now(), ended=ended)
            terms = {
                "item": kept.take_item(),
                "also": lambda item: {**about(item), **found(item)},
            }

        def write() -> CallMessage:
            with suppress(StoreUnavailable):
                pressure.note(self._store, starts, host=self._host, **terms)
            return Noted()

        self._send(write, "note")

    def ask_whether_tasks_wait(self) -> None:
        """Ask if tasks wait. The answer is Remaining. It says yes if the database does not answer:
        a run for nothing costs less than a task that waits."""

        def ask() -> CallMessage:
            try:
                return Remaining(
                    self._store.waits_since(newest=True, where=self._where) is not None
                )
            except StoreUnavailable:
                return Remaining(some=True)

        self._send(ask, "ask whether tasks wait")

    def _send(
        self,
        call: Callable[[], CallMessage | None],
        name: str,
        request: Poll | Cursor | PromotedAll | None = None,
    ) -> None:
        def run() -> None:
            try:
                message = call()
            except Exception as error:  # noqa: BLE001  (the run tells them apart)
                message = Failed(error=error, request=request)
            if message is not None:
                self._mailbox.put(message)

        self._host.spawn(run, name)

    def _promote(self, task_id: str) -> None:
        try:
            row = self._store.promote(task_id)
        except DamagedTask as damage:
            self._dead_letter(task_id, Status.DELAYED, damage.reason)
        else:
            if row is not None:
                self._mailbox.put(Promoted(row))

    def _dead_letter(self, task_id: str, seen: Status, reason: str) -> None:
        if self._store.dead_letter(task_id, seen=seen, reason=reason):
            self._mailbox.put(DeadLettered())
            log.error("task %s is damaged and went to FAILURE: %s", task_id, reason)
