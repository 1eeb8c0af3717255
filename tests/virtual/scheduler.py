"""Virtual time, and one strand at a time: which one goes on, the seed decides.

A strand stands for a thread. It is a greenlet, and goes on until it sleeps, so between two sleeps
nothing else happens: the same seed gives the same run.
"""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from greenlet import getcurrent, greenlet

from lifoq.basics.host import microseconds

MAX_STEPS: Final = 400_000
"""Hand-overs after which a run is taken for one that makes no progress."""


class Crashed(BaseException):
    """The machine under this code is gone: nothing may go on from here."""


class Stuck(Exception):
    """The simulation makes no progress."""


class Strand:
    def __init__(self, name: str, power: "Power") -> None:
        self.name = name
        self.power = power
        self.claim: str | None = None
        """The claim that this strand's task code works under."""
        self.running: greenlet = getcurrent()
        """The director's is the caller's; ``spawn`` gives every other its own."""
        self.ticket = 0
        """Its latest entry in the agenda has this number; earlier ones are void."""
        self.due = 0
        """When it goes on by that entry."""


@dataclass
class Power:
    """The power of one machine, which its strands share: it can be cut, or the machine
    suspended."""

    on: bool = True
    suspended: bool = False
    strands: list[Strand] = field(default_factory=list)


class Scheduler:
    def __init__(self, draw: random.Random, *, start: int) -> None:
        """``start`` in epoch microseconds. The caller is the first strand."""
        self.time = start
        self.start = start
        self.current = Strand("director", Power())
        self.failure: BaseException | None = None
        self._director = self.current
        self._draw = draw
        self._agenda: list[tuple[int, float, int, Strand]] = []
        self.steps = 0
        """Hand-overs so far."""
        self._powers: list[Power] = []

    def power(self) -> Power:
        power = Power()
        self._powers.append(power)
        return power

    def spawn(self, power: Power, name: str, work: Callable[[], None]) -> None:
        strand = Strand(name, power)
        strand.running = greenlet(partial(self._live, strand, work), parent=self._director.running)
        power.strands.append(strand)
        self._enter(strand, self.time)

    def sleep(self, seconds: float) -> None:
        """Let others go on; at least a microsecond passes, so that no loop stands still."""
        me = self.current
        self._enter(me, self.time + max(1, microseconds(seconds)))
        following = self._next()
        if following is not me:
            self.current = following
            following.running.switch()
        self._raise_if_ended(me)

    def wake(self, strand: Strand) -> None:
        """End the sleep of a strand."""
        self._enter(strand, self.time)

    def cut(self, power: Power) -> None:
        """No strand of this machine goes on: each raises Crashed where it stands."""
        power.on = False
        for strand in power.strands:
            if strand is not self.current:
                self._enter(strand, self.time)

    def suspend(self, power: Power) -> None:
        power.suspended = True

    def resume(self, power: Power, *, later: int = 0) -> None:
        """``later``: microseconds by which its strands sleep longer."""
        power.suspended = False
        for strand in power.strands:
            self._enter(strand, max(self.time, strand.due + later))

    def close(self) -> None:
        """End every strand. Called by the director, also after a failure."""
        failure, self.failure = self.failure, None
        for power in self._powers:
            self.cut(power)
        while any(power.strands for power in self._powers):
            self.sleep(0)
            failure, self.failure = failure or self.failure, None
        self.failure = failure

    def _enter(self, strand: Strand, time: int) -> None:
        strand.ticket += 1
        strand.due = time
        heapq.heappush(self._agenda, (time, self._draw.random(), strand.ticket, strand))

    def _next(self) -> Strand:
        self.steps += 1
        if self.steps == MAX_STEPS:
            self.failure = self.failure or Stuck(f"{MAX_STEPS:,} steps and no end")
        if self.failure is not None:
            self._director.ticket += 1
            return self._director
        while True:
            time, _, ticket, strand = heapq.heappop(self._agenda)
            if ticket != strand.ticket:
                continue
            if strand.power.suspended and strand.power.on:
                continue
            self.time = max(self.time, time)
            return strand

    def _raise_if_ended(self, strand: Strand) -> None:
        if strand is self._director:
            if self.failure is not None:
                raise self.failure
        elif not strand.power.on:
            raise Crashed

    def _live(self, strand: Strand, work: Callable[[], None], *_: object) -> None:
        try:
            if strand.power.on:
                work()
        except Crashed:
            pass
        except BaseException as error:  # noqa: BLE001  (the director raises it)
            self.failure = self.failure or error
        strand.power.strands.remove(strand)
        self.current = self._next()
        strand.running.parent = self.current.running  # goes on as soon as this one is over
