"""A host whose time is virtual: it jumps from one event to the next.

What the library runs beside itself is a greenlet: it goes on until it sleeps, and then the next one
in time does. Nothing else happens in between, and no thread of the operating system is needed, as
benchmarks start millions of attempts.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final

from greenlet import getcurrent, greenlet

from lifoq.basics.host import MICROSECONDS, Stamps, microseconds

START: Final = 1_800_000_000 * MICROSECONDS
"""Epoch microseconds."""


class Over(Exception):
    """The end of time has come, whatever was going on."""


class VirtualHost:
    """Whoever creates it is the one that passes the time; all else happens while it does."""

    def __init__(self) -> None:
        self.time = START
        self.end = START
        """When time ends."""
        self._director = getcurrent()
        self._agenda: list[tuple[int, int, Callable[[], object]]] = []
        self._numbers = itertools.count()
        self._stamps = Stamps()

    def at(self, moment: int, action: Callable[[], object]) -> None:
        """Have the action happen at epoch microseconds; of those at one moment, the first said."""
        heapq.heappush(self._agenda, (moment, next(self._numbers), action))

    def pass_time(self, until: int, enough: Callable[[], bool]) -> None:
        """Let happen what is to happen until then, or until there is ``enough``. Raises Over."""
        while not enough():
            following = self._agenda[0][0] if self._agenda else until
            if min(following, until) >= self.end:
                self.time = self.end
                raise Over
            if following > until or not self._agenda:
                self.time = until
                return
            self.time, _, action = heapq.heappop(self._agenda)
            action()

    def now(self) -> int:
        return self.time

    def monotonic(self) -> int:
        return self.time

    def invocation(self) -> AbstractContextManager[None]:
        return nullcontext()

    def stamp(self, now: int) -> int:
        return self._stamps.next(now)

    def sleep(self, seconds: float) -> None:
        until = self.time + microseconds(seconds)
        if self.directs:
            self.pass_time(until, enough=lambda: False)
        else:
            self.at(until, getcurrent().switch)
            self._director.switch()

    def halt(self) -> None:
        """Stop the greenlet that calls, until it is woken; never the one that passes the time."""
        self._director.switch()

    def wake(self, halted: greenlet) -> None:
        """Let a greenlet that has halted go on, now."""
        self.at(self.time, halted.switch)

    @property
    def directs(self) -> bool:
        """True for the one that passes the time."""
        return getcurrent() is self._director

    def new_id(self) -> str:
        return f"{next(self._numbers):032x}"  # as long as real ones, since bytes are counted

    def spawn(self, work: Callable[[], None], name: str) -> None:  # noqa: ARG002  (the protocol's)
        self.at(self.time, greenlet(work, parent=self._director).switch)

    def mailbox(self) -> "VirtualMailbox":
        return VirtualMailbox(self)


class VirtualMailbox:
    def __init__(self, host: VirtualHost) -> None:
        self._host = host
        self._messages: deque[Any] = deque()
        self._reader: greenlet | None = None
        """The greenlet that has halted until a message comes."""
        self._takes = 0

    def put(self, message: Any) -> None:
        self._messages.append(message)
        self._wake(self._takes)

    def take(self, timeout: float) -> Any:
        if not self._messages and timeout > 0:
            until = self._host.time + microseconds(timeout)
            if self._host.directs:
                self._host.pass_time(until, enough=lambda: bool(self._messages))
            else:
                self._reader, self._takes = getcurrent(), self._takes + 1
                self._host.at(until, partial(self._wake, self._takes))
                self._host.halt()
        return self._messages.popleft() if self._messages else None

    def _wake(self, take: int) -> None:
        if self._reader is not None and take == self._takes:
            reader, self._reader = self._reader, None
            self._host.wake(reader)
