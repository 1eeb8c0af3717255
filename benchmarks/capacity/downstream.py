"""Servers with a queue in front, and workers with an endless backlog.

Times are in mean services.
"""

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from benchmarks.capacity.laws import Law

PATIENCE: Final = 10.0
"""Mean services after which what the downstream ends is of no use any more."""
QUICK, SLOW, PART_SLOW = 0.01 / 0.109, 1 / 0.109, 0.1


def services(kind: str, draw: random.Random) -> Callable[[], float]:
    """Draw service times with a mean of 1."""
    return {
        "fixed": lambda: 1.0,
        "uniform": lambda: draw.uniform(0.15, 1.85),
        "exponential": lambda: draw.expovariate(1),
        "log-normal": lambda: draw.lognormvariate(-0.5, 1),
        "two kinds": lambda: SLOW if draw.random() < PART_SLOW else QUICK,
    }[kind]


@dataclass(frozen=True, kw_only=True)
class Done:
    at: float
    worker: int
    time: float


@dataclass(eq=False, kw_only=True)
class _Attempt:
    worker: int
    began: float
    sample: Any


class Downstream:
    def __init__(self, laws: Sequence[Law], servers: int, kind: str, seed: str) -> None:
        self.done: list[Done] = []
        self._laws = laws
        self._service = services(kind, random.Random(seed))
        self._servers, self._busy, self._now = servers, 0, 0.0
        self._queue = deque[_Attempt]()
        self._agenda: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = itertools.count()

    def run(self, until: float, changes: Sequence[tuple[float, int]] = ()) -> None:
        """``changes``: when there are how many servers."""
        for moment, servers in changes:
            self._at(moment, partial(self._become, servers))
        self._wake()
        while self._agenda and self._agenda[0][0] <= until:
            self._now, _, action = heapq.heappop(self._agenda)
            action()

    def _at(self, moment: float, action: Callable[[], object]) -> None:
        heapq.heappush(self._agenda, (moment, next(self._numbers), action))

    def _wake(self) -> None:
        """Limits may rise by themselves."""
        for worker in range(len(self._laws)):
            self._fill(worker)
        self._at(self._now + 0.25, self._wake)

    def _become(self, servers: int) -> None:
        self._servers = servers
        self._serve()

    def _fill(self, worker: int) -> None:
        law = self._laws[worker]
        while law.may_begin(self._now):
            attempt = _Attempt(worker=worker, began=self._now, sample=law.begins(self._now))
            self._queue.append(attempt)
            self._serve()

    def _serve(self) -> None:
        while self._queue and self._busy < self._servers:
            attempt = self._queue.popleft()
            self._busy += 1
            self._at(self._now + self._service(), partial(self._ends, attempt))

    def _ends(self, attempt: _Attempt) -> None:
        self._busy -= 1
        self._serve()
        time = self._now - attempt.began
        self.done.append(Done(at=self._now, worker=attempt.worker, time=time))
        self._laws[attempt.worker].ends(attempt.sample, self._now)
        self._fill(attempt.worker)
