"""What keeps the processor from overrunning the downstream: what is free, of all slots and of each
task type's.

A slot is taken from the moment that a task is chosen until its handler has returned: also beyond
the attempt's timeout, and beyond the end of the run. So the limits live as long as the process.

Where a limit holds over all workers together, this process has a part of it (see ``part``).
"""

import math
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from lifoq.basics.host import MICROSECONDS, Host, microseconds
from lifoq.basics.numbers import check_rate
from lifoq.worker.registry import TaskType

if TYPE_CHECKING:
    from lifoq.worker.part import Part, Parts, Turned  # not where each worker has its own limits

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
        """How many inside have outlived their attempt's timeout."""

    @property
    def full_of_hung(self) -> bool:
        """Whether nothing can enter any more, unless a handler returns that should have long."""
        return self.hung >= self._cap

    def enter(self) -> bool:
        """Pass, if there is room and a token."""
        if self.wait() > 0:
            return False
        if self._bucket is not None:
            self._bucket.take()
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
        room = 0.0 if self._room is None else self._room.wait(self.inside)
        return max(room, 0.0 if self._bucket is None else self._bucket.wait())


class Limits:
    """The gates of one process: one for all tasks, and one for each task type; and its parts of the
    limits that all workers share. Thread-safe: the run enters, the threads of the handlers leave.
    """

    def __init__(
        self,
        kinds: Iterable[TaskType],
        *,
        in_flight: int,
        rate_limit: float | None,
        host: Host,
        total_in_flight: int | None = None,
        parts: "Parts | None" = None,
    ) -> None:
        """``in_flight`` and ``rate_limit`` (starts per second) of all tasks together. ``parts``:
        where limits hold over all workers, but ``in_flight``; in its place ``total_in_flight``."""
        self._lock = threading.Lock()
        self._host = host
        self._in_flight = in_flight
        self.on_free: Callable[[], None] = lambda: None
        """Called in an attempt's thread when it has left its slot, perhaps long after the run that
        started it; the run that goes on by then sets it."""
        kinds = list(kinds)
        self._parts: dict[str, Part] = {}
        """By task type; empty for that of all tasks."""
        if parts is None:
            self._all = Gate(in_flight=in_flight, bucket=_bucket(rate_limit, host))
            self._of_type = {
                kind.name: Gate(
                    in_flight=kind.in_flight,
                    bucket=_bucket(kind.rate_limit, host),
                    room=Room(host),
                )
                for kind in kinds
            }
        else:
            self._all = Gate(in_flight=in_flight)
            self._of_type = {kind.name: Gate(room=Room(host)) for kind in kinds}
            shared = {"": (total_in_flight, rate_limit)}
            shared |= {kind.name: (kind.in_flight, kind.rate_limit) for kind in kinds}
            self._parts = {
                name: parts.of(name, in_flight=most, rate=rate, here=in_flight)
                for name, (most, rate) in shared.items()
                if most is not None or rate is not None
            }
        self._of_strangers = Gate()
        """For types that nobody has registered: their tasks fail at once, and need no limit."""

    def enter(self, task_type: str) -> bool:
        """Take a slot, if there is one. Where only what all workers share is in the way of this
        task, which is the next to start, more of that is asked for."""
        with self._lock:
            gates, parts = self._gates(task_type), self._parts_of(task_type)
            if any(gate.wait() > 0 for gate in gates):
                return False
            lacking = [part for part in parts if part.wait() > 0]
            for part in lacking:
                if not part.ask(self._free_for(part)):
                    break
            if not lacking:
                for gate in gates:
                    gate.enter()
                for part in parts:
                    part.enter()
            return not lacking

    def asked(self, task_type: str) -> bool:
        """Whether more was asked for of what all workers share, and the answer is worth to be
        waited for: until then nobody knows whether a task of this type may start."""
        with self._lock:
            return any(part.answer_due > 0 for part in self._parts_of(task_type))

    def turn_back(self, task_type: str, *, after: float) -> None:
        """The task that took a slot so many seconds ago was not started."""
        with self._lock:
            for gate in self._gates(task_type):
                gate.turn_back(after=after)
            for part in self._parts_of(task_type):
                part.turn_back(after=after)
        self.on_free()

    def hangs(self, task_type: str) -> None:
        """A handler goes on though its attempt was ended by the timeout."""
        with self._lock:
            for gate in self._gates(task_type):
                gate.hung += 1

    def leave(self, task_type: str, *, refused: bool, hung: bool) -> None:
        """A handler is back; ``refused``: the downstream had no room for it; ``hung``: it had been
        counted as hanging."""
        with self._lock:
            for gate in self._gates(task_type):
                gate.leave(refused=refused)
                gate.hung -= hung
            for part in self._parts_of(task_type):
                part.inside -= 1
        self.on_free()

    def wait(self, task_type: str) -> float:
        """Seconds until a task of this type could start; inf until one has ended, or until there is
        a larger part of what all workers share."""
        with self._lock:
            waits = [gate.wait() for gate in self._gates(task_type)]
            return max(*waits, *(part.wait() for part in self._parts_of(task_type)))

    def shortest_wait(self) -> float:
        """Seconds until a task of some registered type could start; inf until one has ended."""
        with self._lock:
            of_all = self._wait_of_any("", self._all)
            if of_all == math.inf:
                return of_all
            shortest = math.inf if self._of_type else 0.0
            for name, gate in self._of_type.items():
                shortest = min(shortest, self._wait_of_any(name, gate))
                if shortest <= of_all:
                    break  # the others do not matter
            answer = max((part.answer_due for part in self._parts.values()), default=0.0)
            return max(of_all, shortest, answer)

    def _wait_of_any(self, name: str, gate: Gate) -> float:
        """Seconds until a task could pass, if only it were one for which more may be had of what
        all workers share."""
        wait, part = gate.wait(), self._parts.get(name)
        return wait if part is None or wait == math.inf else max(wait, part.wait_of_any())

    @property
    def full_of_hung(self) -> bool:
        """Whether all slots are taken by handlers that hang."""
        return self._is_full_of_hung("", self._all)

    @property
    def hung_types(self) -> list[str]:
        """Types of which no task can start, since handlers that hang take all their slots."""
        with self._lock:
            gates = self._of_type.items()
            return [name for name, gate in gates if self._is_full_of_hung(name, gate)]

    # What all workers share

    def usable(self, task_type: str) -> bool:
        """Whether a task that has entered may begin: no part that it runs on has run out."""
        return all(part.usable for part in self._parts_of(task_type))

    def lease(self, task_type: str, usual: float) -> float:
        """Seconds for which a task of this type may be leased now: no lease reaches beyond the part
        of a limit that the task runs on."""
        return min([usual, *(part.lease_left() for part in self._parts_of(task_type))])

    @property
    def turn_at(self) -> float:
        """When the next turns are due; monotonic microseconds."""
        return min((part.due_at for part in self._parts.values()), default=math.inf)

    def turns(self, now: int) -> "list[Callable[[], Turned]]":
        """The calls that are due, each to be made beside the run, and its answer given to
        ``turned``."""
        with self._lock:
            due = [part for part in self._parts.values() if part.due_at <= now]
            return [part.turn(self._free_for(part)) for part in due]

    def gives_back(self) -> "list[Callable[[], Turned]]":
        """Calls, as ``turns``, that give back all that is not in use."""
        with self._lock:
            return [part.turn(0, more=False) for part in self._parts.values() if part.in_book]

    def turned(self, answer: "Turned") -> bool:
        """A turn was answered; whether that may change which task is the next to start."""
        with self._lock:
            return self._parts[answer.limit].turned(answer)

    @property
    def all_answered(self) -> bool:
        """Whether no turn's answer is awaited."""
        return all(part.answered for part in self._parts.values())

    def _free_for(self, part: "Part") -> int:
        """How many tasks this process could start at once, if the part were as large."""
        free, of_all = self._in_flight - self._all.inside, self._parts.get("", part)
        in_doubt = of_all is part or of_all.answer_due > 0
        return free if in_doubt else int(min(free, of_all.room))

    def _is_full_of_hung(self, name: str, gate: Gate) -> bool:
        part = self._parts.get(name)
        return gate.full_of_hung or (part is not None and part.is_full_of(gate.hung))

    def _parts_of(self, task_type: str) -> "list[Part]":
        return [self._parts[name] for name in ("", task_type) if name in self._parts]

    def _gates(self, task_type: str) -> tuple[Gate, Gate]:
        return self._all, self._of_type.get(task_type, self._of_strangers)


def _bucket(rate: float | None, host: Host) -> TokenBucket | None:
    return None if rate is None else TokenBucket(rate, host)
