"""The context of an attempt: what task code is told about it, and may say while it runs."""

import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from lifoq.basics.host import MICROSECONDS, Host
from lifoq.basics.numbers import check_count
from lifoq.errors import BlocksOthers, Cancelled, LeaseLost
from lifoq.items.task import Task
from lifoq.store.worker_writes import AttemptWrites

if TYPE_CHECKING:
    from lifoq.worker.handlers.async_handlers import AsyncHandlers  # not where nothing is async
    from lifoq.worker.handlers.emitted_answer_parts import (
        EmittedParts,  # not where nothing is emitted
    )


class Context:
    """One attempt at one task: what task code is told about it, and may say while it runs. Safe to
    use from several threads.

    Examples:
        >>> from lifoq import Context, task
        >>> @task("video.encode", timeout=600)
        ... def encode(payload, context: Context):
        ...     done = context.last_checkpoint or 0
        ...     for part in range(done, payload["parts"]):
        ...         context.checkpoint(part)
    """

    def __init__(
        self,
        *,
        task: Task,
        store: AttemptWrites,
        host: Host,
        lease: Callable[[], float],
        max_attempts: int,
        ends_at: int,
        async_handlers: "AsyncHandlers | None" = None,
        answers: dict[str, Any] | None = None,
        weighed: Callable[[int], None] | None = None,
    ) -> None:
        """Make the context of an attempt, as the worker does. ``lease`` tells the seconds for which
        the task may be leased now. ``ends_at``: when the attempt counts as timed out, in
        microseconds of the host's monotonic clock. ``async_handlers``: the event loop of the
        handler; None if it is not async. ``answers``: takes in the answers of a batch's
        handler, by task id; None if the handler takes one task. ``weighed``: takes what the
        task weighs in truth; None if its type has no weight."""
        self.task_id: str = task.task_id
        """The id of the task."""
        self.task_type: str = task.task_type
        """The type of the task."""
        self.key: str | None = task.key
        """The key that the producer gave; None if there is none."""
        self.traceparent: str | None = task.traceparent
        """The W3C traceparent of the trace that the task belongs to; None if it is in none. Where
        the worker uses OpenTelemetry, it names the span of this attempt."""
        self.attempt: int = task.attempts
        """The number of the attempt, from 1."""
        self.max_attempts: int = max_attempts
        """The number of attempts that the task has."""
        self.enqueued_at: int = task.enqueued_at
        """When the task entered the queue, in epoch microseconds."""
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
        self._answers = answers
        self._weighed = weighed
        self._emitted: EmittedParts | None = None
        self._checkpoints = False
        """True once the attempt has kept a checkpoint of its own."""

    @property
    def emitted(self) -> tuple[Any, ...]:
        """The parts that this task has emitted so far, those of earlier attempts first."""
        from lifoq.items.answer_parts_in_checkpoint import parts_of  # noqa: PLC0415 - not where nothing is emitted

        return tuple(parts_of(self.last_checkpoint) if not self._emitted else self._emitted.parts)

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
        """Extend the lease now, and learn if the task is still this attempt's. The processor
        extends it in the background as well. Call this before a step that cannot be undone.

        Raises:
            LeaseLost: The task is no longer this attempt's.
            Cancelled: The task was cancelled. The lease is extended all the same: there is time to
                clean up.
            StoreUnavailable: The database did not confirm.
            BlocksOthers: The handler is async.

        Examples:
            >>> @task("invoice.send")
            ... def send(payload, context):
            ...     context.heartbeat()
            ...     send_mail(payload["address"])
        """
        known = self.cancelled
        self._hold(lambda: self._store.extend(self._task, lease=self._lease(), cancelled=known))
        if known:
            raise Cancelled(self.task_id)

    def checkpoint(self, value: Any) -> None:
        """Keep a value for the next attempt, should this one fail; extends the lease.

        Args:
            value: A JSON value. The next attempt finds it in ``last_checkpoint``.

        Raises:
            LeaseLost: The task is no longer this attempt's.
            Cancelled: The task was cancelled, so there will be no next attempt.
            InvalidInput: The value is no JSON.
            ItemTooLarge: The value does not fit beside the payload.
            StoreUnavailable: The database did not confirm.
            BlocksOthers: The handler is async.

        Examples:
            >>> @task("report.render")
            ... def render(payload, context):
            ...     for page in range(context.last_checkpoint or 0, 100):
            ...         context.checkpoint(page)
        """
        if self._emitted is not None:
            raise TypeError("emit() keeps its parts as the checkpoint: leave out checkpoint()")
        self._checkpoints = True
        self._checkpoint(value)

    def _checkpoint(self, value: Any) -> None:
        if self.cancelled:
            raise Cancelled(self.task_id)
        self._hold(lambda: self._store.checkpoint(self._task, value, lease=self._lease()))

    def emit(self, part: Any) -> None:
        """Give whoever reads ``Queue.stream`` a part of the answer. It is kept, and waits for
        nothing: a thread writes what was emitted at most every 0.25 seconds, and once more when the
        handler has ended. For async handlers, too.

        The parts are the task's checkpoint, so a later attempt finds them in ``emitted``, and goes
        on behind them: what it emits is added. Readers get each part once, in order. All parts of a
        task must fit its checkpoint, and each write costs a write unit for each KB of the item.

        Args:
            part: A JSON value.

        Raises:
            LeaseLost: The task is no longer this attempt's.
            Cancelled: The task was cancelled.
            InvalidInput: The part is no JSON, or the parts do not fit beside the payload.
            TypeError: The attempt keeps a checkpoint of its own.

        Examples:
            >>> @task("question.answer")
            ... def answer(question, context):
            ...     for word in ask_model(question, said=context.emitted):
            ...         context.emit(word)
        """
        if self._checkpoints:
            raise TypeError("checkpoint() is in use: emit() would keep its parts in its place")
        if self._lost.is_set():
            raise LeaseLost(self.task_id)
        if self.cancelled:
            raise Cancelled(self.task_id)
        if self._emitted is None:
            from lifoq.worker.handlers.emitted_answer_parts import EmittedParts  # noqa: PLC0415 - as above

            self._emitted = EmittedParts(
                self.last_checkpoint, write=self._checkpoint, host=self._host
            )
        self._emitted.add(part)

    def flush(self) -> None:
        """Write the parts that are not written yet. The worker calls this when the handler has
        ended; call it before a step that cannot be undone.

        Raises:
            LeaseLost: The task is no longer this attempt's.
            Cancelled: The task was cancelled.
            InvalidInput: The parts do not fit beside the payload.
            StoreUnavailable: The database did not confirm.
            BlocksOthers: The handler is async.

        Examples:
            >>> @task("question.answer")
            ... def answer(question, context):
            ...     context.emit("Well,")
            ...     context.flush()
        """
        if self._emitted is not None:
            self._emitted.flush()

    def answer(self, answer: Any) -> None:
        """Answer for this task of a batch. The latest answer counts, whatever the handler returns
        or raises later. It is written when the handler has ended.

        Args:
            answer: The result of the task, ``Done``, or an exception such as Retry, Busy or Fail.

        Raises:
            TypeError: The type has no ``batch``: return the result, or raise.

        Examples:
            >>> @task("sms.send", batch=25)
            ... def send(payloads, contexts):
            ...     for payload, context in zip(payloads, contexts):
            ...         context.answer({"sent": payload["to"]})
        """
        if self._answers is None:
            raise TypeError("answer() is for handlers with batch: return the result, or raise")
        self._answers[self.task_id] = answer

    def weighed(self, weight: int) -> None:
        """Say what the task weighs in truth, as the answer of a language model tells it. The
        difference to what was known before is taken from, or given back to, the limits of its type
        in units. For async handlers, too: it waits for nothing.

        Args:
            weight: The units of this attempt, from 0 on. What is said last counts.

        Raises:
            InvalidInput: The weight is no whole number.
            TypeError: The type has no ``weight``.

        Examples:
            >>> @task("question.answer", weight="tokens", units_in_flight=20_000)
            ... def answer(question, context):
            ...     said = ask_model(question)
            ...     context.weighed(said["total_tokens"])
        """
        if self._weighed is None:
            raise TypeError("weighed() is for task types with weight: give weight, and a limit")
        check_count("weight", weight, least=0)
        self._weighed(weight)

    async def aheartbeat(self) -> None:
        """Extend the lease: ``heartbeat`` for async handlers.

        Examples:
            >>> @task("page.fetch")
            ... async def fetch(payload, context):
            ...     await context.aheartbeat()
        """
        await self._beside(self.heartbeat)

    async def acheckpoint(self, value: Any) -> None:
        """Keep a value for the next attempt: ``checkpoint`` for async handlers.

        Args:
            value: A JSON value.

        Examples:
            >>> @task("page.fetch")
            ... async def fetch(payload, context):
            ...     await context.acheckpoint({"page": 1})
        """
        await self._beside(self.checkpoint, value)

    def wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run an async handler's coroutine, and return what it returns. The registry calls this.

        Args:
            coroutine: The coroutine that the handler returned.

        Raises:
            TypeError: The handler is not async.
        """
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
