"""Processes that can be killed, with threads that run one at a time under a virtual clock.

Real threads, of which exactly one holds the baton; it is handed over where one sleeps or waits for
its mailbox, always in the same order, and time passes only when all of them wait.
"""

import threading
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any

from lifoq.host import Stamps, microseconds
from tests.hosts import START

MOST_IDLE_LOOKS = 1_000


class Killed(BaseException):
    """The process is gone. No code of it may run on, so nothing that catches Exception catches
    this."""


class _Thread:
    def __init__(self) -> None:
        self.turn = threading.Semaphore(0)


class Clock:
    """Virtual time, and whose turn it is."""

    def __init__(self) -> None:
        self.time = START
        self._current = _Thread()
        self._ready: deque[_Thread] = deque()
        self._sleeping: dict[_Thread, int] = {}

    @property
    def current(self) -> _Thread:
        return self._current

    def sleep(self, seconds: float) -> None:
        self._sleeping[self._current] = self.time + microseconds(seconds)
        me, after = self._current, self._next()
        if after is not me:
            self._current = after
            after.turn.release()
            me.turn.acquire()

    def wake(self, thread: _Thread) -> None:
        if self._sleeping.pop(thread, None) is not None:
            self._ready.append(thread)

    def spawn(self, work: Callable[[], None], name: str) -> None:
        thread = _Thread()

        def run() -> None:
            thread.turn.acquire()
            try:
                work()
            except Killed:
                pass
            finally:
                self._current = self._next()
                self._current.turn.release()

        threading.Thread(target=run, name=name, daemon=True).start()
        self._ready.append(thread)

    def _next(self) -> _Thread:
        if self._ready:
            return self._ready.popleft()
        first = min(self._sleeping, key=lambda thread: self._sleeping[thread])
        self.time = max(self.time, self._sleeping.pop(first))
        return first


class VirtualHost:
    """One process. After ``kill`` whatever it still tries raises Killed."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.killed = False
        self._stamps = Stamps()

    def kill(self) -> None:
        self.killed = True
        raise Killed

    def check_alive(self) -> None:
        if self.killed:
            raise Killed

    def now(self) -> int:
        self.check_alive()
        return self.clock.time

    def monotonic(self) -> int:
        return self.now()

    def stamp(self, now: int) -> int:
        return self._stamps.next(now)

    def sleep(self, seconds: float) -> None:
        self.check_alive()
        self.clock.sleep(seconds)
        self.check_alive()

    def new_id(self) -> str:
        self.check_alive()
        return uuid.uuid4().hex

    def spawn(self, work: Callable[[], None], name: str) -> None:
        self.check_alive()
        self.clock.spawn(work, name)

    def mailbox(self) -> "VirtualMailbox":
        return VirtualMailbox(self)


class VirtualMailbox:
    def __init__(self, host: VirtualHost) -> None:
        self._host = host
        self._messages: deque[Any] = deque()
        self._waiting: _Thread | None = None
        self._idle_looks = 0

    def put(self, message: Any) -> None:
        self._host.check_alive()
        self._messages.append(message)
        if self._waiting is not None:
            self._host.clock.wake(self._waiting)

    def take(self, timeout: float) -> Any:
        if not self._messages and timeout > 0:
            self._waiting = self._host.clock.current
            self._host.sleep(timeout)
            self._waiting = None
            self._idle_looks = 0
        self._host.check_alive()
        if self._messages:
            return self._messages.popleft()
        self._idle_looks += 1
        assert self._idle_looks < MOST_IDLE_LOOKS, (
            "it spins: it looks again and again, no time passes"
        )
        return None
