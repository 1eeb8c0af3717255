"""What keeps the processor from overrunning the downstream: what is free, of all slots and of each
task type's.

A slot is taken from the moment that a task is chosen until its handler has returned: also beyond
the attempt's timeout, and beyond the end of the run. So the limits live as long as the process.
"""

import math
import threading
from collections.abc import Callable, Iterable
from typing import Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.basics.numbers import check_rate
from lifoq.worker.registry import TaskType

PROBE_AFTER: Final = 100
"""Tasks that pass before one more at a time is tried: what is refused costs a retry."""
PAUSE: Final = 1.0
"""Seconds between two tries where the downstream takes nothing at all."""


class TokenBucket:
    """Lets ``rate`` starts per second through, with a burst of one second's worth (at least 1)."""

    def __init__(self, rate: float, host: Host) -> None:
        check_rate("rate", rate)
        self._rate = rate
        self._host = host
        self._burst = max(1.0, rate)
        self._tokens = self._burst
        self._filled_at = host.monotonic()

    def take(self) -> bool:
        """Take a token, if there is one."""
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def give_back(self, *, after: float) -> None:
        """Return a token that was taken for nothing, so many seconds ago: less what the bucket has
        gained since, which may have found no room in it had the token stayed there."""
        self._tokens = min(self._burst, self._tokens + max(0.0, 1 - after * self._rate))

    def wait(self) -> float:
        """Seconds until there is a token."""
        self._fill()
        return max(0.0, (1 - self._tokens) / self._rate)

    def _fill(self) -> None:
        now = self._host.monotonic()
        passed = (now - self._filled_at) / MICROSECONDS
        self._tokens = min(self._burst, self._tokens + passed * self._rate)
        self._filled_at = now


class Room:
    """How many tasks at a time the downstream was found to take: any number, until it refuses."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._size = math.inf
        self._passed = 0
        self._closed_until: int | None = None

    def refused(self, *, others: int) -> None:
        """The downstream has refused one task, while it works on so many others."""
        self._size = max(1, others)
        self._passed = 0
        if others == 0:
            self._closed_until = self._host.monotonic() + microseconds(PAUSE)

    def passed(self) -> None:
        """A task has ended that was not refused."""
        self._passed += 1
        if self._passed >= PROBE_AFTER:
            self._size += 1
            self._passed = 0

    def wait(self, inside: int) -> float:
        """Seconds until one more than those inside may start; inf while there is no room."""
        if inside >= self._size:
            return math.inf
        if self._closed_until is None:
            return 0.0
        return max(0.0, (self._closed_until - self._host.monotonic()) / MICROSECONDS)


class Gate:
    """A cap on tasks in flight, on starts per second, and on what the downstream takes; any of
    them may be absent."""

    def __init__(
        self,
        *,
        in_flight: int | None = None,
        bucket: TokenBucket | None = None,
        room: Room | None = None,
    ) -> None:
        self._cap = math.inf if in_flight is None else in_flight
        self._bucket = bucket
        self._room = room
        self.inside = 0
        self.hung = 0
        """Of those inside: handlers that have outlived their attempt's timeout."""

    @property
    def full_of_hung(self) -> bool:
        """Whether nothing can enter any more, unless a handler returns that should have long."""
        return self.hung >= self._cap

    def enter(self) -> bool:
        """Pass, if there is room and a token."""
        if self.inside >= self._cap or self._wait_for_room() > 0:
            return False
        if self._bucket is not None and not self._bucket.take():
            return False
        self.inside += 1
        return True

    def turn_back(self, *, after: float) -> None:
        """Undo an ``enter``, so many seconds ago, after which nothing was started."""
        self.inside -= 1
        if self._bucket is not None:
            self._bucket.give_back(after=after)

    def leave(self, *, refused: bool = False) -> None:
        """A task that entered has ended; perhaps because the downstream had no room for it."""
        self.inside -= 1
        if self._room is None:
            return
        if refused:
            self._room.refused(others=self.inside)
        else:
            self._room.passed()

    def wait(self) -> float:
        """Seconds until another could enter, as far as rate and room tell; inf while it is full."""
        if self.inside >= self._cap:
            return math.inf
        return max(self._wait_for_room(), 0.0 if self._bucket is None else self._bucket.wait())

    def _wait_for_room(self) -> float:
        return 0.0 if self._room is None else self._room.wait(self.inside)


class Limits:
    """The gates of one process: one for all tasks, and one for each task type. Thread-safe: the
    run enters, the threads of the handlers leave."""

    def __init__(
        self,
        kinds: Iterable[TaskType],
        *,
        in_flight: int,
        rate_limit: float | None,
        host: Host,
    ) -> None:
        """``in_flight`` and ``rate_limit`` (starts per second) of all tasks together."""
        self._lock = threading.Lock()
        self.on_free: Callable[[], None] = lambda: None
        """Called in an attempt's thread when it has left its slot, perhaps long after the run that
        started it; the run that goes on by then sets it."""
        self._all = Gate(in_flight=in_flight, bucket=_bucket(rate_limit, host))
        self._of_type = {
            kind.name: Gate(
                in_flight=kind.in_flight, bucket=_bucket(kind.rate_limit, host), room=Room(host)
            )
            for kind in kinds
        }
        self._of_strangers = Gate()
        """Of types that nobody has registered: their tasks fail at once, and need no limit."""

    def enter(self, task_type: str) -> bool:
        """Take a slot, if there is one."""
        with self._lock:
            gate = self._gate(task_type)
            if not gate.enter():
                return False
            if not self._all.enter():
                gate.turn_back(after=0)
                return False
            return True

    def turn_back(self, task_type: str, *, after: float) -> None:
        """The task that took a slot so many seconds ago was not started."""
        with self._lock:
            for gate in (self._all, self._gate(task_type)):
                gate.turn_back(after=after)
        self.on_free()

    def hangs(self, task_type: str) -> None:
        """A handler goes on though its attempt was ended by the timeout."""
        with self._lock:
            for gate in (self._all, self._gate(task_type)):
                gate.hung += 1

    def leave(self, task_type: str, *, refused: bool, hung: bool) -> None:
        """A handler is back; ``refused``: the downstream had no room for it; ``hung``: it had been
        counted as hanging."""
        with self._lock:
            gate = self._gate(task_type)
            self._all.leave()
            gate.leave(refused=refused)
            for left in (self._all, gate):
                left.hung -= hung
        self.on_free()

    def wait(self, task_type: str) -> float:
        """Seconds until a task of this type could start; inf until one has ended."""
        with self._lock:
            return max(self._all.wait(), self._gate(task_type).wait())

    def shortest_wait(self) -> float:
        """Seconds until a task of some registered type could start; inf until one has ended."""
        with self._lock:
            of_all = self._all.wait()
            if of_all == math.inf:
                return of_all
            return max(of_all, min((gate.wait() for gate in self._of_type.values()), default=0.0))

    @property
    def full_of_hung(self) -> bool:
        """Whether all slots are taken by handlers that hang."""
        return self._all.full_of_hung

    @property
    def hung_types(self) -> list[str]:
        """Types of which no task can start, since handlers that hang take all their slots."""
        with self._lock:
            return [name for name, gate in self._of_type.items() if gate.full_of_hung]

    def _gate(self, task_type: str) -> Gate:
        return self._of_type.get(task_type, self._of_strangers)


def _bucket(rate: float | None, host: Host) -> TokenBucket | None:
    return None if rate is None else TokenBucket(rate, host)
