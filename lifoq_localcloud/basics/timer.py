"""Things to do later, on one thread: retries, schedules, TTL."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable

from lifoq_localcloud.basics import threads


class Timer:
    """Runs short actions when they are due. An action that takes long starts its own thread."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        threads.start("the timer", self._run)

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._order), action))
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while (action := self._next()) is not None:
            threads.attempt("what was to be done later", action)

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while not self._closed:
                if not self._due:
                    self._changed.wait()
                    continue
                wait = self._due[0][0] - time.monotonic()
                if wait <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(wait)
            return None
