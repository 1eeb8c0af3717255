"""The calls of a run that belong to no attempt: each is made in a thread beside it."""

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lifoq.basics.host import Host, Outbox
from lifoq.errors import DamagedTask, LifoqError, StoreUnavailable
from lifoq.items.schema import Status
from lifoq.tables import pressure
from lifoq.tables.candidate import Candidate, Candidates
from lifoq.tables.pressure import Starts
from lifoq.tables.store import Store
from lifoq.tables.table import Cursor
from lifoq.worker.types import Types

if TYPE_CHECKING:
    from lifoq.items.book import Grant  # not where each worker has its own limits

log = logging.getLogger("lifoq.errands")

PROMOTE_AT_MOST: Final = 25
"""Due tasks that one look brings in."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """A first page was asked for."""

    number: int
    """Counts up; what a later look has shown is newer."""
    sent: int
    """Monotonic microseconds; it shows nothing that came later."""
    newest_first: bool


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The first page came."""

    look: Look
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
class Condemned:
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
    """An errand came to nothing; ``errand`` says which, if somebody waits for it: a look, the page
    after a cursor, or what was due."""

    error: Exception
    errand: Look | Cursor | PromotedAll | None = None


@dataclass(frozen=True, kw_only=True)
class Turned:
    """A turn at the book of a limit over all workers was taken, or could not be (``error``)."""

    limit: str
    number: int
    grant: "Grant | None" = None
    error: LifoqError | None = None


ErrandMessage = (
    Shown | ShownBehind | Promoted | PromotedAll | Condemned | Remaining | Noted | Failed | Turned
)


class Errands:
    """Each may raise OutOfThreads; what else goes wrong, a message tells."""

    def __init__(
        self, store: Store, host: Host, *, types: Types, mailbox: Outbox[ErrandMessage]
    ) -> None:
        self._where = types.where
        self._store = store
        self._host = host
        self._mailbox = mailbox

    def look(self, look: Look, *, limit: int) -> None:
        """Ask for the first page."""

        def ask() -> ErrandMessage:
            page = self._store.candidates(limit=limit, newest_first=look.newest_first)
            return Shown(look=look, page=page)

        self._send(ask, "look", errand=look)

    def look_behind(self, cursor: Cursor, *, newest_first: bool, limit: int) -> None:
        """Ask for the page after ``cursor``."""

        def ask() -> ErrandMessage:
            page = self._store.candidates(
                limit=limit, start=cursor, newest_first=newest_first, where=self._where
            )
            return ShownBehind(cursor=cursor, page=page)

        self._send(ask, "look behind", errand=cursor)

    def promote(self, *, but: Collection[str]) -> None:
        """Bring in due tasks, ``but`` these: whoever delayed one may not know yet that it did."""

        def bring_in() -> ErrandMessage:
            due, _ = self._store.due(limit=PROMOTE_AT_MOST)
            for task_id in due:
                if task_id not in but:
                    self._promote(task_id)
            return PromotedAll()

        self._send(bring_in, "promote", errand=PromotedAll())

    def condemn(self, task_id: str, *, seen: Collection[Status], reason: str) -> None:
        """Put a damaged item aside, whichever of these statuses it has."""

        def put_aside() -> None:
            for status in seen:
                self._condemn(task_id, status, reason)

        self._send(put_aside, "condemn")

    def let_fall(self, rows: Sequence[Candidate]) -> None:
        """Take their head starts from tasks that have expired."""

        def fall() -> None:
            for row in rows:
                self._store.let_fall(row)

        self._send(fall, "let fall")

    def turns(self, calls: Collection[Callable[[], Turned]]) -> None:
        """Take turns at the books of limits that all workers share."""
        for call in calls:
            self._send(call, "turn")

    def note(self, starts: Starts) -> None:
        """Note what was started; the next note makes up for one that is lost."""

        def write() -> ErrandMessage:
            with suppress(StoreUnavailable):
                pressure.note(self._store, starts, host=self._host)
            return Noted()

        self._send(write, "note")

    def ask_whether_tasks_wait(self) -> None:
        """The answer is yes where none can be had: a run for nothing costs less than a task that
        waits."""

        def ask() -> ErrandMessage:
            try:
                return Remaining(
                    self._store.waits_since(newest=True, where=self._where) is not None
                )
            except StoreUnavailable:
                return Remaining(some=True)

        self._send(ask, "ask whether tasks wait")

    def _send(
        self,
        call: Callable[[], ErrandMessage | None],
        name: str,
        errand: Look | Cursor | PromotedAll | None = None,
    ) -> None:
        def run() -> None:
            try:
                message = call()
            except Exception as error:  # noqa: BLE001  (the run tells them apart)
                message = Failed(error=error, errand=errand)
            if message is not None:
                self._mailbox.put(message)

        self._host.spawn(run, name)

    def _promote(self, task_id: str) -> None:
        try:
            row = self._store.promote(task_id)
        except DamagedTask as damage:
            self._condemn(task_id, Status.DELAYED, damage.reason)
        else:
            if row is not None:
                self._mailbox.put(Promoted(row))

    def _condemn(self, task_id: str, seen: Status, reason: str) -> None:
        if self._store.condemn(task_id, seen=seen, reason=reason):
            self._mailbox.put(Condemned())
            log.error("task %s is damaged and went to FAILURE: %s", task_id, reason)
