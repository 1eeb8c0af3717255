"""The calls of one client on one event loop: boto3 in a few threads, and one read for all who wait.

A coroutine that waits holds no thread. Its looks are put together with those of all others, a
hundred in one call of DynamoDB.
"""

import asyncio
import contextvars
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, TypeVar

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.client.call import WANTED_ANEW, Call
from lifoq.client.waiting import Look, Unended, WaitOutcome, ended_as, pauses
from lifoq.errors import DamagedTask, LifoqError, StoreUnavailable, WaitTimeout
from lifoq.items.task import Task
from lifoq.store.store import Store
from lifoq.store.table_protocol import MAX_BATCH_GET

T = TypeVar("T")

THREADS: Final = 8
"""Threads of one client on one event loop, each with one call of AWS at a time; boto3 keeps ten
connections."""
APART: Final = 0.05
"""Seconds between two reads for all who wait: what they ask for meanwhile goes with the next. So
many waiting coroutines take few calls, and a single one none of that time."""


class TogetherRead(Generic[T]):
    """One read for all who ask within a short time."""

    def __init__(self, read: Callable[[Sequence[str]], Awaitable[Mapping[str, T]]]) -> None:
        """``read`` returns what it finds, by id."""
        self._read = read
        self._asked: dict[str, list[asyncio.Future[T | None]]] = defaultdict(list)
        self._sent_at = -APART
        self._next: asyncio.TimerHandle | None = None
        self._under_way: set[asyncio.Task[None]] = set()
        """Held here, as the event loop holds its tasks weakly."""

    async def of(self, task_id: str) -> T | None:
        """Return what is found for an id; None if that is nothing. Raises what the read raises."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T | None] = loop.create_future()
        self._asked[task_id].append(future)
        if self._next is None:
            self._next = loop.call_at(self._sent_at + APART, self._send)
        if len(self._asked) >= MAX_BATCH_GET:
            self._next.cancel()
            self._send()
        return await future

    def _send(self) -> None:
        self._next = None
        loop = asyncio.get_running_loop()
        asked, self._asked = self._asked, defaultdict(list)
        self._sent_at = loop.time()
        under_way = loop.create_task(self._answer(asked))
        self._under_way.add(under_way)
        under_way.add_done_callback(self._under_way.discard)

    async def _answer(self, asked: Mapping[str, list["asyncio.Future[T | None]"]]) -> None:
        # Whoever was cancelled meanwhile has left.
        asked = {i: here for i, fs in asked.items() if (here := [f for f in fs if not f.done()])}
        found: Mapping[str, T] = {}
        error: Exception | None = None
        try:
            found = await self._read(list(asked)) if asked else found
        except Exception as raised:  # noqa: BLE001 - each who asked gets it
            error = raised
        for task_id, futures in asked.items():
            for future in futures:
                if future.done():
                    continue
                if error is None:
                    future.set_result(found.get(task_id))
                else:
                    future.set_exception(error)


class AsyncCalls:
    """The calls of one client on the event loop that runs."""

    def __init__(
        self,
        *,
        look: Look,
        unended: Unended,
        store_of: Callable[[str], Store],
        host: Host,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """``look`` and ``unended`` read many tasks, and what tells an end of them. ``sleep`` waits
        for some seconds."""
        self._store_of = store_of
        self._host = host
        self.sleep = sleep
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="lifoq-async")
        self._whole = TogetherRead[Task | DamagedTask](partial(self.run, look))
        self._open = TogetherRead[bool](partial(self.run, partial(_each, unended)))

    def start(self, call: Callable[..., T], *arguments: Any) -> "asyncio.Future[T]":
        """Make a call that blocks, in a thread; with the caller's context, such as its trace."""
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._pool, partial(context.run, call, *arguments))

    async def run(self, call: Callable[..., T], *arguments: Any) -> T:
        """Make a call that blocks, in a thread, and return what it returns."""
        return await self.start(call, *arguments)

    async def look(self, task_id: str) -> Task | DamagedTask | None:
        """Read a task, together with those that others look at; None if there is none."""
        return await self._whole.of(task_id)

    async def outcome(self, task_id: str, *, within: float) -> WaitOutcome:
        """Return how a task has ended, or that it has not ``within`` so many seconds."""
        until = self._host.now() + microseconds(within)
        last: Task | None = None
        for pause in pauses():
            is_last = self._host.now() >= until
            if last is None or is_last or not await self._open.of(task_id):
                task = await self.look(task_id)
                outcome = await self._ended_as(task_id, task, last)
                if outcome is not None:
                    return outcome
                last = task if isinstance(task, Task) else last
            if is_last:
                break
            await self.sleep(min(pause, (until - self._host.now()) / MICROSECONDS))
        return WaitOutcome(task_id=task_id, task=last, error=WaitTimeout(task_id, within))

    async def call(self, call: Call) -> Any:
        """Make a call, and return its result; see ``Producer.call``."""
        try:
            await self.run(call.put)
            renewals = asyncio.create_task(self._renew(call)) if call.while_waiting else None
            try:
                outcome = await self.outcome(call.task_id, within=call.rest())
            finally:
                if renewals is not None:
                    renewals.cancel()
            return await self.run(call.answer, outcome)
        except LifoqError:
            raise
        except GeneratorExit:  # the event loop is gone: nothing can be awaited any more
            self._pool.submit(call.withdraw)
            raise
        except BaseException:
            # In a thread of its own: it goes on if the caller is cancelled once more.
            await asyncio.shield(self.start(call.withdraw))
            raise

    async def _renew(self, call: Call) -> None:
        """Say again and again that the caller waits. A database that is out of reach is told to the
        looks as well."""
        while True:
            with suppress(StoreUnavailable):
                await self.run(call.renew)
            await self.sleep(WANTED_ANEW)

    async def _ended_as(
        self, task_id: str, task: Task | DamagedTask | None, last: Task | None
    ) -> WaitOutcome | None:
        store = self._store_of(task_id)
        if store.large is None:
            return ended_as(task_id, task, last, store)
        return await self.run(ended_as, task_id, task, last, store)  # it may read from the bucket


def _each(unended: Unended, task_ids: Sequence[str]) -> dict[str, bool]:
    return dict.fromkeys(unended(task_ids), True)
