"""The calls of a run that belong to no attempt: each is made in a thread beside it."""

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from lifoq.basics.host import Host, Outbox
from lifoq.errors import DamagedTask, StoreUnavailable
from lifoq.health import pressure
from lifoq.health.pressure import Starts
from lifoq.items.schema import Status
from lifoq.store.candidate import Candidate, Candidates
from lifoq.store.store import Store
from lifoq.store.table import Cursor
from lifoq.worker.backlog.known_types import Types
from lifoq.worker.limits.renewed import Renewed

log = logging.getLogger("lifoq.background_calls")

PROMOTE_AT_MOST: Final = 25
"""Due tasks that one poll brings in."""


@dataclass(frozen=True, kw_only=True)
class Poll:
    """A first page was asked for."""

    number: int
    """Counts up; what a later poll has shown is newer."""
    sent: int
    """Monotonic microseconds; it shows nothing that came later."""
    newest_first: bool


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The first page came."""

    poll: Poll
    page: Candidates


@dataclass(frozen=True, kw_only=True)
class ShownBehind:
    """The page after ``cursor`` came."""

    cursor: Cursor
    page: Candidates


@dataclass(frozen=True)
class Promoted:
    """A due task came back to the queue."""

    row: Candidate


@dataclass(frozen=True)
class PromotedAll:
    """So have all that were due when it was looked for them."""


@dataclass(frozen=True)
class DeadLettered:
    """A damaged item went to FAILURE."""


@dataclass(frozen=True)
class Remaining:
    """Whether tasks wait."""

    some: bool


@dataclass(frozen=True)
class Noted:
    """What was started is noted, or that has failed."""


@dataclass(frozen=True, kw_only=True)
class Failed:
    """A background call failed. ``request`` says which, if somebody waits for it: a poll, the page
    after a cursor, or what was due."""

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
    | Renewed
)


class BackgroundCalls:
    """Each may raise OutOfThreads; what else goes wrong, a message tells."""

    def __init__(
        self, store: Store, host: Host, *, types: Types, mailbox: Outbox[CallMessage]
    ) -> None:
        self._where = types.where
        self._store = store
        self._host = host
        self._mailbox = mailbox

    def poll(self, poll: Poll, *, limit: int) -> None:
        """Ask for the first page."""

        def ask() -> CallMessage:
            page = self._store.candidates(limit=limit, newest_first=poll.newest_first)
            return Shown(poll=poll, page=page)

        self._send(ask, "look", request=poll)

    def poll_behind(self, cursor: Cursor, *, newest_first: bool, limit: int) -> None:
        """Ask for the page after ``cursor``."""

        def ask() -> CallMessage:
            page = self._store.candidates(
                limit=limit, start=cursor, newest_first=newest_first, where=self._where
            )
            return ShownBehind(cursor=cursor, page=page)

        self._send(ask, "look behind", request=cursor)

    def promote(self, *, but: Collection[str]) -> None:
        """Bring in due tasks, ``but`` these: whoever delayed one may not know yet that it did."""

        def bring_in() -> CallMessage:
            due, _ = self._store.due(limit=PROMOTE_AT_MOST)
            for task_id in due:
                if task_id not in but:
                    self._promote(task_id)
            return PromotedAll()

        self._send(bring_in, "promote", request=PromotedAll())

    def dead_letter(self, task_id: str, *, seen: Collection[Status], reason: str) -> None:
        """Put a damaged item aside, whichever of these statuses it has."""

        def put_aside() -> None:
            for status in seen:
                self._dead_letter(task_id, status, reason)

        self._send(put_aside, "dead letter")

    def let_fall(self, rows: Sequence[Candidate]) -> None:
        """Take their head starts from tasks that have expired."""

        def fall() -> None:
            for row in rows:
                self._store.let_fall(row)

        self._send(fall, "let fall")

    def renewals(self, calls: Collection[Callable[[], Renewed]]) -> None:
        """Renew the quotas of limits over all workers."""
        for call in calls:
            self._send(call, "turn")

    def note(self, starts: Starts) -> None:
        """Note what was started; the next note makes up for one that is lost."""

        def write() -> CallMessage:
            with suppress(StoreUnavailable):
                pressure.note(self._store, starts, host=self._host)
            return Noted()

        self._send(write, "note")

    def ask_whether_tasks_wait(self) -> None:
        """The answer is yes where none can be had: a run for nothing costs less than a task that
        waits."""

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
