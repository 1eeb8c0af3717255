"""A host whose time is virtual: it jumps from one event to the next, in one thread.

What the library runs beside itself is the attempt at one task. It is gone through to its end as
soon as it begins, ahead of the clock, and what it says on the way is heard when it says it. That is
exact as long as it touches nothing but its own task, and nobody else looks at that.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from lifoq.basics.host import MICROSECONDS, Stamps, microseconds

START: Final = 1_800_000_000 * MICROSECONDS
"""Epoch microseconds; a whole second, as deadlines are rounded up to."""


class Over(Exception):
    """The end of time has come, whatever was going on."""


class VirtualHost:
    def __init__(self) -> None:
        self.time = START
        self.end = START
        """Of time."""
        self._ahead = 0
        """Microseconds, of what runs beside."""
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._stamps = Stamps()

    def at(self, moment: int, action: Callable[[], None]) -> None:
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
        return self.time + self._ahead

    def monotonic(self) -> int:
        return self.now()

    def stamp(self, now: int) -> int:
        return self._stamps.next(now)

    def sleep(self, seconds: float) -> None:
        self._ahead += microseconds(seconds)

    def new_id(self) -> str:
        return f"{next(self._numbers):x}"

    def spawn(self, work: Callable[[], None], name: str) -> None:  # noqa: ARG002  (the protocol's)
        def beside() -> None:
            work()
            self._ahead = 0

        self.at(self.time, beside)

    def mailbox(self) -> "VirtualMailbox":
        return VirtualMailbox(self)


class VirtualMailbox:
    def __init__(self, host: VirtualHost) -> None:
        self._host = host
        self._messages: deque[Any] = deque()

    def put(self, message: Any) -> None:
        self._host.at(self._host.now(), partial(self._messages.append, message))

    def take(self, timeout: float) -> Any:
        if not self._messages and timeout > 0:
            until = self._host.time + microseconds(timeout)
            self._host.pass_time(until, enough=lambda: bool(self._messages))
        return self._messages.popleft() if self._messages else None
