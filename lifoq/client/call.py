"""A call: a task for which somebody waits, and which is withdrawn as soon as nobody does."""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from lifoq import telemetry
from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.client.waiting import WaitOutcome, outcomes
from lifoq.errors import (
    DamagedTask,
    InvalidInput,
    LifoqError,
    QueueMisconfigured,
    StoreUnavailable,
    TaskNotFound,
    TaskShed,
    WaitTimeout,
    WrongStatus,
)
from lifoq.items.schema import Status
from lifoq.items.task import NewTask, Task
from lifoq.store.store import Store

if TYPE_CHECKING:
    from lifoq.client.kicks import Kicks

log = logging.getLogger("lifoq.calls")

WANTED_ANEW: Final = 3.0
"""Seconds after which a caller says again that it waits, at its next look."""
WANTED_FOR: Final = 15.0
"""Seconds for which that holds: three looks, at their slowest. Then the caller has gone."""
_ENDED: Final = (TaskNotFound, WrongStatus, DamagedTask)
"""Refusals of a withdrawal that say that there is nothing to withdraw."""


class Call:
    """One call of one caller: ``put``, wait, then ``answer``; or ``withdraw``."""

    def __init__(
        self,
        new: NewTask,
        *,
        task_id: str,
        patience: float,
        store: Store,
        host: Host,
        kicks: "Kicks | None" = None,
        while_waiting: bool = False,
    ) -> None:
        """Make the call of a new task. ``task_id``: the task's own, or one that is drawn.
        ``patience``: seconds for which the caller waits; they are the task's deadline. ``kicks``
        wake the processor once the task is put; None leaves that to the stream.
        ``while_waiting``: True if the caller says again and again that it waits."""
        self.task_id = task_id
        self.patience = patience
        self._new = replace(new, task_id=task_id, deadline=patience)
        self._store = store
        self._host = host
        self._kicks = kicks
        self.while_waiting = while_waiting
        self._wanted_anew_at = 0
        self._until = 0
        self._writes = threading.Lock()
        """Held while the task is put or withdrawn: for a coroutine each is done in a thread, and it
        may be cancelled while its put is under way."""
        self._has_left = False
        self._is_mine = new.task_id is None
        """True if this call has made the task. A task that was there is others' as well: it is
        waited for, and never withdrawn."""

    def put(self) -> None:
        """Put the task, unless the caller has left already. InvalidInput names ``timeout``, where
        that is no deadline of this queue."""
        with self._writes:
            if self._has_left:
                return
            self._until = self._store.now() + microseconds(self.patience)
            try:
                task = telemetry.put(self._new, self._put)
            except InvalidInput as error:
                if error.field != "deadline":
                    raise
                raise InvalidInput("timeout", self.patience, error.problem) from None
            if self._is_mine:  # a last look comes when the deadline has passed, not just before
                self._until = max(self._until, task.expires_at)
        if self._kicks is not None and self._is_mine:
            self._kicks.kick()

    def renew(self) -> None:
        """Say that the caller still waits, unless it has just done so. Only the call that has made
        the task says so: others must not end a task that waits for more than them."""
        now = self._store.now()
        if self.while_waiting and self._is_mine and now >= self._wanted_anew_at:
            self._wanted_anew_at = now + microseconds(WANTED_ANEW)
            self._store.want(self.task_id, until=now + microseconds(WANTED_FOR))

    def rest(self) -> float:
        """Return the seconds for which the caller still waits: 0 or fewer once its time is over."""
        return (self._until - self._store.now()) / MICROSECONDS

    def wait(self) -> WaitOutcome:
        """Wait for the end of the task, for as long as the caller does."""
        return next(
            outcomes(
                [self.task_id],
                timeout=self.rest(),
                look=self._look,
                unended=self._unended,
                store_of=lambda _: self._store,
                host=self._host,
            )
        )

    def answer(self, outcome: WaitOutcome) -> Any:
        """Return the result, or raise why there is none. A task that has not ended is withdrawn."""
        if isinstance(outcome.error, TaskNotFound):
            raise TaskShed(self.task_id) from None  # deleted at its deadline, before the first look
        if not isinstance(outcome.error, WaitTimeout):
            return outcome.result()
        if self._is_mine:
            try:
                if self._store.cancel(self.task_id).status is Status.CANCELLED:
                    raise TaskShed(self.task_id) from None
            except _ENDED:  # just now
                outcome = self.wait()
        if isinstance(outcome.error, WaitTimeout):
            raise WaitTimeout(self.task_id, self.patience) from None
        return outcome.result()

    @contextmanager
    def withdrawn_if_left(self) -> Iterator[None]:
        """Withdraw the task if the caller leaves without an answer, such as by Ctrl-C. Not after an
        error of lifoq's: it says how the task has ended, or that the database is out of reach."""
        try:
            yield
        except LifoqError:
            raise
        except BaseException:
            self.withdraw()
            raise

    def withdraw(self) -> None:
        """Cancel the task, if this call has made it and it has not ended. A database that is out of
        reach is logged: the deadline ends the task as well."""
        with self._writes:
            self._has_left = True
            if not self._is_mine:
                return
            try:
                self._store.cancel(self.task_id)
            except _ENDED:
                return
            except (StoreUnavailable, QueueMisconfigured) as error:
                log.warning("task %s, which nobody waits for, stays: %s", self.task_id, error)

    def _put(self, new: NewTask) -> Task:
        task, self._is_mine = self._store.put_new(new)
        return task

    def _look(self, _: Sequence[str]) -> Mapping[str, Task | DamagedTask]:
        task = self._store.get(self.task_id)
        return {} if task is None else {self.task_id: task}

    def _unended(self, _: Sequence[str]) -> list[str]:
        self.renew()
        return [self.task_id] if self._store.has_not_ended(self.task_id) else []
