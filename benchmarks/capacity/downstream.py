"""Downstreams in virtual time: servers with a queue in front, and what they do beyond capacity.

Times are in seconds; a mean service takes one.
"""

import math
import random
from collections import deque
from collections.abc import Callable
from typing import Final

from greenlet import getcurrent, greenlet

from lab.virtual import VirtualHost
from lifoq import Busy

QUICK, SLOW, PART_SLOW = 0.01 / 0.109, 1 / 0.109, 0.1
PATIENT: Final = 4.0
"""Seconds after which a caller gives up on a downstream that lets callers time out."""
ROOM: Final = 2.0
"""The most that a downstream holds that fails or refuses beyond it, in multiples of its servers."""


def services(kind: str, draw: random.Random) -> Callable[[], float]:
    """Draw service times with a mean of 1."""
    return {
        "fixed": lambda: draw.uniform(0.95, 1.05),
        "uniform": lambda: draw.uniform(0.15, 1.85),
        "exponential": lambda: draw.expovariate(1),
        "log-normal": lambda: draw.lognormvariate(-0.5, 1),
        "two kinds": lambda: SLOW if draw.random() < PART_SLOW else QUICK,
    }[kind]


class Full(Exception):
    """Raised by a downstream that fails where it holds too much."""


class Downstream:
    """Servers with a queue in front. ``serve`` is called in the attempts' greenlets."""

    def __init__(self, host: VirtualHost, servers: float) -> None:
        """``servers``: inf where it has no limit."""
        self.servers = servers
        self.slower = 1.0
        """The factor by which each service takes longer."""
        self._host = host
        self._inside = self._busy = 0
        self._queue = deque[greenlet]()

    def serve(self, service: float) -> None:
        """Wait for a server, and be served. Raises what this downstream raises beyond capacity."""
        self._inside += 1
        try:
            self._admit()
            self._serve(service)
        finally:
            self._inside -= 1

    def become(self, servers: float) -> None:
        self.servers = servers
        self._call_next()

    def _admit(self) -> None:
        """Take in one more; the number inside counts it."""

    def _factor(self) -> float:
        return self.slower

    def _serve(self, service: float) -> None:
        if self._busy >= self.servers:
            self._queue.append(getcurrent())
            self._host.halt()
        else:
            self._busy += 1
        self._host.sleep(service * self._factor())
        self._busy -= 1
        self._call_next()

    def _call_next(self) -> None:
        while self._queue and self._busy < self.servers:
            self._busy += 1
            self._host.wake(self._queue.popleft())


class Degrading(Downstream):
    """Everything takes longer with each task too many: throughput falls by as much."""

    def _factor(self) -> float:
        return self.slower * max(1.0, self._inside / self.servers)


class Failing(Downstream):
    """Fails at once where it holds too much."""

    def _admit(self) -> None:
        if self._inside > ROOM * self.servers:
            raise Full


class Refusing(Downstream):
    """Says Busy at once where it holds too much."""

    def _admit(self) -> None:
        if self._inside > ROOM * self.servers:
            raise Busy("full")


class TimingOut(Downstream):
    """A downstream whose callers wait for so long, and no longer; it does their work all the
    same."""

    def serve(self, service: float) -> None:
        caller, ended = getcurrent(), False
        left = False

        def work() -> None:
            nonlocal ended
            self._inside += 1
            self._serve(service)
            self._inside -= 1
            ended = True
            if not left:
                self._host.wake(caller)

        def give_up() -> None:
            if not ended:
                self._host.wake(caller)

        self._host.spawn(work, "work")
        self._host.at(self._host.time + math.ceil(PATIENT * 1e6), give_up)
        self._host.halt()
        left = True
        if not ended:
            raise TimeoutError


KINDS: Final[dict[str, type[Downstream]]] = {
    "queues": Downstream,
    "degrades": Degrading,
    "fails": Failing,
    "refuses": Refusing,
    "times out": TimingOut,
}
