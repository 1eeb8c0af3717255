"""How many tasks a worker may have at the downstream at a time: all together, of each type, and of
a type that was refused (Busy) as many as were seen to be taken.

The rule of the rooms, told once more, from what the worker sends and what its task code does. A
task is inside from the moment its claim is sent until its task code is back: also beyond its
timeout, and beyond the end of the run.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from lifoq.basics.host import MICROSECONDS, microseconds
from tests.simulation.history import Violation
from tests.simulation.machine import Machine
from tests.virtual.scheduler import Strand

PAUSE: Final = 1.0
"""Seconds without a start after a refusal where the worker had nothing else at the downstream."""
AT_ONCE: Final = microseconds(0.001)
"""Between what a worker decides and what it sends there lie microseconds."""

CLOSED: Final = "the downstream takes nothing at all"
SMALLER: Final = "the downstream has no room for another"
LARGER: Final = "room for one more is tried"
FINDINGS: Final = {CLOSED, SMALLER, LARGER}


@dataclass
class Room:
    cap: float = math.inf
    found: float = math.inf
    """As many as were seen to be taken at a time."""
    inside: set[str] = field(default_factory=set)
    """Claims, from when they are sent until their task code is back."""
    passed: int = 0
    """Ends without a refusal since the room was last found smaller or larger."""
    opens_at: int = 0
    was_full_until: int = 0

    @property
    def full(self) -> bool:
        return len(self.inside) >= min(self.cap, self.found)

    def held_until(self, now: int) -> int:
        """The last moment up to now at which nothing more could start."""
        return now if self.full else max(self.was_full_until, min(self.opens_at, now))


class Rooms:
    """Of one worker, over all of its runs."""

    def __init__(
        self,
        machine: Machine,
        *,
        in_flight: int,
        caps: Mapping[str, float],
        rated: Collection[str],
        probe_after: int,
        tell: Callable[[str], None],
    ) -> None:
        """``caps``: tasks at a time of each type that the worker knows, ``math.inf`` for no limit.
        ``rated``: those of them that may also have to wait for their rate.
        ``probe_after``: ends without a refusal after which room for one more is tried. ``tell``
        takes in what happens."""
        self._machine = machine
        self._probe_after = probe_after
        self._tell = tell
        self._slots = Room(cap=in_flight)
        self._rooms = {name: Room(cap=cap) for name, cap in caps.items()}
        self._unrated = [name for name in caps if name not in rated]
        self._types: dict[str, str] = {}
        """Of the claims inside."""
        self._entered: set[Strand] = set()
        """Strands that have sent a claim. Each makes one attempt."""

    def enter(self, claim: str, task_type: str) -> None:
        """A claim is sent."""
        room, now = self._room(task_type), self._machine.true_time()
        # A machine may stand still between the decision and the sending, and then do both at once
        # with what it has learned by then.
        stood_still = now - self._machine.resumed_at <= AT_ONCE
        strand = self._machine.scheduler.current
        again = strand in self._entered  # with another slot of its key
        if stood_still or again:  # then it was inside before another was refused
            room.opens_at = min(room.opens_at, now)
        if now + AT_ONCE < room.opens_at:
            early = (room.opens_at - now) / MICROSECONDS
            raise Violation(f"a task of type {task_type} began {early:.3f} s before it may again")
        for which in (room, self._slots):
            most = which.cap if stood_still or again else min(which.cap, which.found)
            if len(which.inside) >= most:
                raise Violation(f"of type {task_type} more than {most:g} tasks began at a time")
        self._entered.add(strand)
        self._types[claim] = task_type
        room.inside.add(claim)
        if stood_still:
            room.found = max(room.found, len(room.inside))
        self._slots.inside.add(claim)

    def end(self, claim: str, *, started: bool, refused: bool = False) -> None:
        """It gave nothing to run, or its task code is back; ``refused`` by the downstream."""
        task_type = self._types.pop(claim)
        room, now = self._room(task_type), self._machine.true_time()
        for left in (room, self._slots):
            if left.full:
                left.was_full_until = now
            left.inside.discard(claim)
        if refused:
            room.found, room.passed = max(1, len(room.inside)), 0
            self._tell(SMALLER)
            if not room.inside:
                room.opens_at = now + microseconds(PAUSE)
                self._tell(CLOSED)
        elif started:
            room.passed += 1
            if room.passed == self._probe_after:
                room.found, room.passed = room.found + 1, 0
                if room.found < math.inf:
                    self._tell(LARGER)

    def holds(self, claim: str) -> bool:
        return claim in self._types

    def held_since(self, task_type: str, moment: int) -> bool:
        """Whether another of this type had to wait at any time after the moment."""
        now = self._machine.true_time()
        return max(r.held_until(now) for r in (self._slots, self._room(task_type))) >= moment

    def free_since(self, task_type: str | None = None) -> int:
        """The last moment at which no slot was free for a task of this type; or of any type."""
        now = self._machine.true_time()
        names = self._unrated if task_type is None else [task_type]
        types = min((self._room(name).held_until(now) for name in names), default=now)
        return max(self._slots.held_until(now), types)

    def _room(self, task_type: str) -> Room:
        return self._rooms.get(task_type) or Room()  # a stranger never waits
