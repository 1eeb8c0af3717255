"""Async handlers: their coroutines run on one event loop, which has a thread of its own.

The thread of an attempt waits for its coroutine, so that limits, heartbeats, timeouts and outcomes
are those of any handler. But a coroutine can be stopped where a thread cannot.

Nobody imports this, and asyncio with it, who has no async handler.
"""

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from lifoq.basics.host import SYSTEM

log = logging.getLogger("lifoq.async_handlers")


class _Daemons(ThreadPoolExecutor):
    """The threads in which calls of ``asyncio.to_thread`` run. They cannot keep the process from
    ending."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                value = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001  (it is raised where it is awaited)
                future.set_exception(error)
            else:
                future.set_result(value)

        SYSTEM.spawn(call, "beside a coroutine")
        return future


class EventLoop:
    """A loop for coroutines in a thread of its own, which starts with the first coroutine."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_here(self) -> bool:
        """True if the caller runs in the loop's own thread."""
        return threading.current_thread() is self._thread

    def soon(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function in the loop's thread, and in the caller's context (``contextvars``)."""
        self._started().call_soon_threadsafe(function, *arguments)

    def where(self) -> str:
        """Return what the loop's thread is doing at the moment, line by line."""
        thread = None if self._thread is None else self._thread.ident
        frame = None if thread is None else sys._current_frames().get(thread)  # noqa: SLF001
        return "".join(traceback.format_stack(frame)[-5:]) if frame else "nowhere"

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                loop.set_default_executor(_Daemons())
                thread = threading.Thread(target=self._serve, args=(loop,), daemon=True)
                thread.name = "async handlers"
                thread.start()
                self._loop, self._thread = loop, thread
            return self._loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        while True:
            try:
                loop.run_forever()
            except BaseException:  # an exit, in a task that a handler left behind
                log.exception("something that an async handler has started asked for an end")


LOOP: Final = EventLoop()
"""One for the process: clients that handlers share belong to it."""


class AsyncHandlers:
    """The coroutine of one attempt."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._ended: Future[Any] = Future()
        self._task: asyncio.Task[None] | None = None
        """Known to the loop's thread alone."""
        self._why: BaseException | None = None
        self._has_begun = False
        self._came_round = True

    def wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in the loop, wait for it, and return what it returns. Raises what it
        raises."""
        LOOP.soon(self._start, coroutine)
        return self._ended.result()

    def stop(self, why: BaseException) -> bool:
        """Cancel the coroutine, as asyncio does; where it heeds that, ``wait`` raises ``why``, the
        first that was said. Any thread may call. Return False where it has ended."""
        if self._ended.done():
            return False
        if self._why is None:
            self._why = why
        LOOP.soon(self._cancel)
        return True

    @property
    def is_here(self) -> bool:
        """True if the caller is a coroutine, which must not block the others."""
        return LOOP.is_here

    def blocked_at(self) -> str | None:
        """Return where the loop stands still, if it has not come round since this was asked
        last."""
        if not self._came_round:
            return LOOP.where()
        self._came_round = False
        LOOP.soon(self._comes_round)
        return None

    # In the loop's thread

    def _start(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        if self._why is not None:  # before it began
            coroutine.close()
            self._ended.set_exception(self._why)
            return
        run = self._run(coroutine)
        self._task = asyncio.get_running_loop().create_task(run, name=self._name)

    def _cancel(self) -> None:
        if self._task is None:
            return  # it is not to begin
        if self._has_begun:
            self._task.cancel()
        else:  # and its first step is due; a task that is cancelled before would never tell
            asyncio.get_running_loop().call_soon(self._cancel)

    def _comes_round(self) -> None:
        self._came_round = True

    async def _run(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._has_begun = True
        try:
            value = await coroutine
        except asyncio.CancelledError as error:
            self._ended.set_exception(self._why or error)
        except BaseException as error:  # noqa: BLE001  (an exit, too, is the outcome of an attempt)
            self._ended.set_exception(error)
        else:
            self._ended.set_result(value)
