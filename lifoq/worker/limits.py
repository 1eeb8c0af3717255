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
        part: "Part | None" = None,
    ) -> None:
        """``part``: of a cap and a bucket that all workers share."""
        self._cap = math.inf if in_flight is None else in_flight
        self._bucket = bucket if part is None else part.bucket
        self._room = room
        self.part = part
        self.inside = 0
        self.hung = 0
        """Of those inside: handlers that have outlived their attempt's timeout."""

    @property
    def full_of_hung(self) -> bool:
        """Whether nothing can enter any more, unless a handler returns that should have long."""
        if self.part is not None and self.part.short and 0 < self.part.slots <= self.hung:
            return True
        return self.hung >= self._cap

    @property
    def free(self) -> float:
        """How many more this process may have inside."""
        return self._cap - self.inside

    def enter(self) -> bool:
        """Pass, if there is room and a token."""
        if self.inside >= self._most or self._wait_for_room() > 0:
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
        if self.inside >= self._most:
            return math.inf
        return max(self._wait_for_room(), 0.0 if self._bucket is None else self._bucket.wait())

    def wait_of_any(self) -> float:
        """The same, where nobody knows whether such a task waits: to find that out, no part of a
        limit that all workers share is needed."""
        unknown = self.part is not None and not self.part.wanted
        return 0.0 if unknown and self.short_of_its_part else self.wait()

    @property
    def short_of_its_part(self) -> bool:
        """Whether others could enter, had this process more of what all workers share."""
        if self.part is None or self.inside >= self._cap:
            return False
        return self.inside >= self._most or (self._bucket is not None and self._bucket.wait() > 0)

    @property
    def is_shut(self) -> bool:
        """Whether others have all of what all workers share."""
        if self.part is None or not (self.part.answered and self.part.in_book):
            return False
        no_tokens = self._bucket is not None and self._bucket.wait() == math.inf
        return no_tokens or self.inside >= self._most

    @property
    def _most(self) -> float:
        if self.part is None:
            return self._cap
        return min(self._cap, self.part.slots) if self.part.usable else 0

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
        total_in_flight: int | None = None,
        parts: "Parts | None" = None,
    ) -> None:
        """``in_flight`` and ``rate_limit`` (starts per second) of all tasks together. ``parts``:
        where limits hold over all workers, but ``in_flight``; in its place ``total_in_flight``."""
        self._lock = threading.Lock()
        self.on_free: Callable[[], None] = lambda: None
        """Called in an attempt's thread when it has left its slot, perhaps long after the run that
        started it; the run that goes on by then sets it."""

        def gate(name: str, cap: int | None, most: int | None, rate: float | None) -> Gate:
            room = Room(host) if name else None
            if parts is None:
                return Gate(in_flight=cap, bucket=_bucket(rate, host), room=room)
            return Gate(in_flight=cap, part=parts.of(name, in_flight=most, rate=rate), room=room)

        self._all = gate("", in_flight, total_in_flight, rate_limit)
        self._of_type = {
            kind.name: gate(kind.name, kind.in_flight, kind.in_flight, kind.rate_limit)
            for kind in kinds
        }
        every = {"": self._all, **self._of_type}
        self._shared = {name: gate for name, gate in every.items() if gate.part is not None}
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
        """Seconds until a task of this type, which waits, could start; inf until one has ended, or
        until there is a larger part of what all workers share."""
        with self._lock:
            if self._shared:
                for part in self._parts_of(task_type):
                    part.ask()
            return max(self._all.wait(), self._gate(task_type).wait())

    def shortest_wait(self) -> float:
        """Seconds until a task of some registered type could start; inf until one has ended."""
        with self._lock:
            of_all = self._all.wait_of_any()
            if of_all == math.inf:
                return of_all
            gates = self._of_type.values()
            return max(of_all, min((gate.wait_of_any() for gate in gates), default=0.0))

    @property
    def full_of_hung(self) -> bool:
        """Whether all slots are taken by handlers that hang."""
        return self._all.full_of_hung

    @property
    def hung_types(self) -> list[str]:
        """Types of which no task can start, since handlers that hang take all their slots."""
        with self._lock:
            return [name for name, gate in self._of_type.items() if gate.full_of_hung]

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
        if not self._shared:
            return math.inf
        return min(part.due_at for _, part in self._with_parts())

    def turns(self, now: int) -> "list[Callable[[], Turned]]":
        """The calls that are due, each to be made beside the run, and its answer given to
        ``turned``."""
        with self._lock:
            due = [(gate, part) for gate, part in self._with_parts() if part.due_at <= now]
            return [self._turn(gate, part) for gate, part in due]

    def gives_back(self) -> "list[Callable[[], Turned]]":
        """Calls, as ``turns``, that give back all that is not in use."""
        with self._lock:
            there = [(gate, part) for gate, part in self._with_parts() if part.in_book]
            return [self._turn(gate, part, more=False) for gate, part in there]

    def turned(self, answer: "Turned") -> bool:
        """A turn was answered; whether tasks may start that could not before."""
        with self._lock:
            gate = self._shared[answer.limit]
            was_short = gate.short_of_its_part
            if gate.part is not None:
                gate.part.turned(answer)
            return was_short and not gate.short_of_its_part

    @property
    def all_answered(self) -> bool:
        """Whether no turn's answer is awaited."""
        return all(part.answered for _, part in self._with_parts())

    def _turn(self, gate: Gate, part: "Part", *, more: bool = True) -> "Callable[[], Turned]":
        free = self._all.free if gate is self._all else min(gate.free, self._all.free)
        if gate is not self._all:  # what could not start takes from others what it cannot use
            more = more and not self._all.is_shut
        if part.wanted and gate.short_of_its_part and free > 0:
            part.ask()  # it is wanted for as long as it is not there
        return part.turn(inside=gate.inside, room=int(free), more=more)

    def _with_parts(self) -> "list[tuple[Gate, Part]]":
        return [(gate, gate.part) for gate in self._shared.values() if gate.part is not None]

    def _parts_of(self, task_type: str) -> "list[Part]":
        gates = (self._all, self._gate(task_type))
        return [gate.part for gate in gates if gate.part is not None]

    def _gate(self, task_type: str) -> Gate:
        return self._of_type.get(task_type, self._of_strangers)


def _bucket(rate: float | None, host: Host) -> TokenBucket | None:
    return None if rate is None else TokenBucket(rate, host)
