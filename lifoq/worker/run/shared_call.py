"""A call of a handler: the slot that it takes, and the tasks that share it.

Most calls are for one task. The tasks of a batch are claimed side by side, each in a thread of its
own. The first that is claimed waits for the others, and its thread then calls the handler for all
that have joined. So a batch has one call and one slot, and each of its tasks all the rest: claim,
lease, time, outcome.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from lifoq.basics.host import Host, Mailbox
from lifoq.worker.gates.gate import HowItLeft
from lifoq.worker.gates.gates import Passage
from lifoq.worker.handlers.registry import TaskType

if TYPE_CHECKING:
    from lifoq.telemetry.calls import CallSpan  # not where nobody traces
    from lifoq.worker.handlers.async_handlers import AsyncHandlers  # not where nothing is async

Attempt = TypeVar("Attempt")
"""The run's type of an attempt. HandlerCall only keeps it."""
BATCH_PATIENCE: Final = 1.0
"""Seconds for which a batch waits for the next answer to one of its claims. After that the handler
is called without the tasks that are missing, and these are handed back."""


class HandlerCall(Generic[Attempt]):
    """One call of a handler. Thread-safe: the threads of its attempts join and leave, and the run
    tells which tasks have no more time."""

    def __init__(
        self, kind: TaskType, task_ids: Sequence[str], *, passed: Passage, host: Host
    ) -> None:
        """``task_ids``: the tasks that are to be claimed for it, in the queue's order. ``passed``:
        the gates that the call has entered, and leaves when the handler has returned."""
        self.kind = kind
        self.async_handlers = (
            _async_handlers(f"{kind.name} {task_ids[0]}") if kind.is_async else None
        )
        self.answers: dict[str, Any] = {}
        """The answers that a batch's handler has given for single tasks, by task id."""
        self.span: CallSpan | None = None
        """The span of the handler's call, once it begins; None where the process does not trace."""
        self._passed = passed
        self._task_ids = task_ids
        self._news: Mailbox[str] | None = host.mailbox() if len(task_ids) > 1 else None
        """Ids of tasks that have joined or left, for the thread that waits for them."""

        # Written under the lock.
        self._lock = threading.Lock()
        self._missing = len(task_ids)
        """The number of tasks that have neither joined nor left."""
        self._members = set(task_ids)
        """Ids of the tasks that have not left. Of a task that has left, the run may still tell that
        its time is over, or that it is to stop: that says nothing of the handler."""
        self._joined: dict[str, Attempt] = {}
        """Attempts that the handler is to be called for, by task id."""
        self._leader: str | None = None
        """The first that has joined."""
        self._closed = False
        """True once the handler is called: who comes now is too late."""
        self._over = False
        """True once the slot is free again."""
        self._out_of_time = set[str]()
        """Ids of members whose time is over."""
        self._to_stop = set[str]()
        """Ids of members for which an async handler was asked to stop."""
        self._hangs = False

    def join(self, task_id: str, attempt: Attempt) -> bool:
        """Have the handler called for this task, too. Return False if it is too late for that."""
        with self._lock:
            in_time = not self._closed
            if in_time:
                self._missing -= 1
                self._joined[task_id] = attempt
                self._leader = self._leader or task_id
        if in_time:
            self._tell(task_id)
        else:
            self.leave(task_id)
        return in_time

    def leave(self, task_id: str) -> None:
        """Note that the handler is not called for this task: it could not be claimed, or not be
        loaded. Without any task the slot is free."""
        with self._lock:
            self._missing -= 1
            self._members.discard(task_id)
            self._out_of_time.discard(task_id)
            self._to_stop.discard(task_id)
            self._note_if_it_hangs()
            unused = not self._members and not self._over
            self._over = self._over or unused
            others_stay = bool(self._members)
        if others_stay:
            self._passed.weighed(task_id, 0)
        if unused and self._hangs:
            self._free(HowItLeft())
        elif unused:
            self._passed.undo()
        self._tell(task_id)

    def is_led_by(self, task_id: str) -> bool:
        """Return True if the thread of this task calls the handler: it was the first to join."""
        return self._leader == task_id

    def gather(self) -> list[Attempt]:
        """Wait until every task has joined or left. Return the attempts that have joined, in the
        queue's order. Called once, by the thread of the first."""
        while self._missing and self._news is not None:
            if self._news.take(BATCH_PATIENCE) is None:
                break
        with self._lock:
            self._closed = True
            joined, self._joined = self._joined, {}
        return [joined[task_id] for task_id in self._task_ids if task_id in joined]

    def weighed(self, task_id: str, weight: int) -> None:
        """Note what a task weighs in truth."""
        self._passed.weighed(task_id, weight)

    def returned(self, left: HowItLeft) -> None:
        """Free the slot: the handler has returned, and leaves the gates so."""
        with self._lock:
            self._over = True
        self._free(left)

    def out_of_time(self, task_id: str) -> None:
        """Note that the time of a task is over while the handler has not returned. Where it is over
        for all tasks of the call, the handler hangs. It keeps its slot, since it may still use what
        lies downstream."""
        with self._lock:
            if task_id in self._members:
                self._out_of_time.add(task_id)
                self._note_if_it_hangs()

    def stop(self, task_id: str, why: BaseException) -> bool:
        """Stop an async handler by raising ``why`` in it, once this was asked for all of its tasks.
        Return False if it goes on, cannot be stopped, has returned, or is not called for this
        task."""
        if self.async_handlers is None:
            return False
        with self._lock:
            if task_id not in self._members:
                return False
            self._to_stop.add(task_id)
            is_wanted = self._to_stop != self._members
        return not is_wanted and self.async_handlers.stop(why)

    def _note_if_it_hangs(self) -> None:
        nobody_waits = bool(self._members) and self._out_of_time == self._members
        if nobody_waits and not self._over and not self._hangs:
            self._hangs = True
            self._passed.hangs()

    def _free(self, left: HowItLeft) -> None:
        self._passed.leave(replace(left, hung=self._hangs))

    def _tell(self, task_id: str) -> None:
        if self._news is not None:
            self._news.put(task_id)


def _async_handlers(name: str) -> "AsyncHandlers":
    from lifoq.worker.handlers.async_handlers import AsyncHandlers  # noqa: PLC0415 - not where nothing is async

    return AsyncHandlers(name)
