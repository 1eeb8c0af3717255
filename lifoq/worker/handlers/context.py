"""The context of an attempt: what task code is told about it, and may say while it runs."""

import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from lifoq.basics.host import MICROSECONDS, Host
from lifoq.errors import BlocksOthers, Cancelled, LeaseLost
from lifoq.items.task import Task
from lifoq.store.worker_writes import WorkerWrites

if TYPE_CHECKING:
    from lifoq.worker.handlers.async_handlers import AsyncHandlers  # not where nothing is async


class Context:
    """One attempt at one task. Safe to use from several threads."""

    def __init__(
        self,
        *,
        task: Task,
        store: WorkerWrites,
        host: Host,
        lease: Callable[[], float],
        max_attempts: int,
        ends_at: int,
        async_handlers: "AsyncHandlers | None" = None,
    ) -> None:
        """``lease``: seconds for which the task may be leased now. ``async_handlers``: what runs
        its handler, where that is async."""
        self.task_id = task.task_id
        self.task_type = task.task_type
        self.key = task.key
        """The key that the producer gave; None if there is none."""
        self.traceparent = task.traceparent
        """Names the trace that the task belongs to; None where the producer gave none."""
        self.attempt = task.attempts
        """The number of the attempt, from 1."""
        self.max_attempts = max_attempts
        self.enqueued_at = task.enqueued_at
        """When the task was put, in epoch microseconds."""
        self.last_checkpoint: Any = task.checkpoint
        """The latest checkpoint of an earlier attempt; None on a fresh start."""
        self._task = task
        self._store = store
        self._host = host
        self._lease = lease
        self._ends_at = ends_at
        self._lost = threading.Event()
        self._cancelled = threading.Event()
        self._async_handlers = async_handlers

    @property
    def remaining(self) -> float:
        """Seconds until the attempt counts as timed out."""
        return max(0.0, (self._ends_at - self._host.monotonic()) / MICROSECONDS)

    @property
    def lease_lost(self) -> bool:
        """True if the task went on without this attempt: stop, its result is refused."""
        return self._lost.is_set()

    @property
    def cancelled(self) -> bool:
        """True if somebody has cancelled the task, as the latest heartbeat told, this attempt's or
        the processor's: stop. Asking costs nothing."""
        return self._cancelled.is_set()

    def heartbeat(self) -> None:
        """Extend the lease now. The processor does so in the background as well; this one tells.

        Raises LeaseLost when the task is no longer this attempt's, Cancelled when it was cancelled
        (the lease is extended all the same: take your time to stop), and StoreUnavailable.
        """
        known = self.cancelled
        self._hold(lambda: self._store.extend(self._task, lease=self._lease(), cancelled=known))
        if known:
            raise Cancelled(self.task_id)

    def checkpoint(self, value: Any) -> None:
        """Keep ``value`` (JSON) for the next attempt, should this one fail; extends the lease.

        Raises LeaseLost, InvalidInput, ItemTooLarge and StoreUnavailable; and Cancelled, where
        there will be no next attempt.
        """
        if self.cancelled:
            raise Cancelled(self.task_id)
        self._hold(lambda: self._store.checkpoint(self._task, value, lease=self._lease()))

    async def aheartbeat(self) -> None:
        """``heartbeat`` for async handlers."""
        await self._beside(self.heartbeat)

    async def acheckpoint(self, value: Any) -> None:
        """``checkpoint`` for async handlers."""
        await self._beside(self.checkpoint, value)

    def wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run an async handler's coroutine, and return what it returns."""
        if self._async_handlers is None:
            raise TypeError(f"the attempt at task {self.task_id!r} is none of an async handler")
        return self._async_handlers.wait(coroutine)

    @staticmethod
    async def _beside(call: Any, *arguments: Any) -> None:
        import asyncio  # noqa: PLC0415 - not where nothing is async

        await asyncio.to_thread(call, *arguments)

    def _hold(self, call: Any) -> None:
        if self._async_handlers is not None and self._async_handlers.is_here:
            raise BlocksOthers
        if self._lost.is_set():
            raise LeaseLost(self.task_id)
        try:
            call()
        except LeaseLost:
            self._lost.set()
            raise
        except Cancelled:
            self._cancelled.set()
            raise
