"""The parts of an answer, as task code emits them."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.client.waiting import LAST_POLL, WaitOutcome, ended_as, pauses
from lifoq.errors import DamagedTask, WaitTimeout
from lifoq.items.answer_parts_in_checkpoint import parts_of
from lifoq.items.schema import Status
from lifoq.items.task import Task
from lifoq.store.store import Store

if TYPE_CHECKING:
    from lifoq.client.async_calls import AsyncCalls

STREAM_POLL: Final = 1.0
"""Seconds up to which the pause between two looks at a task that runs grows, while it says
nothing."""


class Stream:
    """The parts that one task emits, in order, each once: an iterator, plain or async. It ends with
    the task, and raises what ``Queue.wait`` raises for a task that did not succeed."""

    def __init__(
        self,
        task_id: str,
        *,
        patience: float,
        store: Store,
        host: Host,
        calls: "Callable[[], AsyncCalls]",
    ) -> None:
        """``patience``: seconds for which it reads. ``calls``: those of the event loop that runs,
        for whoever iterates there."""
        self._task_id = task_id
        self._patience = patience
        self._store = store
        self._host = host
        self._calls = calls

    def __iter__(self) -> Iterator[Any]:
        reading = self._reading()
        while reading.end is None:
            yield from reading.new_parts(self._store.get(self._task_id))
            if reading.end is None:
                self._host.sleep(reading.pause())
        reading.end.result()

    async def __aiter__(self) -> AsyncIterator[Any]:
        reading, calls = self._reading(), self._calls()
        while reading.end is None:
            task = await calls.look(self._task_id)
            if self._store.large is None:
                parts = reading.new_parts(task)
            else:  # it may read from the bucket
                parts = await calls.run(reading.new_parts, task)
            for part in parts:
                yield part
            if reading.end is None:
                await calls.sleep(reading.pause())
        reading.end.result()

    def _reading(self) -> "_Reading":
        return _Reading(self._task_id, self._patience, self._store, self._host)


class _Reading:
    """The progress of one reader."""

    def __init__(self, task_id: str, patience: float, store: Store, host: Host) -> None:
        self.end: WaitOutcome | None = None
        """The end of the task, or of the reader's patience; None as long as there may be more."""
        self._task_id = task_id
        self._patience = patience
        self._store = store
        self._host = host
        self._until = host.now() + microseconds(patience)
        self._last: Task | None = None
        self._given = 0
        self._pauses = pauses()

    def new_parts(self, task: Task | DamagedTask | None) -> list[Any]:
        """Return the parts that are new in a task, as it was read now."""
        is_last = self._host.now() >= self._until
        self.end = ended_as(self._task_id, task, self._last, self._store)
        if self.end is None and is_last:
            error = WaitTimeout(self._task_id, self._patience)
            self.end = WaitOutcome(task_id=self._task_id, task=self._last, error=error)
        if not isinstance(task, Task):
            return []
        if self._last is not None and self._last.put_at != task.put_at:
            self._given = 0  # a newer put has taken the task's place: this is another answer
        self._last = task
        new = parts_of(self._store.whole(task, "checkpoint").checkpoint)[self._given :]
        self._given += len(new)
        if new:
            self._pauses = pauses()
        return new

    def pause(self) -> float:
        """Return the seconds until the next look."""
        runs = self._last is not None and self._last.status is Status.TAKEN
        rest = max(0, self._until - self._host.now()) / MICROSECONDS
        return min(next(self._pauses), STREAM_POLL if runs else LAST_POLL, rest)
