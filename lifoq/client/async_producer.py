"""The calls of a client for asyncio: ``aput``, ``aget``, ``await_result``, ``acancel``, ``acall``.

They have the names of the plain ones with an ``a`` before them, as in Django, LangChain and
``Context.aheartbeat``. ``await`` is Python's own word, so the one for ``wait`` says for what.
"""

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from lifoq.basics.numbers import seconds
from lifoq.client.caller import Caller
from lifoq.client.waiting import check_ids
from lifoq.errors import DamagedTask
from lifoq.items.task import Duration, IfExists, NewTask, Task

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from weakref import WeakKeyDictionary

    from lifoq.client.async_calls import AsyncCalls
    from lifoq.client.stream import Stream


class AsyncProducer(Caller):
    """Anything that takes tasks, from coroutines as well.

    boto3 makes the calls in a few threads; thousands can wait at a time, without a thread each.
    """

    _by_loop: "WeakKeyDictionary[AbstractEventLoop, AsyncCalls] | None" = None

    async def aput(
        self,
        task_type: str,
        payload: Any = None,
        *,
        task_id: str | None = None,
        key: str | None = None,
        if_exists: IfExists = "keep",
        deadline: Duration | datetime | None = None,
        delay: Duration | None = None,
        due_at: datetime | None = None,
        head_start: Duration | None = None,
        max_attempts: int | None = None,
        timeout: Duration | None = None,
        weight: int | None = None,
        task_token: str | None = None,
        traceparent: str | None = None,
        kick: bool = False,
    ) -> Task:
        """Put a task, and return it as it is then: ``put`` for asyncio.

        A coroutine that is cancelled here does not know if the task was put; with a ``task_id`` of
        your own you can put it again.

        Args:
            task_type: The type of the task: which handler runs it.
            payload: The payload that the handler gets. Any JSON value.
            task_id: An id of your own: to put it again is safe, and returns the task that is there.
            key: The person or thing that the task is for, such as a customer or a device.
            if_exists: The rule for an id in use: keep that task, or let the newest put replace it.
            deadline: When the task is shed, if it still waits. At most the queue's deadline.
                Seconds from when it enters the queue, a timedelta, or a datetime with a zone.
            delay: The time until the task enters the queue. Seconds, or a timedelta.
            due_at: When the task enters the queue. A datetime with a zone.
            head_start: A priority: the task stands where it would if it had come so much later. At
                most its deadline. Seconds, or a timedelta.
            max_attempts: The number of attempts that the task has, in place of its type's own
                number.
            timeout: The time that one attempt may take, in place of its type's own time. Seconds,
                or a timedelta.
            weight: The units that the task weighs, such as tokens: limits in units count them.
            task_token: The token of a Step Functions state that waits for the task's end.
            traceparent: The trace that the task belongs to, as the W3C writes it.
            kick: True wakes the queue's processor at once; see ``put``.

        Raises:
            InvalidInput: A term is refused; nothing was written.

        Examples:
            >>> asyncio.run(queue.aput("device.check", {"device": "d-17"}, deadline=30)).status
            <Status.PENDING: 'PENDING'>
        """
        put = partial(
            self.put,
            task_type,
            payload,
            task_id=task_id,
            key=key,
            if_exists=if_exists,
            deadline=deadline,
            delay=delay,
            due_at=due_at,
            head_start=head_start,
            max_attempts=max_attempts,
            timeout=timeout,
            weight=weight,
            task_token=task_token,
            traceparent=traceparent,
            kick=kick,
        )
        return await self._on_loop().run(put)

    async def aget(self, task_id: str) -> Task | None:
        """Return a task with all its values, or None: ``get`` for asyncio.

        Args:
            task_id: The id of the task.

        Examples:
            >>> asyncio.run(queue.aget("nobody")) is None
            True
        """
        return await self._on_loop().run(self.get, task_id)

    async def await_result(self, task_id: str, *, timeout: Duration) -> Any:
        """Wait until a task has ended, and return its result: ``wait`` for asyncio. All who wait on
        one event loop share their polls.

        Args:
            task_id: The id of the task.
            timeout: The longest time to wait, in seconds or as a timedelta; 0 looks once.

        Raises:
            NoResult: The task failed, was cancelled, was shed, or has not ended in time; see
                ``wait``.
            TaskNotFound: No task has this id.

        Examples:
            >>> async def check_all(devices):
            ...     for device in devices:
            ...         await queue.aput("device.check", device, task_id=device)
            ...     waits = [queue.await_result(device, timeout=0.1) for device in devices]
            ...     return await asyncio.gather(*waits, return_exceptions=True)
            >>> [type(found).__name__ for found in asyncio.run(check_all(["d-17", "d-18"]))]
            ['WaitTimeout', 'WaitTimeout']
        """
        patience = seconds("timeout", timeout, zero=True)
        (asked,) = check_ids([task_id])
        return (await self._on_loop().outcome(asked, within=patience)).result()

    async def acancel(self, task_id: str, *, running: bool = True) -> Task:
        """Withdraw a task, and return it as it is then: ``cancel`` for asyncio.

        Args:
            task_id: The id of the task.
            running: False leaves an attempt that runs alone, and withdraws only what waits.

        Raises:
            WrongStatus: The task has ended already; or it runs, and ``running`` is False.
            TaskNotFound: No task has this id.

        Examples:
            >>> task = queue.put("device.check", task_id="d-17")
            >>> asyncio.run(queue.acancel("d-17")).status
            <Status.CANCELLED: 'CANCELLED'>
        """
        return await self._on_loop().run(partial(self.cancel, task_id, running=running))

    async def acall(
        self,
        task_type: str,
        payload: Any = None,
        *,
        timeout: Duration,
        task_id: str | None = None,
        key: str | None = None,
        head_start: Duration | None = None,
        max_attempts: int | None = None,
        weight: int | None = None,
        traceparent: str | None = None,
        kick: bool = True,
        while_waiting: bool = False,
    ) -> Any:
        """Put a task, wait until it has ended, and return its result: ``call`` for asyncio. If the
        coroutine is cancelled, the task is withdrawn.

        Args:
            task_type: The type of the task: which handler runs it.
            payload: The payload that the handler gets. Any JSON value.
            timeout: The caller's patience, at most the queue's deadline. Seconds, or a timedelta.
            task_id: An id of your own: a call for a task that is there waits for that one.
            key: The person or thing that the task is for, such as a customer or a device.
            head_start: A priority: the task stands where it would if it had come so much later. At
                most ``timeout``. Seconds, or a timedelta.
            max_attempts: The number of attempts that the task has, in place of its type's own
                number.
            weight: The units that the task weighs, such as tokens: limits in units count them.
            traceparent: The trace that the task belongs to, as the W3C writes it.
            kick: False leaves it to the stream to wake the queue's processor: on AWS some 125 ms
                later. Without ``grant_call`` it is left to it anyhow.
            while_waiting: True says again every few seconds that the caller waits, by a write, so
                that a task that runs is also told to stop if this process dies.

        Raises:
            NoResult: ``TaskShed``, ``WaitTimeout``, ``TaskFailed`` or ``TaskCancelled``, as of
                ``call``.
            InvalidInput: A term is refused; nothing was written.

        Examples:
            >>> async def ask(question):
            ...     try:
            ...         return 200, await queue.acall("question.answer", question, timeout=0.1)
            ...     except NoResult as error:
            ...         return error.http_status, str(error)
            >>> asyncio.run(ask("How far is the moon?"))[0]
            503
        """
        call = self._new_call(
            NewTask(
                task_type=task_type,
                payload=payload,
                task_id=task_id,
                key=key,
                head_start=head_start,
                max_attempts=max_attempts,
                weight=weight,
                traceparent=traceparent,
            ),
            timeout,
            kick=kick,
            while_waiting=while_waiting,
        )
        return await self._on_loop().call(call)

    def stream(self, task_id: str, *, timeout: Duration) -> "Stream":
        """Read the parts that a task emits by ``Context.emit``, while it runs and after it has
        ended: ``for part in queue.stream(…)``, or ``async for``.

        Each part comes once, in order, also if the task takes several attempts. A look reads the
        whole item, a read unit for each 4 KB: every 0.1 seconds while parts come, up to every
        second while the task runs and says nothing.

        Args:
            task_id: The id of the task.
            timeout: The longest time to read, in seconds or as a timedelta; 0 looks once.

        Returns:
            An iterable, plain and async. It ends when the task has succeeded.

        Raises:
            NoResult: The task failed, was cancelled, was shed, or has not ended in time; after all
                of its parts.
            TaskNotFound: No task has this id.

        Examples:
            >>> @task("question.answer")
            ... def answer(question, context):
            ...     for word in question.split():
            ...         context.emit(word)
            >>> asked = queue.put("question.answer", "How far is the moon?")
            >>> Processor(queue.store, REGISTRY, WorkerSettings(linger=0)).run().succeeded
            1
            >>> list(queue.stream(asked.task_id, timeout=30))
            ['How', 'far', 'is', 'the', 'moon?']
            >>> async def parts():
            ...     return [part async for part in queue.stream(asked.task_id, timeout=30)]
            >>> len(asyncio.run(parts()))
            5
        """
        patience = seconds("timeout", timeout, zero=True)
        (asked,) = check_ids([task_id])
        store = self._store_of(asked)
        from lifoq.client.stream import Stream  # noqa: PLC0415 - not where nobody reads one

        return Stream(asked, patience=patience, store=store, host=self._host, calls=self._on_loop)

    def _on_loop(self) -> "AsyncCalls":
        """Return the calls on the event loop that runs. Each loop has its own, so that a process
        that was forked has threads of its own, too."""
        from asyncio import get_running_loop  # noqa: PLC0415 - not where nothing is async
        from weakref import WeakKeyDictionary  # noqa: PLC0415 - as above

        from lifoq.client.async_calls import AsyncCalls  # noqa: PLC0415 - as above

        if self._by_loop is None:
            self._by_loop = WeakKeyDictionary()
        loop = get_running_loop()
        if loop not in self._by_loop:
            self._by_loop[loop] = AsyncCalls(
                look=self._look_at,
                unended=self._unended_lately,
                store_of=self._store_of,
                host=self._host,
            )
        return self._by_loop[loop]

    @abstractmethod
    def get(self, task_id: str) -> Task | None:
        """Return a task with all its values."""

    @abstractmethod
    def cancel(self, task_id: str, *, running: bool = True) -> Task:
        """Withdraw a task."""

    @abstractmethod
    def _look_at(self, task_ids: Sequence[str]) -> dict[str, Task | DamagedTask]:
        """Read tasks whole, by one call for a hundred of a queue."""

    @abstractmethod
    def _unended_lately(self, task_ids: Sequence[str]) -> set[str]:
        """Return those of the ids whose tasks had not ended a moment ago."""
